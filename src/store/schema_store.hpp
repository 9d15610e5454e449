#pragma once
// What any database must be able to do about leasehold's own tables.
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"

namespace leasehold {

// One migration as it was built in, its texts with {prefix} and {bare} not yet filled in.
struct migration {
    int version;
    std::string_view name;
    std::string_view up;
    std::string_view down;
    std::string_view checksum;  // SHA-256 of the up file
};

// A row of leasehold_migration.
struct migration_record {
    int version = 0;
    std::string name;
    std::string checksum;
    bool is_finished = false;
};

class schema_store {
public:
    virtual ~schema_store() = default;

    // Oldest first.
    virtual std::span<const migration> known() const = 0;

    // A text of `known()` with the table names filled in.
    virtual std::string with_names(std::string_view text) const = 0;

    // Whether a failed migration leaves nothing behind.
    virtual bool migrates_in_transactions() const = 0;

    // Excludes other migrators of the same tables until unlock(). Where migrates_in_transactions(),
    // lock() begins the transaction that apply() and record() run in, and unlock(true) commits it:
    // it throws what a COMMIT throws. unlock(false) never throws. lock() waits at most `patience`,
    // which is the connection's statement time-out, then `timed_out`.
    virtual void lock(connection& on, std::chrono::milliseconds patience) = 0;
    virtual void unlock(connection& on, bool commit) = 0;

    // Nothing where the migration table does not exist. Oldest first.
    virtual std::optional<std::vector<migration_record>> recorded(connection& on) = 0;

    // The statements of a migration, separated by `;` at the end of a line.
    virtual void apply(connection& on, std::string_view statements) = 0;

    // The migration table is made by the first record, which is idempotent by version.
    virtual void record(connection& on, const migration_record& what) = 0;
    virtual void forget(connection& on, int version) = 0;
    virtual void drop_records(connection& on) = 0;  // after the last down

    // The same three as text, for migration_sql().
    virtual std::string record_sql(const migration_record& what) const = 0;
    virtual std::string forget_sql(int version) const = 0;
    virtual std::string create_records_sql() const = 0;
};

}  // namespace leasehold
