// Finds the places for values in a statement, and skips text that only looks like one.
#include "core/numbered_parameters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

constexpr engine engines[] = {engine::postgres, engine::mysql, engine::mariadb, engine::sqlite};

// The text with {n} in each place.
std::string marked(std::string_view sql, engine which) {
    std::string text;
    std::size_t at = 0;
    for (const place& each : places_in(sql, which)) {
        text.append(sql.substr(at, each.at - at)).append("{");
        text.append(std::to_string(each.number)).append("}");
        at = each.at + each.size;
    }
    return text.append(sql.substr(at));
}

void expect_refused(std::string_view sql) {
    try {
        places_in(sql, engine::mysql);
        ADD_FAILURE() << "not refused: " << sql;
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::invalid_argument) << sql;
    }
}

TEST(numbered_parameters, numbers_are_places_on_every_engine) {
    for (const engine each : engines) {
        EXPECT_EQ(marked("$1", each), "{1}");
        EXPECT_EQ(marked("a=$2 AND b IN($1,$2)", each), "a={2} AND b IN({1},{2})");
        EXPECT_EQ(marked("VALUES ($1, $12)", each), "VALUES ({1}, {12})");
        EXPECT_EQ(marked("$1::text || $2::jsonb", each), "{1}::text || {2}::jsonb");
        EXPECT_EQ(marked("-$1+$2*$3", each), "-{1}+{2}*{3}");
        EXPECT_EQ(marked("8/$1/*2*/", each), "8/{1}/*2*/");
        EXPECT_EQ(marked("", each), "");
    }
}

TEST(numbered_parameters, question_marks_are_counted_but_not_on_postgres) {
    for (const engine each : {engine::mysql, engine::mariadb, engine::sqlite}) {
        EXPECT_EQ(marked("a=? AND b=?", each), "a={1} AND b={2}");
        EXPECT_EQ(marked("LIKE?", each), "LIKE{1}");
    }
    EXPECT_EQ(marked("payload ? $1", engine::postgres), "payload ? {1}");
}

TEST(numbered_parameters, what_the_statement_has_for_itself_is_left_alone) {
    const std::vector<std::string> everywhere{
        "'$1 ?'",  "'it''s $1'", "\"$1 ?\"",  "\"a\"\"$1\"", "/* $1 ? */",
        "/* ' */", "-- $1 ?\n",  "-- it's\n", "'/* $1 */'",  "a$1",
        "a$1b",    "_$1",        "$1a",       "$1_",         "\xc3\xbc$1",
        "'\n$1'",  "$",          "$ 1",       "1$1",         "'$.a[0]'",
    };
    for (const engine which : engines) {
        for (const std::string& each : everywhere) {
            const std::string sql = each + " $1 " + each;
            EXPECT_EQ(marked(sql, which), each + " {1} " + each) << name_of(which);
        }
    }
}

TEST(numbered_parameters, each_engine_has_quotes_of_its_own) {
    const struct {
        engine which;
        std::string text;
    } cases[] = {
        {engine::mysql, "'it\\'s $1'"},
        {engine::mysql, "'\\\\'"},
        {engine::mariadb, "\"\\\"$1\""},
        {engine::mysql, "`$1 ?`"},
        {engine::mysql, "`a``$1`"},
        {engine::mysql, "`\\`"},
        {engine::mysql, "# $1\n"},
        {engine::mysql, "/*! $1 */"},
        {engine::mysql, "/*/ $1 */"},
        {engine::mysql, "@$1"},
        {engine::mariadb, "--\t$1\n"},
        {engine::sqlite, "[$1 ?]"},
        {engine::sqlite, "`$1`"},
        {engine::sqlite, "'\\'"},
        {engine::sqlite, "--$1\n"},
        {engine::postgres, "$$ it's $1 $$"},
        {engine::postgres, "$do$ $$ $1 $do$"},
        {engine::postgres, "E'it\\'s $1'"},
        {engine::postgres, "'\\'"},
        {engine::postgres, "/* /* $1 */ $1 */"},
        {engine::postgres, "--$1\n"},
    };
    for (const auto& each : cases) {
        const std::string sql = each.text + " $1 " + each.text;
        EXPECT_EQ(marked(sql, each.which), each.text + " {1} " + each.text) << name_of(each.which);
    }
    // Text that only other engines pass over has places.
    EXPECT_EQ(marked("1--$1", engine::mysql), "1--{1}");
    EXPECT_EQ(marked("a[$1]", engine::postgres), "a[{1}]");
    EXPECT_EQ(marked("a # $1", engine::postgres), "a # {1}");
    EXPECT_EQ(marked("$$$1$$", engine::postgres), "$$$1$$");
}

TEST(numbered_parameters, what_is_not_closed_reaches_to_the_end) {
    for (const engine which : engines) {
        for (const std::string_view each : {"'$1", "\"$1", "/* $1", "-- $1", "'", "--"}) {
            EXPECT_EQ(marked(each, which), each) << name_of(which);
        }
    }
    EXPECT_EQ(marked("$a$ $1", engine::postgres), "$a$ $1");
    EXPECT_EQ(marked("'\\", engine::mysql), "'\\");
}

TEST(numbered_parameters, a_mixture_and_numbers_that_are_none_are_refused) {
    expect_refused("a = ? AND b = $1");
    expect_refused("a = $1 AND b = ?");
    expect_refused("$0");
    expect_refused("$65536");
    expect_refused("$99999999999999999999999999");
    EXPECT_EQ(marked("$65535", engine::mysql), "{65535}");
}

TEST(numbered_parameters, the_highest_number_says_how_many_values_are_wanted) {
    EXPECT_EQ(values_wanted(places_in("SELECT 1", engine::mysql)), 0U);
    EXPECT_EQ(values_wanted(places_in("? ?", engine::mysql)), 2U);
    EXPECT_EQ(values_wanted(places_in("$3 $1 $3", engine::mysql)), 3U);
}

}  // namespace
}  // namespace leasehold
