// The transaction that keeps a row locked on PostgreSQL; row_lock.sql finds it out.
#include "leasehold/error.hpp"
#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// nullopt if this user lacks the right to lock rows, or this server takes no locks.
std::optional<bool> is_locked(const sql_dialect& how, connection& on, const parameters& key) {
    const auto said = where_allowed([&] {
        return how.write(on, how.of(locks_sql, "row_lock")["is_locked"], key);
    });
    return said ? std::optional{only_integer(*said) != 0} : std::nullopt;
}

}  // namespace

std::optional<row_lock_info> find_row_lock(
    const sql_dialect& how, connection& on, const key& name
) {
    using column = columns::row_lock::lockers_on_postgres;
    const statements& texts = how.of(locks_sql, "row_lock");
    const parameters key{value_of(name)};
    const auto locked = is_locked(how, on, key);
    if (locked == false) return std::nullopt;
    const result seen = how.read(on, texts["lockers"], key);
    if (seen.rows.empty()) {
        if (!locked) return std::nullopt;
        row_lock_info unknown;
        unknown.key = name.name();
        return unknown;
    }
    const row& first = seen.rows[0];
    row_lock_info found = row_lock_in(first, name.name());
    if (first.integer(column::is_hidden) != 0) {
        found.missing_right = "pg_read_all_stats";
    } else if (!first.is_null(column::statement)) {
        found.statement = first.text(column::statement);
    }
    // Ending the wait would commit the transaction, and a fail-over could undo that.
    if (first.integer(column::waits_for_standby) != 0) return found;
    if (!first.is_null(column::prepared)) {
        found.way_to_end =
            replaced(texts.source("end_prepared"), "{prepared}", first.bytes(column::prepared));
    } else if (found.connection != 0) {
        found.way_to_end = replaced(
            texts.source("end_connection"), "{connection}", std::to_string(found.connection)
        );
    }
    return found;
}

}  // namespace leasehold::postgres_dialect
