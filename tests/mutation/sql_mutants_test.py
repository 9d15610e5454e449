"""What sql_mutants.py makes of statements that have each kind of place that it changes."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sql_mutants


def made(text, engine="sqlite"):
    texts = (" ".join(each.text.split()) for each in sql_mutants.mutants(text, engine))
    return {each.replace("( ", "(") for each in texts}


class Mutants(unittest.TestCase):
    def expect(self, text, wanted, engine="sqlite"):
        self.assertEqual(made(text, engine), set(wanted))

    def test_each_operand_of_a_condition_is_taken_away(self):
        self.expect(
            "DELETE FROM t WHERE a = 1 AND (b = 2 OR c = 3)",
            {
                "DELETE FROM t WHERE (b = 2 OR c = 3)",
                "DELETE FROM t WHERE a = 1",
                "DELETE FROM t WHERE a = 1 AND (c = 3)",
                "DELETE FROM t WHERE a = 1 AND (b = 2 )",
            },
        )

    def test_a_condition_of_one_operand_holds_always(self):
        self.expect("DELETE FROM t WHERE a = 1", {"DELETE FROM t WHERE 1 = 1"})
        self.expect(
            "SELECT CASE WHEN a = 1 THEN b END", {"SELECT CASE WHEN 1 = 1 THEN b END"}
        )

    def test_between_is_one_operand(self):
        self.expect(
            "SELECT 1 FROM t WHERE a BETWEEN 1 AND 2 AND b",
            {
                "SELECT 1 FROM t WHERE a BETWEEN 1 AND 2",
                "SELECT 1 FROM t WHERE b",
            },
        )

    def test_comparisons_are_tried_beside_their_bound(self):
        self.assertIn("SELECT a <= b", made("SELECT a < b"))
        self.assertIn("SELECT a > b", made("SELECT a >= b"))
        self.assertNotIn("SELECT a >= {now}", made("SELECT a > {now}"))

    def test_not_is_taken_away_but_for_null(self):
        self.expect("SELECT NOT a IS NOT NULL", {"SELECT a IS NOT NULL"})

    def test_numbers_and_bounds_go(self):
        self.expect("SELECT a + 1", {"SELECT a"})
        self.expect("SELECT greatest(a, b)", {"SELECT (a)", "SELECT (b)"})

    def test_each_assignment_goes(self):
        self.expect("UPDATE t SET a = 1, b = 2", {"UPDATE t SET b = 2", "UPDATE t SET a = 1"})
        self.expect("UPDATE t SET a = 1", {"UPDATE t SET a = a"})
        self.assertIn(
            "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = a",
            made("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", "mysql"),
        )

    def test_each_inserted_value_is_null(self):
        self.expect(
            "INSERT INTO t (a, b) SELECT x, y FROM u RETURNING a",
            {
                "INSERT INTO t (a, b) SELECT NULL, y FROM u RETURNING a",
                "INSERT INTO t (a, b) SELECT x, NULL FROM u RETURNING a",
                "INSERT INTO t (a, b) SELECT x, y FROM u RETURNING NULL AS a",
            },
        )

    def test_order_and_limit(self):
        self.expect(
            "SELECT a FROM t ORDER BY a, b DESC LIMIT 1",
            {
                "SELECT a FROM t ORDER BY a DESC, b DESC LIMIT 1",
                "SELECT a FROM t ORDER BY a, b LIMIT 1",
                "SELECT a FROM t ORDER BY a, b DESC",
            },
        )

    def test_words_that_are_functions_or_operators_too(self):
        self.expect(
            "SELECT 1 FROM t WHERE left(a, 1) = 'x' AND b IS DISTINCT FROM c",
            {
                "SELECT 1 FROM t WHERE left(a, 1) = 'x'",
                "SELECT 1 FROM t WHERE b IS DISTINCT FROM c",
            },
        )
        self.expect("SELECT a << 2 -- 0 < 1", set())
        self.expect("GRANT INSERT, DELETE ON t TO u", set())

    def test_a_conflict_keeps_what_is_there(self):
        self.assertIn(
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = t.b",
            made("INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2", "postgres"),
        )

    def test_row_locks(self):
        self.expect(
            "SELECT a FROM t FOR UPDATE SKIP LOCKED",
            {"SELECT a FROM t", "SELECT a FROM t FOR UPDATE"},
            "postgres",
        )

    def test_the_database_has_another_time(self):
        self.assertIn(
            "SELECT a FROM t WHERE b > ({now} + 86400000000000)",
            made("SELECT a FROM t WHERE b > {now}"),
        )

        self.assertIn("SELECT ({now} - 86400000000000)", made("SELECT {now}", "mysql"))
        self.assertIn("SELECT (now(6) - INTERVAL 1000 DAY)", made("SELECT now(6)", "mysql"))
        self.assertIn(
            "SELECT (clock_timestamp() + interval '1000 days') + x",
            made("SELECT clock_timestamp() + x", "postgres"),
        )

    def test_text_and_comments_are_no_words(self):
        self.expect("SELECT ' AND a < b ' /* WHERE c */ FROM t", set())

    def test_blocks_are_those_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "some.sql"
            path.write_text("-- Of it.\n-- name: a\n-- gives: x\nSELECT 1;\n\n-- fragment: b\nx\n")
            self.assertEqual(
                list(sql_mutants.blocks_of(path)), [("a", "SELECT 1", 2), ("b", "x", 6)]
            )


if __name__ == "__main__":
    unittest.main()
