#include "driver/postgres_standby_wait.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/postgres_connect.hpp"
#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"
#include "driver/postgres_values.hpp"
#include "driver/postgres_wire.hpp"
#include "leasehold/value.hpp"

namespace leasehold::postgres {
namespace {

// The value by which a statement fails that requires a standby (fragments.sql).
constexpr std::string_view no_standby = "'no synchronous standby'";

}  // namespace

bool end_standby_wait(
    const PGconn* of, const server_origin& origin, local_clock::time_point until
) noexcept {
    try {
        if (origin.text.empty()) return false;
        const dialled made = dial(options_of_host(of), until);
        if (made.failure) return false;
        const parameters process{PQbackendPID(of), origin.text};
        const bound_parameters values{process};
        // A user may see and cancel its own statements.
        const std::string sql =
            "WITH session AS MATERIALIZED (SELECT pg_stat_get_activity($1::int) AS it WHERE " +
            origin_words(origin.how) +
            " = $2) SELECT pg_cancel_backend((it).pid) FROM session"
            " WHERE (it).wait_event = 'SyncRep'";
        const std::array batch{message{message_kind::query, "", sql.c_str(), &values}};
        const reply answer = exchange(made.handle.get(), batch, until);
        return answer.has_succeeded() && PQntuples(answer.results.at(0).at(0).get()) == 1;
    } catch (const std::exception&) {
        return false;
    }
}

void left_waits::add(const server_origin& on, int process) {
    const thread_guard guard{mutex_};
    if (!on.text.empty() && all_.size() < max_size)
        all_.push_back({on, process, local_clock::now()});
}

// The number of a process comes back for a stranger. A wait that had begun when it was given up
// here is older than that.
void left_waits::end_on(
    PGconn* handle, const server_origin& here, local_clock::time_point until
) noexcept {
    try {
        std::vector<left_wait> left;
        {
            const thread_guard guard{mutex_};
            const auto is_elsewhere = [&](const auto& each) { return each.on != here; };
            const auto middle = std::partition(all_.begin(), all_.end(), is_elsewhere);
            left.assign(middle, all_.end());
            all_.erase(middle, all_.end());
        }
        if (left.empty()) return;
        std::string processes, ages;
        for (const left_wait& each : left) {
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

std::optional<bool> owned_connection::names_standby() {
    const std::array batch{message{
        message_kind::query, "", "SELECT current_setting('synchronous_standby_names') <> ''"}};
    const reply answer = exchange(handle_.get(), batch, local_clock::now() + limit_);
    note_end(answer.end);
    if (answer.end != exchange_end::answered) abandon();
    if (!answer.has_succeeded()) return std::nullopt;
    return PQgetvalue(answer.results[0].at(0).get(), 0, 0)[0] == 't';
}

void owned_connection::note_requirement(std::string_view sql) {
    if (sql.find(no_standby) == std::string_view::npos) return;
    requires_standby_ = true;
    if (names_standby_) return;
    const auto found = names_standby();
    if (!found) throw lost_error(address_, nullptr, false);
    names_standby_ = *found;
}

bool owned_connection::has_waited_for_none() {
    if (!names_standby_) return false;
    names_standby_ = names_standby().value_or(false);
    return !names_standby_;
}

}  // namespace leasehold::postgres
