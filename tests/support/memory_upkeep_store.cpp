// The model's clean-up.
#include <algorithm>
#include <utility>

#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

class memory_upkeep_store final : public upkeep_store {
public:
    explicit memory_upkeep_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    std::int64_t free_locks_of_the_dead(connection& on, int limit) override {
        const auto attempt = [limit](memory_tables& tables, const connection& from) {
            std::int64_t freed = 0;
            for (auto& [name, row] : tables.locks) {
                if (freed == limit) break;
                const bool session_is_gone = row.session && !tables.sessions.contains(*row.session);
                const bool is_dead = is_takeable(tables, row) || session_is_gone;
                if (!row.owner || !is_dead || is_proved_by_another(row, from)) continue;
                make_free(tables, row);
                ++freed;
            }
            return std::optional{freed};
        };
        return server_->ask<std::int64_t>(on, "free_locks_of_the_dead", attempt);
    }

    std::int64_t remove_sessions(connection& on, microseconds retention, int limit) override {
        const auto attempt = [retention, limit](memory_tables& tables, const connection&) {
            const auto holds_something = [&](const session_id& id) {
                return std::any_of(
                           tables.locks.begin(),
                           tables.locks.end(),
                           [&](const auto& each) { return each.second.session == id; }
                       ) ||
                       std::any_of(
                           tables.holders.begin(),
                           tables.holders.end(),
                           [&](const auto& each) { return each.second.session == id; }
                       );
            };
            std::int64_t removed = 0;
            std::erase_if(tables.sessions, [&](const auto& each) {
                const auto& [id, row] = each;
                const bool is_old = row.expires_at + retention <= tables.now;
                if (removed == limit || !is_old || holds_something(id)) return false;
                std::erase_if(tables.waiters, [id = id](const auto& waiter) {
                    return waiter.second.session == id;
                });
                ++removed;
                return true;
            });
            tables.writes += removed;
            return std::optional{removed};
        };
        return server_->ask<std::int64_t>(on, "remove_sessions", attempt);
    }

    std::int64_t remove_idle_locks(connection& on, microseconds retention, int limit) override {
        const auto attempt = [retention, limit](memory_tables& tables, const connection&) {
            std::int64_t removed = 0;
            std::erase_if(tables.locks, [&](const auto& each) {
                const auto& [name, row] = each;
                const bool is_idle = !row.owner && row.last_ticket == 0 &&
                                     !has_holders(tables, name) &&
                                     row.changed_at + retention <= tables.now;
                if (removed == limit || !is_idle) return false;
                tables.fence_mark = std::max(tables.fence_mark, row.fence);
                ++removed;
                return true;
            });
            tables.writes += removed;
            return std::optional{removed};
        };
        return server_->ask<std::int64_t>(on, "remove_idle_locks", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_memory_upkeep_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_upkeep_store>(std::move(of));
}

}  // namespace leasehold::testing
