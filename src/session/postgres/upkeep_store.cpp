// The part of the clean-up that is PostgreSQL's own: it clears a list of rows at a time. The
// statements: upkeep.sql.
#include "session/sql_upkeep_store.hpp"

#include <deque>

#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_upkeep_store final : public sql_upkeep_store {
public:
    explicit postgres_upkeep_store(shared_dialect how) : sql_upkeep_store(std::move(how)) {
        constexpr names_by_task names{
            "free_locks", "remove_dead", "remove_dead", "remove_sessions", "remove_idle"};
        for (const upkeep_task each : tasks) {
            const bool has_ticket = each == upkeep_task::dead_waiters;
            clears_.emplace_back(
                replaced(source_about(each, names), "{asked_rest}", has_ticket ? "amount" : "rest"),
                engine::postgres
            );
        }
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        const auto values_of_one = [&](std::size_t at) {
            const parameters all = values_of(task, places[at], 0, retention);
            if (task == upkeep_task::dead_waiters) return parameters{all[0], blob{}, all[1]};
            return parameters{all[0], all[1], all[3]};
        };
        const auto send = [&](const statement& what, const parameters& values) {
            return how_->write(on, what, values);
        };
        std::int64_t cleared = 0;
        const auto count = [&](std::size_t, const row&) { ++cleared; };
        clears_.at(index_of(task)).ask(places.size(), values_of_one, send, count);
        return cleared;
    }

private:
    std::deque<list_statement> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(shared_dialect how) {
    return std::make_unique<postgres_upkeep_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
