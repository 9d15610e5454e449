// The MySQL driver on a healthy connection: values, results, scripts, states, settings.
#include <limits>

#include "leasehold/driver/mysql.hpp"
#include "mysql_support.hpp"
#include "statements.hpp"

namespace leasehold::testing_mysql {
namespace {

TEST_F(mysql_test, a_server_says_its_version) {
    const auto on = open();
    EXPECT_EQ(on->server().engine, is_mariadb() ? engine::mariadb : engine::mysql);
    const std::string said = on->execute("SELECT VERSION()").rows.at(0).text(0);
    EXPECT_EQ(on->server().version_text, said);
    EXPECT_EQ(on->server().version, mysql::server_from(said).version);
    EXPECT_GE(on->server().version, is_mariadb() ? 100600 : 80001);
}

TEST_F(mysql_test, values_of_every_type_come_back_as_they_went) {
    const auto on = open();
    std::string all_bytes;
    for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
    const parameters sent{
        std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max(),
        -1,
        0.1,
        -5e-324,
        1e308,
        blob{"\0'\\\xff"s},
        blob{all_bytes},
        blob{""},
        "quote ' \" ` backslash \\ percent % newline \n umlaut \xc3\xbc emoji \xf0\x9f\x98\x80",
        "zero \0 byte"s,
        "",
        nullptr};
    const result got = on->execute("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", sent);
    ASSERT_EQ(got.rows.size(), 1U);
    EXPECT_EQ(got.rows[0].columns, sent);
    EXPECT_EQ(got.affected_rows, 0);
}

TEST_F(mysql_test, values_are_stored_as_they_were_sent) {
    const auto on = open();
    on->execute(
        named("CREATE TABLE {t} (id INT PRIMARY KEY, whole BIGINT, real_number DOUBLE, "
              "words VARCHAR(50) CHARACTER SET utf8mb4, latin VARCHAR(50) CHARACTER SET "
              "latin1, bytes VARBINARY(50), fixed BINARY(16), big LONGBLOB, document JSON)")
    );
    const parameters sent{
        std::numeric_limits<std::int64_t>::min(),
        1.0 / 3,
        "it's \\ \xf0\x9f\x98\x80",
        "\xc3\xbc",
        blob{"\0\x27\x5c\xff"s},
        blob{std::string(14, '\0') + "\xff\x01"},
        blob{std::string(100'000, '\'')},
        R"({"a": "\\"})"};
    on->execute(named("INSERT INTO {t} VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)"), sent);
    on->execute(named("INSERT INTO {t} (id) VALUES (2)"));
    const result got = on->execute(
        named("SELECT whole, real_number, words, latin, bytes, fixed, big, document FROM {t} "
              "ORDER BY id")
    );
    ASSERT_EQ(got.rows.size(), 2U);
    EXPECT_EQ(got.rows[0].columns, sent);
    EXPECT_EQ(got.rows[1].columns, parameters(sent.size()));
}

TEST_F(mysql_test, columns_are_decoded_by_their_type) {
    const auto on = open();
    on->execute(
        named("CREATE TABLE {t} (a TINYINT, b MEDIUMINT UNSIGNED, c BIGINT UNSIGNED, "
              "d DECIMAL(30, 2), e FLOAT, f DATETIME(6), g DATE, h TIME, i YEAR, "
              "j BIT(9), k ENUM('x', 'y'), l TEXT, m BLOB, n CHAR(3))")
    );
    on->execute(
        named("INSERT INTO {t} VALUES (-1, 16777215, 18446744073709551615, 12.30, 1.5, "
              "'2026-11-21 01:02:03.456789', '2026-11-21', '01:02:03', 2026, b'101', "
              "'x', 'l', 'm', 'n')")
    );
    const std::vector<value> expected{
        -1,
        16777215,
        "18446744073709551615",
        "12.30",
        1.5,
        "2026-11-21 01:02:03.456789",
        "2026-11-21",
        "01:02:03",
        2026,
        5,
        "x",
        "l",
        blob{"m"},
        "n"};
    EXPECT_EQ(on->execute(named("SELECT * FROM {t}")).rows.at(0).columns, expected);
    const row computed =
        on->execute(named("SELECT COUNT(*), SUM(a), MAX(m), ROW_COUNT(), 1 = 1, 1.5, "
                          "1e0, CAST(7 AS UNSIGNED), x'41', 'a' FROM {t}"))
            .rows.at(0);
    EXPECT_EQ(computed.at(0), value{1});
    EXPECT_EQ(computed.at(1), value{"-1"});  // a DECIMAL
    EXPECT_EQ(computed.integer(1), -1);
    EXPECT_EQ(computed.at(2), value{blob{"m"}});
    EXPECT_EQ(computed.at(3), value{-1});
    EXPECT_EQ(computed.at(4), value{1});
    EXPECT_EQ(computed.at(5), value{"1.5"});
    EXPECT_EQ(computed.at(6), value{1.0});
    EXPECT_EQ(computed.at(7), value{7});
    EXPECT_EQ(computed.at(8), value{blob{"A"}});
    EXPECT_EQ(computed.at(9), value{"a"});
}

TEST_F(mysql_test, text_compares_like_an_ordinary_literal) {
    const auto on = open();
    on->execute(
        named("CREATE TABLE {t} (words VARCHAR(9) CHARACTER SET utf8mb4 COLLATE "
              "utf8mb4_general_ci, exact VARCHAR(9) CHARACTER SET utf8mb4 COLLATE "
              "utf8mb4_bin, latin VARCHAR(9) CHARACTER SET latin1, bytes VARBINARY(9))")
    );
    on->execute(named("INSERT INTO {t} VALUES ('Job', 'Job', 'Job', 'Job')"));
    const parameters twice(8, value{"job"});
    const row compared =
        on->execute(
              named("SELECT words = ?, words = 'job', exact = ?, exact = 'job', latin = ?, "
                    "latin = 'job', bytes = ?, bytes = 'job', ? = 'JOB', CONCAT(?, 'x') = 'JOBX', "
                    "words LIKE ?, COERCIBILITY(?) = COERCIBILITY('a') FROM {t}"),
              twice
        )
            .rows.at(0);
    EXPECT_EQ(compared.columns, (parameters{1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1}));
    const auto refused = failure_of([&] { on->execute("SELECT ?", {"no \xff UTF-8"}); });
    EXPECT_EQ(refused.native_code(), 1300);
}

TEST_F(mysql_test, question_marks_in_quotes_and_comments_are_no_places) {
    const auto on = open();
    const result got =
        on->execute("SELECT '?', \"it's ?\", ? AS `?`, /* ? */ '\\'?' -- ?\n, ? # ?", {1, "?"});
    EXPECT_EQ(got.rows.at(0).columns, (parameters{"?", "it's ?", 1, "'?", "?"}));
    const auto refused = failure_of([&] { on->execute("SELECT ?, ?", {1}); });
    EXPECT_EQ(refused.code(), errc::invalid_argument);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(mysql_test, affected_rows_are_those_that_changed) {
    const auto on = open();
    create_table(*on);
    EXPECT_EQ(on->execute(named("UPDATE {t} SET n = 1")).affected_rows, 2);
    EXPECT_EQ(on->execute(named("UPDATE {t} SET n = 1")).affected_rows, 0);
    EXPECT_EQ(on->execute(named("UPDATE {t} SET n = 2 WHERE id = 3")).affected_rows, 0);
    EXPECT_EQ(on->execute(named("INSERT INTO {t} VALUES (3, 0)")).affected_rows, 1);
    EXPECT_EQ(on->execute(named("SELECT * FROM {t}")).affected_rows, 0);
    EXPECT_EQ(on->execute(named("DELETE FROM {t}")).affected_rows, 3);
    EXPECT_TRUE(on->execute(named("SELECT * FROM {t}")).rows.empty());
}

TEST_F(mysql_test, a_script_answers_with_its_last_rows_and_first_count) {
    const auto on = open();
    create_table(*on);
    const result got = on->execute_script(
        named("UPDATE {t} SET n = ?;  -- both; ?\n"
              "SELECT id FROM {t};;\n"
              "UPDATE {t} SET n = n + 1 WHERE id = ?;\n"
              "SELECT n, ROW_COUNT(), '; ?' FROM {t} WHERE id = ?; DO 0; -- the end"),
        {5, 1, 1}
    );
    ASSERT_EQ(got.rows.size(), 1U);
    EXPECT_EQ(got.rows[0].columns, (parameters{6, 1, "; ?"}));
    EXPECT_EQ(got.affected_rows, 2);
    EXPECT_EQ(on->execute_script(" ; -- nothing").rows.size(), 0U);
    EXPECT_TRUE(on->execute_script("SELECT 1; SELECT 2 FROM DUAL WHERE 1 = 0").rows.empty());
}

TEST_F(mysql_test, a_second_statement_in_one_call_is_refused_and_the_first_not_run) {
    const auto on = open();
    create_table(*on);
    on->begin();
    const auto refused =
        failure_of([&] { on->execute(named("UPDATE {t} SET n = n + 1; COMMIT")); });
    EXPECT_EQ(refused.code(), errc::invalid_argument);
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->execute(named("UPDATE {t} SET n = n + 1; -- the only one"));
    on->rollback();
    EXPECT_EQ(number_from(*on, named("SELECT SUM(n) = 0 FROM {t}")), 1);
}

TEST_F(mysql_test, a_script_is_one_round_trip) {
    proxy between{address_};
    const auto on = mysql::connect(between.in_front(), 10s, 10s);
    const auto before = between.round_trips();
    on->execute_script("SET @a = 1; SELECT @a; DO 0; SELECT @a + ?", {1});
    EXPECT_EQ(between.round_trips() - before, 1);
    on->execute("SELECT ?", {1});
    EXPECT_EQ(between.round_trips() - before, 2);
}

TEST_F(mysql_test, a_script_stops_at_its_first_failure_and_leaves_nothing_behind) {
    const auto on = open();
    create_table(*on);
    const std::string count = named("SELECT COUNT(*) FROM {t}");
    const auto second = failure_of([&] {
        on->execute_script(
            named("INSERT INTO {t} VALUES (3, 0); INSERT INTO {t} VALUES (3, 0); SELECT 1; "
                  "INSERT INTO {t} VALUES (4, 0)")
        );
    });
    EXPECT_EQ(second.code(), errc::constraint);
    EXPECT_EQ(number_from(*on, count), 3);
    // Rows before the failure, and rows under way when it comes.
    const auto third = failure_of([&] {
        on->execute_script(named("SELECT * FROM {t}; SELECT 1; SELECT nothing; SELECT 2"));
    });
    EXPECT_EQ(third.code(), errc::schema_mismatch);
    EXPECT_EQ(number_from(*on, count), 3);
    const auto midway = failure_of([&] {
        on->execute_script(
            named("SELECT id, (SELECT x.id FROM {t} x WHERE x.id < 3 AND y.id = 3) FROM {t} y "
                  "ORDER BY id; SELECT 1")
        );
    });
    EXPECT_EQ(midway.native_code(), 1242);
    EXPECT_EQ(number_from(*on, count), 3);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(mysql_test, further_answers_of_a_procedure_are_drained) {
    const auto on = open();
    on->execute(named("CREATE PROCEDURE {t}() BEGIN SELECT 1; SELECT 2; SELECT 3; END"));
    EXPECT_EQ(on->execute(named("CALL {t}()")).rows.size(), 1U);
    EXPECT_EQ(number_from(*on, "SELECT 4"), 4);
}

// Its first rows are no success: the caller would commit the half of its work.
TEST_F(mysql_test, a_procedure_that_fails_after_its_rows_has_failed) {
    const auto on = open();
    on->execute(
        named("CREATE PROCEDURE {t}() BEGIN SELECT 1; "
              "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too late'; END")
    );
    EXPECT_THROW(on->execute(named("CALL {t}()")), error);
    EXPECT_EQ(number_from(*on, "SELECT 4"), 4);
}

TEST_F(mysql_test, a_transaction_is_committed_or_rolled_back) {
    const auto on = open();
    const auto other = open();
    create_table(*on);
    const std::string sum = named("SELECT CAST(SUM(n) AS SIGNED) FROM {t}");
    EXPECT_EQ(on->state(), connection_state::idle);
    on->begin();
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->execute(named("UPDATE {t} SET n = 1"));
    EXPECT_EQ(number_from(*other, sum), 0);
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(number_from(*on, sum), 0);
    on->begin();
    on->execute(named("UPDATE {t} SET n = 1"));
    on->commit();
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(number_from(*other, sum), 2);
    on->execute(named("UPDATE {t} SET n = 2"));  // commits by itself
    EXPECT_EQ(number_from(*other, sum), 4);
}

TEST_F(mysql_test, a_transaction_is_read_committed_whatever_the_session_says) {
    const auto on = open();
    const auto other = open();
    create_table(*on);
    on->execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    EXPECT_FALSE(on->is_untouched());
    on->begin();
    EXPECT_TRUE(on->is_untouched());
    const std::string sum = named("SELECT CAST(SUM(n) AS SIGNED) FROM {t}");
    EXPECT_EQ(number_from(*on, sum), 0);
    EXPECT_FALSE(on->is_untouched());
    other->execute(named("UPDATE {t} SET n = 1"));
    EXPECT_EQ(number_from(*on, sum), 2) << "an old snapshot";
    on->rollback();
    on->begin();
    on->rollback();
    EXPECT_FALSE(on->is_untouched());
}

TEST_F(mysql_test, calls_in_the_wrong_state_are_refused) {
    const auto on = open();
    EXPECT_EQ(failure_of([&] { on->commit(); }).code(), errc::wrong_transaction);
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
    on->begin();
    EXPECT_EQ(failure_of([&] { on->begin(); }).code(), errc::wrong_transaction);
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    EXPECT_FALSE(on->can_notify());
    EXPECT_EQ(failure_of([&] { on->listen("x"); }).code(), errc::unsupported);
}

TEST_F(mysql_test, transactions_begun_and_ended_by_statements_are_followed) {
    const auto on = open();
    create_table(*on);
    on->execute_script(named("BEGIN; UPDATE {t} SET n = 1"));
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->execute_script(named("UPDATE {t} SET n = 2; COMMIT"));
    EXPECT_EQ(on->state(), connection_state::idle);
    on->execute("start transaction read only");
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->execute("rollback");
    EXPECT_EQ(on->state(), connection_state::idle);
    // A script that failed after its first statement has begun a transaction all the same.
    failure_of([&] { on->execute_script("BEGIN; SELECT nothing"); });
    EXPECT_EQ(on->state(), connection_state::in_transaction);
}

TEST_F(mysql_test, a_session_is_set_up) {
    const auto on = open();
    const std::string isolation =
        is_mariadb() ? "@@SESSION.tx_isolation" : "@@SESSION.transaction_isolation";
    const row got =
        on->execute(
              "SELECT " + isolation +
              ", @@SESSION.time_zone, @@SESSION.autocommit, "
              "@@SESSION.character_set_client, @@SESSION.character_set_results, "
              "@@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout, @@SESSION.sql_mode"
        )
            .rows.at(0);
    EXPECT_EQ(
        got.columns,
        (parameters{
            "READ-COMMITTED",
            "+00:00",
            1,
            "utf8mb4",
            "utf8mb4",
            10,
            10,
            "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"})
    );
    on->execute(named("CREATE TABLE {t} (words VARCHAR(3), n TINYINT)"));
    EXPECT_EQ(
        failure_of([&] { on->execute(named("INSERT INTO {t} VALUES ('four', 0)")); }).native_code(),
        1406
    );
    EXPECT_EQ(
        failure_of([&] { on->execute(named("INSERT INTO {t} VALUES ('', 1000)")); }).native_code(),
        1264
    );
}

TEST_F(mysql_test, time_limits_are_sent_only_when_they_change) {
    proxy between{address_};
    const auto on = mysql::connect(between.in_front(), 10s, 10s);
    const std::string ask = "SELECT @@SESSION.innodb_lock_wait_timeout";
    const auto before = between.round_trips();
    on->set_statement_timeout(10s);
    on->set_statement_timeout(10'900ms);  // the same whole seconds
    EXPECT_EQ(between.round_trips() - before, 0);
    on->set_statement_timeout(3s);
    EXPECT_EQ(between.round_trips() - before, 1);
    EXPECT_EQ(number_from(*on, ask), 3);
    on->set_statement_timeout(1ms);
    EXPECT_EQ(number_from(*on, ask), 1);
    on->set_statement_timeout(std::chrono::hours{24 * 365 * 100});
    EXPECT_EQ(number_from(*on, ask), 86400);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(mysql_test, parameters_are_numbered_as_on_every_engine) {
    const auto on = open();
    testing::expect_numbered_parameters(*on);
    testing::expect_surplus_refused(*on);
    testing::expect_numbers_across_a_script(*on);
}

TEST_F(mysql_test, a_statement_outside_of_transactions_commits_by_itself) {
    const database db = mysql::open(url_);
    db.execute(named("CREATE TABLE {t} (n INT)"));
    EXPECT_EQ(db.execute(named("INSERT INTO {t} VALUES ($1)"), {7U}).affected_rows, 1);
    EXPECT_EQ(open()->execute(named("SELECT n FROM {t}")).rows.at(0).integer(0), 7);
    EXPECT_FALSE(db.execute(named("OPTIMIZE TABLE {t}")).rows.empty());
}

TEST_F(mysql_test, version_texts_are_understood) {
    struct {
        std::string text;
        engine which;
        int number;
    } const table[]{
        {"10.11.19-MariaDB-0+deb12u1", engine::mariadb, 101119},
        {"5.5.5-10.6.3-MariaDB", engine::mariadb, 100603},
        {"12.0.2-MariaDB-log", engine::mariadb, 120002},
        {"9.7.4-2", engine::mysql, 90704},
        {"8.0.1", engine::mysql, 80001},
        {"8.4.0-commercial", engine::mysql, 80400},
        {"5.7.44-log", engine::mysql, 50744},
        {"nonsense", engine::mysql, 0},
    };
    for (const auto& each : table) {
        EXPECT_EQ(mysql::server_from(each.text).engine, each.which) << each.text;
        EXPECT_EQ(mysql::server_from(each.text).version, each.number) << each.text;
    }
}

}  // namespace
}  // namespace leasehold::testing_mysql
