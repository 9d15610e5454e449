// The part of the clean-up that is MySQL's and MariaDB's own: of the rows that a look has found it
// locks one after the other, if it can without waiting, and tests them again. The statements:
// upkeep.sql.
#include "session/sql_upkeep_store.hpp"
#include "sql/mysql/batch.hpp"
#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_upkeep_store final : public sql_upkeep_store {
public:
    explicit mysql_upkeep_store(shared_dialect how)
        : sql_upkeep_store(std::move(how)),
          clears_(about_tasks(
              {"free_lock", "remove_dead", "remove_dead", "remove_session", "remove_idle"}
          )) {}

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        batch all;
        if (task == upkeep_task::idle_locks) all.add(texts_["lock_mark"]);
        for (const std::string& each : places) {
            all.add(clears_.at(index_of(task)), values_of(task, each, 0, retention));
        }
        return all.send(on);
    }

    // A bound that a subquery computes does not bound an index: a statement reads it first.
    std::int64_t prune_history(connection& on, int max_rows) override {
        const auto kept_since = only_integer(read(on, "kept_since"));
        return write(on, "prune_history", {kept_since, max_rows}).affected_rows;
    }

private:
    const std::array<statement, tasks.size()> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(shared_dialect how) {
    return std::make_unique<mysql_upkeep_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
