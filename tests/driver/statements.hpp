#pragma once
// All engines number the parameters of statements alike.
#include <gtest/gtest.h>

#include <optional>

#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing {

inline void expect_refused(connection& on, const char* sql, const parameters& values) {
    try {
        on.execute(sql, values);
        ADD_FAILURE() << "not refused: " << sql;
    } catch (const error& refused) {
        EXPECT_NE(refused.code(), errc::connection_lost) << sql;
    }
    EXPECT_EQ(on.state(), connection_state::idle) << sql;
}

// Leaves a temporary table behind.
inline void expect_numbered_parameters(connection& on) {
    on.execute("CREATE TEMPORARY TABLE numbered (a INTEGER, b INTEGER, words VARCHAR(50))");
    const char* const insert = "INSERT INTO numbered VALUES ($2, $1, $3)";
    EXPECT_EQ(on.execute(insert, {1, 2, "$1 ?"}).affected_rows, 1);
    EXPECT_EQ(on.execute(insert, {1ULL, std::optional<int>{}, "null"}).affected_rows, 1);
    const char* const select =
        "SELECT a, b, words, '$1 it''s $9' FROM numbered WHERE a = $2 AND b + 1 = $2 AND "
        "words <> $1 /* $7 */ AND words = $3 -- $8";
    for (int use = 0; use < 2; ++use) {  // first prepared, then reused
        const result found = on.execute(select, {"$2", 2, "$1 ?"});
        ASSERT_EQ(found.rows.size(), 1U);
        EXPECT_EQ(found.rows[0].columns, (parameters{2, 1, "$1 ?", "$1 it's $9"}));
    }
    expect_refused(on, "SELECT a FROM numbered WHERE a = $1 AND b = $2", {1});
    expect_refused(on, "SELECT a FROM numbered WHERE a = $1 AND b = ?", {1, 2});
    expect_refused(on, "SELECT a FROM numbered WHERE a = ? AND b = $1", {1, 2});
    expect_refused(on, "SELECT a FROM numbered WHERE a = $0", {1});
}

// For drivers that count; PostgreSQL minds no value that nothing asks for.
inline void expect_surplus_refused(connection& on) {
    expect_refused(on, "SELECT 1 WHERE 1 = $1", {1, 2});
    expect_refused(on, "SELECT 1 WHERE 1 = ?", {1, 2});
}

// For drivers whose scripts take parameters: the numbers go on from statement to statement.
inline void expect_numbers_across_a_script(connection& on) {
    on.execute("CREATE TEMPORARY TABLE script (a INTEGER, b INTEGER)");
    const result found = on.execute_script(
        "INSERT INTO script VALUES ($1, $2); INSERT INTO script VALUES ($2, $3);"
        "SELECT COUNT(*), SUM(a * 100 + b) FROM script WHERE a <> $4",
        {1, 2, 3, 9}
    );
    ASSERT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.rows[0].integer(0), 2);
    EXPECT_EQ(found.rows[0].integer(1), 102 + 203);
    const result marked = on.execute_script(
        "INSERT INTO script VALUES (?, ?); SELECT COUNT(*) FROM script WHERE a = ?", {5, 6, 5}
    );
    EXPECT_EQ(marked.rows.at(0).integer(0), 1);
}

}  // namespace leasehold::testing
