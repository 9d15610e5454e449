// Statement texts: the names filled in, which names are allowed, and scripts cut into statements.
#include "sql/sql_text.hpp"

#include <gtest/gtest.h>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using list = std::vector<std::string>;

TEST(sql_text_test, the_prefix_goes_before_every_name) {
    EXPECT_EQ(fill_in("SELECT 1 FROM {prefix}lock", {}), "SELECT 1 FROM leasehold_lock");
    EXPECT_EQ(fill_in("{prefix}a {bare}b {prefix}a", {"x_", ""}), "x_a x_b x_a");
}

TEST(sql_text_test, the_schema_is_quoted_and_left_out_of_bare_names) {
    EXPECT_EQ(
        fill_in("CREATE INDEX {bare}i ON {prefix}lock", {"x_", "Ops"}),
        "CREATE INDEX x_i ON \"Ops\".x_lock"
    );
}

TEST(sql_text_test, other_braces_are_left_alone) {
    EXPECT_EQ(fill_in("'{}' {other} {prefix", {}), "'{}' {other} {prefix");
    EXPECT_EQ(fill_in("", {}), "");
}

TEST(sql_text_test, a_prefix_is_a_range_of_bytes) {
    EXPECT_EQ(end_of_prefix("ab"), "ac");
    EXPECT_EQ(end_of_prefix("a\x7f"), "a\x80");
    EXPECT_EQ(end_of_prefix("a\xff"), "b");
    EXPECT_EQ(end_of_prefix(""), "\xff");
    EXPECT_EQ(first_of_page("ab", ""), "ab");
    EXPECT_EQ(first_of_page("ab", "aa"), "ab");
    EXPECT_EQ(first_of_page("ab", "ab"), (std::string{"ab\0", 3}));
    EXPECT_EQ(first_of_page("ab", "abc"), (std::string{"abc\0", 4}));
    EXPECT_EQ(first_of_page("", ""), "");
    EXPECT_EQ(first_of_page("", "\x80"), (std::string{"\x80\0", 2}));  // bytes have no sign
    EXPECT_EQ(first_of_page("\x80", "a"), "\x80");
}

TEST(sql_text_test, plain_names_are_allowed) {
    for (const char* name : {"a", "_", "leasehold_", "A9_z", "abcdefghijklmnopqrstuvwxyz0123"}) {
        EXPECT_NO_THROW(require_valid({name, ""})) << name;
        EXPECT_NO_THROW(require_valid({"x_", name})) << name;
    }
}

// They are put into statements as they are, so nothing that could end a name may be in them.
TEST(sql_text_test, anything_else_is_refused) {
    for (const std::string name :
         {"1a",
          "a b",
          "a-b",
          "a.b",
          "a;b",
          "a\"b",
          "a'b",
          "a`b",
          "a\\b",
          "\xc3\xa4",
          "a\n",
          "%",
          "abcdefghijklmnopqrstuvwxyz01234",
          " ",
          "$1",
          "{bare}"}) {
        EXPECT_THROW(require_valid({name, ""}), error) << name;
        EXPECT_THROW(require_valid({"x_", name}), error) << name;
        EXPECT_THROW(fill_in("{prefix}", {name, ""}), error) << name;
    }
    EXPECT_THROW(require_valid({"", ""}), error);
    EXPECT_THROW(require_valid({std::string("a\0b", 3), ""}), error);
}

TEST(sql_text_test, a_script_is_split_at_semicolons_that_end_a_line) {
    EXPECT_EQ(split_statements("A;\nB;\n"), (list{"A", "B"}));
    EXPECT_EQ(split_statements("A\n  B;\nC"), (list{"A\n  B", "C\n"}));
    EXPECT_EQ(split_statements("A;"), (list{"A"}));
}

TEST(sql_text_test, a_semicolon_inside_a_line_does_not_split) {
    EXPECT_EQ(split_statements("SELECT ';' x;\nB;\n"), (list{"SELECT ';' x", "B"}));
    EXPECT_EQ(split_statements("A; B;\n"), (list{"A; B"}));
}

TEST(sql_text_test, a_semicolon_in_a_comment_does_not_split) {
    EXPECT_EQ(split_statements("A -- first; second\n, B;\n"), (list{"A -- first; second\n, B"}));
    EXPECT_EQ(split_statements("A\n-- not here;\nB;\n"), (list{"A\n-- not here;\nB"}));
    EXPECT_EQ(split_statements("A\n  -- nor here;\nB;\n"), (list{"A\n  -- nor here;\nB"}));
}

TEST(sql_text_test, comments_stay_with_the_statement_they_precede) {
    EXPECT_EQ(split_statements("-- why\nA;\n\n-- how\nB;\n"), (list{"-- why\nA", "\n-- how\nB"}));
}

TEST(sql_text_test, what_holds_nothing_but_comments_is_dropped) {
    EXPECT_EQ(split_statements(""), list{});
    EXPECT_EQ(split_statements("\n \n"), list{});
    EXPECT_EQ(split_statements("-- nothing;\n"), list{});
    EXPECT_EQ(split_statements("A;\n-- the end\n"), (list{"A"}));
    EXPECT_EQ(split_statements("-- a lonely one\n;\nA;\n"), (list{"A"}));
}

TEST(sql_text_test, a_quoted_identifier_is_one_identifier_whatever_is_in_it) {
    EXPECT_EQ(quoted_identifier("seat", '"'), "\"seat\"");
    EXPECT_EQ(quoted_identifier("a\"; DROP TABLE seat", '"'), "\"a\"\"; DROP TABLE seat\"");
    EXPECT_EQ(quoted_identifier("a`b", '`'), "`a``b`");
    EXPECT_EQ(quoted_identifier("a`b", '"'), "\"a`b\"");
}

}  // namespace
}  // namespace leasehold
