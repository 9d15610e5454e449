// The model's bells of workers.
#include <utility>

#include "jobs/job_bell_store.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

class memory_job_bell_store final : public job_bell_store {
public:
    explicit memory_job_bell_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_bell& which
    ) override {
        change(on, "add_bell", [queues, whose, which](memory_tables& tables) {
            for (const std::string& each : queues) {
                tables.bells[{each, which.bell}] = {whose, which.address};
            }
        });
    }

    void remove(connection& on, const std::vector<std::string>& queues, const owner_id& bell)
        override {
        change(on, "remove_bell", [queues, bell](memory_tables& tables) {
            for (const std::string& each : queues) tables.bells.erase({each, bell});
        });
    }

    std::vector<job_bell> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) override {
        using bells = std::vector<job_bell>;
        const auto attempt = [queue = std::string(queue),
                              from,
                              limit](memory_tables& tables, const connection&) {
            bells found;
            for (const bool is_from : {true, false}) {
                for (const auto& [name, row] : tables.bells) {
                    const bool is_wanted = name.first == queue && is_from == !(name.second < from);
                    if (!is_wanted || !is_live_session(tables, row.session)) continue;
                    if (std::ssize(found) < limit) found.push_back({name.second, row.address});
                }
            }
            return std::optional{found};
        };
        return server_->ask<bells>(on, "list_bells", attempt);
    }

    void prune(connection& on, std::string_view queue) override {
        change(on, "prune_bells", [queue = std::string(queue)](memory_tables& tables) {
            std::erase_if(tables.bells, [&](const auto& each) {
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

std::unique_ptr<job_bell_store> make_memory_job_bell_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_job_bell_store>(std::move(of));
}

}  // namespace leasehold::testing
