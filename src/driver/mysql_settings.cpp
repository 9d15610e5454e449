#include "driver/mysql_settings.hpp"

#include <algorithm>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

// We went through the whole lists of MariaDB 10.11 and MySQL 9.7; tests/fault/settings_test.cpp has
// a row for each setting that can be hostile, those pinned here and those that need no pinning.
// DEFAULT would be the global value, which must be kept out, so each value is written out.
//
// completion_type: a COMMIT would begin the next transaction, in which later grants stay
//     uncommitted, or close the connection
// sql_select_limit: lists, and the migrations' look, would end after that many rows
// sql_safe_updates, max_join_size, sql_big_selects: statements are refused by their estimated cost;
//     max_join_size sets sql_big_selects, so it comes first
// max_sort_length: values that differ further behind are sorted as equals
// unique_checks, foreign_key_checks: with both off MariaDB fills an empty table under a lock on all
//     of it, without undo
// sql_buffer_result: if a column is made of an aggregate and user variables MariaDB answers with
//     another number
// group_concat_max_len: a list of ids would end within one of them, which is another one then
constexpr std::string_view pinned_on_both =
    "SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00', sql_mode = "
    "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', "
    "sql_select_limit = 18446744073709551615, max_join_size = 18446744073709551615, "
    "sql_big_selects = 1, sql_safe_updates = 0, max_sort_length = 1024, unique_checks = 1, "
    "foreign_key_checks = 1, group_concat_max_len = 1048576, sql_buffer_result = 0";

// max_recursive_iterations: MariaDB cuts a recursive query off there without an error; MySQL fails
// sql_if_exists: CREATE TABLE IF NOT EXISTS fails if the table exists
constexpr std::string_view pinned_on_mariadb =
    ", check_constraint_checks = 1, max_recursive_iterations = 1000000, sql_if_exists = 0";
// range_optimizer_max_mem_size: if it is small an UPDATE or DELETE of one primary key is a scan,
//     which locks every row, and waits for those of others
// derived_merge: without it MySQL looks through its whole catalogue for one table's columns (12 s)
constexpr std::string_view pinned_on_mysql =
    ", cte_max_recursion_depth = 1000000, range_optimizer_max_mem_size = 8388608, "
    "optimizer_switch = 'derived_merge=on'";

// A pooled connection, and a session's heartbeat, rest between two calls. A server that wants its
// connections back sooner would cut each of them each time.
constexpr std::int64_t wait_timeout_min_s = 3600;

}  // namespace

std::string pinned_settings(engine which, const row& first) {
    std::string text{pinned_on_both};
    text += which == engine::mariadb ? pinned_on_mariadb : pinned_on_mysql;
    const std::int64_t wait_timeout_s = std::max(first.integer("wait_timeout"), wait_timeout_min_s);
    text += ", wait_timeout = " + std::to_string(wait_timeout_s);
    // Only if init_connect has set it: `secure_timestamp` of MariaDB forbids to name it at all.
    if (first.integer("has_timestamp") != 0) text += ", timestamp = DEFAULT";
    return text;
}

void require_unbent(const std::string& place, const row& answer) {
    const auto refuse = [&place](const std::string& why) {
        throw error{errc::unsupported, place + ": " + why};
    };
    if (answer.integer(lent_columns::has_limit) != 0) {
        refuse("its sql_select_limit would cut our answers: set it to 18446744073709551615");
    }
    if (answer.integer(lent_columns::has_timestamp) != 0) {
        refuse("its timestamp is set, which would hide what has expired: SET timestamp = DEFAULT");
    }
    for (const std::size_t column : {lent_columns::sent_set, lent_columns::received_set}) {
        if (answer.text(column) == "utf8mb4") continue;
        refuse(
            "its character set (" + answer.text(column) +
            ") cannot carry every text there and back: SET NAMES utf8mb4"
        );
    }
}

}  // namespace leasehold::mysql
