// The transaction that keeps a row locked on MySQL and MariaDB; row_lock.sql finds it out.
#include "leasehold/error.hpp"
#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

// nullopt if this user lacks the right to ask, or this server lets nobody lock a row.
std::optional<result> if_allowed(
    const sql_dialect& how,
    connection& on,
    std::string_view name,
    const parameters& values,
    std::optional<error>* refusal = nullptr
) {
    return where_allowed(
        [&] { return how.write(on, how.of(locks_sql, "row_lock")[name], values); }, refusal
    );
}

// nullopt if the answer is not known: then the refusal says why.
std::optional<bool> is_locked(
    const sql_dialect& how, connection& on, const parameters& key, std::optional<error>& refusal
) {
    const auto locked = if_allowed(how, on, "is_locked", key, &refusal);
    if (locked) return only_integer(*locked) != 0;
    const auto seen = if_allowed(how, on, "is_locked_to_change", key);
    if (seen && only_integer(*seen) != 0) return true;
    return std::nullopt;
}

}  // namespace

std::optional<error> why_row_lock_is_unknown(
    const sql_dialect& how, connection& on, const key& name
) {
    const parameters key{value_of(name)};
    std::optional<error> refusal;
    if (is_locked(how, on, key, refusal)) return std::nullopt;
    const bool is_seen =
        how.which() == engine::mysql && if_allowed(how, on, "lockers", key).has_value();
    return is_seen ? std::nullopt : refusal;
}

std::optional<row_lock_info> find_row_lock(
    const sql_dialect& how, connection& on, const key& name
) {
    const parameters key{value_of(name)};
    std::optional<error> refusal;
    const auto locked = is_locked(how, on, key, refusal);
    if (locked == false) return std::nullopt;
    const bool names_rows = how.which() == engine::mysql;
    std::optional<result> seen;
    if (names_rows) seen = if_allowed(how, on, "lockers", key);
    row_lock_info found;
    found.key = name.name();
    if (names_rows && !seen) found.missing_right = "SELECT on performance_schema.*";
    if (!seen || seen->rows.empty()) {
        // Any transaction with locked rows may be meant, if this row is known to be locked.
        if (!locked) return std::nullopt;
        seen = if_allowed(how, on, "suspects", {});
        if (!seen) {
            found.missing_right =
                names_rows ? "PROCESS, and SELECT on performance_schema.*" : "PROCESS";
        }
    }
    if (!seen || seen->rows.empty()) return found;
    const std::string missing = std::move(found.missing_right);
    found = row_lock_in(seen->rows[0], name.name());
    found.statement = text_or_empty(seen->rows[0], columns::row_lock::suspects::statement);
    found.missing_right = missing;
    if (found.connection != 0) {
        found.way_to_end = replaced(
            how.of(locks_sql, "row_lock").source("end_connection"),
            "{connection}",
            std::to_string(found.connection)
        );
    }
    return found;
}

}  // namespace leasehold::mysql_dialect
