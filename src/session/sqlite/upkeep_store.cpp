// The part of the clean-up that is SQLite's own: one row after the other is cleared in one write
// transaction. The statements: upkeep.sql.
#include "session/sql_upkeep_store.hpp"

#include <algorithm>

#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_upkeep_store final : public sql_upkeep_store {
public:
    explicit sqlite_upkeep_store(shared_dialect how)
        : sql_upkeep_store(how), sqlite_(std::move(how)) {}

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
            for (const auto fence : only_integers(send(clears_.at(index_of(task)), values))) {
                ++cleared;
                highest = std::max(highest, fence);
            }
        }
        if (task == upkeep_task::idle_locks && cleared > 0) send(texts_["raise_mark"], {highest});
        writing.commit();
        return cleared;
    }

    // A look comes before a change, and the store notes the clock of the boot for the triggers.
    std::int64_t prune_history(connection& on, int max_rows) override {
        if (read(on, "look_at_history").rows.empty()) return 0;
        write(on, "note_clock");
        return sql_upkeep_store::prune_history(on, max_rows);
    }

private:
    const std::array<statement, tasks.size()> clears_ =
        about_tasks({"free_lock", "remove_dead", "remove_dead", "remove_session", "remove_idle"});
    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(shared_dialect how) {
    return std::make_unique<sqlite_upkeep_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
