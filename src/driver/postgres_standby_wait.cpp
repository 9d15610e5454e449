#include "driver/postgres_standby_wait.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "driver/postgres_connect.hpp"
#include "driver/postgres_values.hpp"
#include "driver/postgres_wire.hpp"
#include "leasehold/value.hpp"

namespace leasehold::postgres {

void end_standby_wait(const PGconn* of, local_clock::time_point until) noexcept {
    try {
        const dialled made = dial(options_of_host(of), until);
        if (made.failure) return;
        const parameters process{PQbackendPID(of)};
        const bound_parameters values{process};
        // A user may see and cancel what he has under way himself.
        constexpr const char* sql =
            "WITH session AS MATERIALIZED (SELECT pg_stat_get_activity($1::int) AS it)"
            " SELECT pg_cancel_backend((it).pid) FROM session"
            " WHERE (it).wait_event = 'SyncRep'";
        const std::array batch{message{message_kind::query, "", sql, &values}};
        static_cast<void>(exchange(made.handle.get(), batch, until));
    } catch (const std::exception&) {
        return;
    }
}

void left_waits::add(const std::string& address, int process) {
    const thread_guard guard{mutex_};
    if (all_.size() < size_max) all_.push_back({address, process, local_clock::now()});
}

// The number of a process comes back for a stranger. What waited already when it was given up here
// is older than that.
void left_waits::end_on(
    PGconn* handle, const std::string& address, local_clock::time_point until
) noexcept {
    try {
        std::vector<left_wait> here;
        {
            const thread_guard guard{mutex_};
            const auto is_elsewhere = [&](const auto& each) { return each.address != address; };
            const auto middle = std::partition(all_.begin(), all_.end(), is_elsewhere);
            here.assign(middle, all_.end());
            all_.erase(middle, all_.end());
        }
        if (here.empty()) return;
        std::string processes, ages;
        for (const left_wait& each : here) {
            const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
                local_clock::now() - each.since
            );
            processes += (processes.empty() ? "{" : ",") + std::to_string(each.process);
            ages += (ages.empty() ? "{" : ",") + std::to_string(age.count());
        }
        const parameters waits{processes + "}", ages + "}"};
        const bound_parameters values{waits};
        constexpr const char* sql =
            "WITH sent AS MATERIALIZED (SELECT unnest($1::text::int[]) AS process,"
            " unnest($2::text::bigint[]) * interval '1 millisecond' AS age),"
            " session AS MATERIALIZED (SELECT pg_stat_get_activity(process) AS it, age FROM sent)"
            " SELECT pg_cancel_backend((it).pid) FROM session"
            " WHERE (it).wait_event = 'SyncRep' AND (it).query_start < clock_timestamp() - age";
        const std::array batch{message{message_kind::query, "", sql, &values}};
        static_cast<void>(exchange(handle, batch, until));
    } catch (const std::exception&) {
        return;
    }
}

}  // namespace leasehold::postgres
