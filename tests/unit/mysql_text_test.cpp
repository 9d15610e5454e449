// Statements as text: values written in as literals, scripts taken apart, transactions followed.
#include "driver/mysql_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

using std::string_literals::operator""s;

void expect_refused(std::string_view sql, const parameters& values) {
    try {
        const std::string text = with_literals(sql, values);
        ADD_FAILURE() << "not refused: " << text;
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::invalid_argument) << sql;
    }
}

TEST(mysql_text, each_kind_of_value_has_its_literal) {
    EXPECT_EQ(with_literals("?", {nullptr}), " NULL ");
    EXPECT_EQ(with_literals("?", {7}), " 7 ");
    EXPECT_EQ(
        with_literals("?", {std::numeric_limits<std::int64_t>::min()}), " -9223372036854775808 "
    );
    EXPECT_EQ(with_literals("?", {0.1}), " 1.0000000000000001e-01 ");
    EXPECT_EQ(with_literals("?", {1.0}), " 1.0000000000000000e+00 ");
    EXPECT_EQ(with_literals("?", {blob{"\0'\\\xff"s}}), " x'00275cff' ");
    EXPECT_EQ(with_literals("?", {blob{}}), " x'' ");
    EXPECT_EQ(with_literals("?", {"a'b"}), " _utf8mb4 x'612762' ");
    EXPECT_EQ(with_literals("?", {""}), " _utf8mb4 x'' ");
}

TEST(mysql_text, numbers_that_are_none_are_refused) {
    expect_refused("?", {std::numeric_limits<double>::infinity()});
    expect_refused("?", {std::nan("")});
}

TEST(mysql_text, every_place_outside_of_quotes_and_comments_is_filled) {
    EXPECT_EQ(with_literals("a=? AND b=?", {1, 2}), "a= 1  AND b= 2 ");
    EXPECT_EQ(with_literals("LIKE?", {1}), "LIKE 1 ");
    EXPECT_EQ(with_literals("0-?", {-1}), "0- -1 ");
    const std::vector<std::string> kept{
        "'?'",
        "\"?\"",
        "`?`",
        "'it''s ?'",
        "'it\\'s ?'",
        "'\\\\'",
        "/* ? */",
        "/* ' */",
        "# ?\n",
        "# it's\n",
        "-- ?\n",
        "--\t?\n",
        "/*! ? */",
        "'/* ? */'",
        "`a``?`",
        "'\n?'",
        "\"\\\"?\"",
        "/*/ ? */",
    };
    for (const std::string& each : kept) {
        EXPECT_EQ(with_literals(each + "?" + each, {5}), each + " 5 " + each) << each;
    }
    // No comment without a space behind it, and none that is closed before it began.
    EXPECT_EQ(with_literals("1--?", {5}), "1-- 5 ");
    EXPECT_EQ(with_literals("8/?/*2*/", {5}), "8/ 5 /*2*/");
}

TEST(mysql_text, numbered_places_take_their_values_in_any_order_and_often) {
    EXPECT_EQ(with_literals("a=$2 AND b=$1 OR c=$2", {1, 2}), "a= 2  AND b= 1  OR c= 2 ");
    EXPECT_EQ(with_literals("'$1' `$2` a$1 $1", {5}), "'$1' `$2` a$1  5 ");
    expect_refused("$1", {1, 2});
    expect_refused("$2", {1});
    expect_refused("$1 ?", {1, 2});
}

TEST(mysql_text, what_is_not_closed_reaches_to_the_end) {
    for (const std::string_view each : {"'?", "`?", "\"?", "/* ?", "# ?", "-- ?", "--", "'\\"}) {
        expect_refused(each, {1});
        EXPECT_EQ(with_literals("?" + std::string{each}, {1}), " 1 " + std::string{each});
    }
}

TEST(mysql_text, more_or_fewer_values_than_places_are_refused) {
    expect_refused("SELECT ?", {1, 2});
    expect_refused("SELECT ?, ?", {1});
    expect_refused("SELECT '?'", {1});
    EXPECT_EQ(with_literals("SELECT '?', ?", {}), "SELECT '?', ?");
}

TEST(mysql_text, a_value_that_holds_a_question_mark_stays_whole) {
    EXPECT_EQ(with_literals("?,?", {"?", "';"}), " _utf8mb4 x'3f' , _utf8mb4 x'273b' ");
}

TEST(mysql_text, a_second_statement_is_known_and_the_body_of_a_routine_is_none) {
    for (const char* each :
         {"SELECT 1; COMMIT",
          "(1);(2)",
          "/*! COMMIT */; SELECT 1",
          "BEGIN; SELECT 1",
          "CREATE TEMPORARY TABLE t (n INT); COMMIT"}) {
        EXPECT_TRUE(has_second(each)) << each;
    }
    for (const char* each :
         {"",
          "SELECT 1",
          "SELECT ';'; -- the end\n;",
          "CREATE TRIGGER t BEGIN SELECT 1; END",
          "CREATE OR REPLACE DEFINER = CURRENT_USER PROCEDURE p() BEGIN SELECT 1; END",
          "BEGIN NOT ATOMIC SELECT 1; END",
          "IF 1 THEN SELECT 1; END IF"}) {
        EXPECT_FALSE(has_second(each)) << each;
    }
}

TEST(mysql_text, transactions_are_followed_by_their_words) {
    using enum transaction_step;
    const std::vector<std::pair<std::string_view, transaction_step>> table{
        {"BEGIN", begins},
        {"begin work", begins},
        {" /* x */ BEGIN", begins},
        {"START TRANSACTION READ ONLY", begins},
        {"START TRANSACTION WITH CONSISTENT SNAPSHOT", begins},
        {"COMMIT", commits},
        {"Commit Work", commits},
        {"-- done\nCOMMIT", commits},
        {"ROLLBACK", rolls_back},
        {"ROLLBACK WORK", rolls_back},
        {"ROLLBACK TO SAVEPOINT s", none},
        {"ROLLBACK WORK TO s", none},
        {"COMMIT AND CHAIN", none},
        {"BEGIN NOT ATOMIC SELECT 1; END", none},
        {"START SLAVE", none},
        {"SAVEPOINT s", none},
        {"SELECT 'COMMIT'", none},
        {"UPDATE t SET c = 1", none},
        {"", none},
        {"-- COMMIT", none},
    };
    for (const auto& [statement, step] : table) EXPECT_EQ(step_of(statement), step) << statement;
}

}  // namespace
}  // namespace leasehold::mysql
