// What MySQL and MariaDB clear: those that a look has found are locked one after the other, where
// that is possible without waiting, and tested again. The statements: upkeep.sql.
#include "dialect/upkeep_store.hpp"

#include "dialect/mysql/batch.hpp"

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

private:
    const std::array<statement, tasks.size()> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(shared_dialect how) {
    return std::make_unique<mysql_upkeep_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
