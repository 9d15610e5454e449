// The model's subscribers of queues.
#include <utility>

#include "jobs/job_subscriber_store.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

class memory_job_subscriber_store final : public job_subscriber_store {
public:
    explicit memory_job_subscriber_store(std::shared_ptr<memory_server> of)
        : server_(std::move(of)) {}

    void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_subscriber& which
    ) override {
        change(on, "add_subscriber", [queues, whose, which](memory_tables& tables) {
            for (const std::string& each : queues) {
                tables.subscribers[{each, which.id}] = {whose, which.address};
            }
        });
    }

    void remove(connection& on, const std::vector<std::string>& queues, const owner_id& id)
        override {
        change(on, "remove_subscriber", [queues, id](memory_tables& tables) {
            for (const std::string& each : queues) tables.subscribers.erase({each, id});
        });
    }

    std::vector<job_subscriber> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) override {
        using subscribers = std::vector<job_subscriber>;
        const auto attempt = [queue = std::string(queue),
                              from,
                              limit](memory_tables& tables, const connection&) {
            subscribers found;
            for (const bool is_from : {true, false}) {
                for (const auto& [name, row] : tables.subscribers) {
                    const bool is_wanted = name.first == queue && is_from == !(name.second < from);
                    if (!is_wanted || !is_live_session(tables, row.session)) continue;
                    if (std::ssize(found) < limit) found.push_back({name.second, row.address});
                }
            }
            return std::optional{found};
        };
        return server_->ask<subscribers>(on, "list_subscribers", attempt);
    }

    void prune(connection& on, std::string_view queue) override {
        change(on, "prune_subscribers", [queue = std::string(queue)](memory_tables& tables) {
            std::erase_if(tables.subscribers, [&](const auto& each) {
                return each.first.first == queue && !tables.sessions.contains(each.second.session);
            });
        });
    }

private:
    template <class Change>
    void change(connection& on, std::string_view name, Change apply) const {
        server_->ask<bool>(on, name, [apply](memory_tables& tables, const connection&) {
            apply(tables);
            ++tables.writes;
            return std::optional{true};
        });
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<job_subscriber_store> make_memory_job_subscriber_store(
    std::shared_ptr<memory_server> of
) {
    return std::make_unique<memory_job_subscriber_store>(std::move(of));
}

}  // namespace leasehold::testing
