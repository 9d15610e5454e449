#pragma once
// The operations that make and change leasehold's own tables. The general MUSTs: hold_store.hpp.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "database/schema_store.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold {

// The statements of a migration for the names of these tables.
struct migration_texts {
    std::string up;
    std::string down;
};

class migration_store : public schema_store {
public:
    static std::unique_ptr<migration_store> make(const std::shared_ptr<const sql_dialect>& how);

    // All tables of leasehold in this database, whatever their names; see migrate.hpp.
    virtual std::vector<installation> installations(connection& on) const = 0;

    // `version` is one of the known.
    virtual migration_texts texts(int version) const = 0;

    // True when a failed migration leaves nothing behind.
    virtual bool migrates_in_transactions() const = 0;

    // Excludes other migrators of the same tables until unlock(). Where migrates_in_transactions(),
    // lock() begins the transaction that apply() and record() run in, and unlock(true) commits it:
    // it throws what a COMMIT throws. unlock(false) never throws. lock() waits at most `timeout`,
    // which is the connection's statement time-out, and then throws `timed_out`.
    virtual void lock(connection& on, std::chrono::milliseconds timeout) = 0;
    virtual void unlock(connection& on, bool commit) = 0;

    // The statements of a migration, separated by `;` at the end of a line.
    virtual void apply(connection& on, std::string_view statements) = 0;

    // The migration table is made by the first record, which is idempotent by version.
    virtual void record(connection& on, const migration_record& what) = 0;
    virtual void forget(connection& on, int version) = 0;
    virtual void drop_records(connection& on) = 0;  // after the last down

    // The statements that take the tables from one version to another and record it, to be run by
    // hand.
    virtual std::string script(int from, int to) const = 0;

    // Statements that give `user` the rights a program needs on these tables, and no more.
    virtual std::string grants(std::string_view user) const = 0;
};

}  // namespace leasehold
