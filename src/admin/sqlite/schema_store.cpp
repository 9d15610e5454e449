// The part of the tables' upkeep that is SQLite's own: the write lock is the migrators' lock, and
// one row after the other is cleared in one write transaction. The statements: schema.sql.
#include "admin/sql_schema_store.hpp"

#include <algorithm>

#include "sql/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

constexpr migration_file migrations[] = {
#include "migrations_sqlite.inc"
};

class sqlite_schema_store final : public transactional_schema_store {
public:
    explicit sqlite_schema_store(shared_dialect how)
        : transactional_schema_store(how, migrations), sqlite_(std::move(how)) {}

    void lock(connection& on, std::chrono::milliseconds) override { on.begin(); }
    void apply(connection& on, std::string_view statements) override {
        on.execute_script(statements);
    }

    std::string grants(std::string_view) const override {
        return "-- SQLite has no users: who may write the file, the files -wal and -shm beside it, "
               "and their\n-- folder may do everything. Nothing is to be granted.\n";
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        how_->enter(on);
        write_transaction writing{on};
        const auto send = [&](const statement& what, const parameters& values) {
            return sqlite_->run(on, what, values, writing.now());
        };
        std::int64_t cleared = 0;
        std::int64_t highest = 0;
        for (const std::string& each : places) {
            const parameters values = values_of(task, each, 0, retention);
            for (const row& gone : send(clears_.at(index_of(task)), values).rows) {
                ++cleared;
                highest = std::max(highest, gone.integer(0));
            }
        }
        if (task == upkeep_task::idle_locks && cleared > 0) send(texts_["raise_mark"], {highest});
        writing.commit();
        return cleared;
    }

private:
    bool has_records(connection& on) override { return !run(on, "find_records").rows.empty(); }

    const std::array<statement, tasks.size()> clears_ =
        about_tasks({"free_lock", "remove_dead", "remove_dead", "remove_session", "remove_idle"});
    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<schema_store> make_schema_store(shared_dialect how) {
    return std::make_unique<sqlite_schema_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
