#include "jobs/sql_job_subscriber_store.hpp"

namespace leasehold {

void sql_job_subscriber_store::add(
    connection& on,
    const std::vector<std::string>& queues,
    const session_id& whose,
    const job_subscriber& which
) {
    for (const std::string& each : queues) {
        write(on, "add", {each, value_of(which.id), value_of(whose), which.address});
    }
}

void sql_job_subscriber_store::remove(
    connection& on, const std::vector<std::string>& queues, const owner_id& id
) {
    for (const std::string& each : queues) write(on, "remove", {each, value_of(id)});
}

std::vector<job_subscriber> sql_job_subscriber_store::list(
    connection& on, std::string_view queue, const owner_id& from, int limit
) {
    using column = columns::job_subscriber::list_from;
    std::vector<job_subscriber> subscribers;
    for (const char* const part : {"list_from", "list_until"}) {
        const int rest = limit - static_cast<int>(subscribers.size());
        if (rest == 0) break;
        const parameters values{std::string{queue}, value_of(from), rest};
        for (const row& each : read(on, part, values).rows) {
            const auto id = identity_of<owner_id>(each, column::id);
            subscribers.push_back({id, each.bytes(column::address)});
        }
    }
    return subscribers;
}

void sql_job_subscriber_store::prune(connection& on, std::string_view queue) {
    if (read(on, "find_dead", {std::string{queue}}).rows.empty()) return;
    write(on, "prune", {std::string{queue}});
}

}  // namespace leasehold
