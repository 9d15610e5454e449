#pragma once
// leasehold's own tables, as far as the engines keep them alike; each engine clears the rows that
// were found to be dead in its own way.
#include <array>

#include "admin/schema_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

// One migration as it was built in, its texts with {prefix} and {bare} not yet filled in.
struct migration_file {
    int version;
    std::string_view name;
    std::string_view up;
    std::string_view down;
    std::string_view checksum;
};

class sql_schema_store : public schema_store, protected sql_store {
public:
    std::span<const migration> known() const override { return known_; }
    std::optional<std::vector<migration_record>> recorded(connection& on) override;
    void record(connection& on, const migration_record& what) override;
    void forget(connection& on, int version) override;
    void drop_records(connection& on) override;

    std::string script(int from, int to) const override;

    std::vector<upkeep_progress> progress(connection& on) override;
    bool take_turn(connection& on, const upkeep_progress& seen, std::chrono::microseconds every)
        override;
    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override;
    upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) override;

protected:
    static constexpr std::array tasks{
        upkeep_task::dead_locks,
        upkeep_task::dead_holders,
        upkeep_task::dead_waiters,
        upkeep_task::old_sessions,
        upkeep_task::idle_locks};
    using names_by_task = std::array<std::string_view, tasks.size()>;

    sql_schema_store(
        std::shared_ptr<const sql_dialect> how, std::span<const migration_file> built_in
    );

    // Sends it as a statement of the caller's, with any kind of values.
    result run(connection& on, std::string_view name, const parameters& values = {}) const;
    virtual bool has_records(connection& on) = 0;
    virtual void create_records(connection& on) { run(on, "create_records"); }
    virtual std::string create_records_text() const;

    static std::size_t index_of(upkeep_task task) { return static_cast<std::size_t>(task) - 1; }
    // Holders and waiters share one statement, with {table}, and {rest}, the second column of its
    // key. A row keeps the session it was made for, so that a snapshot's news of that session also
    // holds for a row that was locked later.
    std::string source_about(upkeep_task task, const names_by_task& names) const;
    std::array<statement, tasks.size()> about_tasks(const names_by_task& names) const;
    // The place in two values, rows, retention.
    static parameters values_of(
        upkeep_task task, const std::string& place, int rows, std::chrono::microseconds retention
    );

private:
    std::string record_text(const migration& what) const;

    std::vector<migration> known_;
    const std::array<std::string, tasks.size()> looks_;
};

// The engine has transactional DDL: the lock lasts until the transaction ends. A failure of the
// commit gets through: swallowed, it would pass for an applied migration.
class transactional_schema_store : public sql_schema_store {
public:
    using sql_schema_store::sql_schema_store;
    bool migrates_in_transactions() const override { return true; }
    void unlock(connection& on, bool commit) override {
        if (commit) {
            on.commit();
        } else {
            on.rollback();
        }
    }
};

}  // namespace leasehold
