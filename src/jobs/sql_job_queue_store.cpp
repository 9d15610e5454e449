#include "jobs/sql_job_queue_store.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "leasehold/error.hpp"
#include "sql/row_columns.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A job that waits for others is due in the year 9999.
std::optional<microseconds> unless_never(std::optional<microseconds> due_in) {
    constexpr microseconds far = std::chrono::hours{24 * 366 * 2000};
    return due_in && *due_in < far ? due_in : std::nullopt;
}

// The 21 columns of `list`.
job_info info_in(const row& from) {
    job_info info;
    info.id = from.integer(0);
    info.queue = from.bytes(1);
    info.kind = from.bytes(2);
    info.state = static_cast<job_state>(from.integer(3));
    info.priority = static_cast<int>(from.integer(4));
    info.attempts = static_cast<int>(from.integer(5));
    info.max_attempts = static_cast<int>(from.integer(6));
    info.rescues = static_cast<int>(from.integer(7));
    info.token = {from.integer(8)};
    info.payload = from.bytes(9);
    info.unique_key = text_or_empty(from, 10);
    info.ordering_key = text_or_empty(from, 11);
    info.node_info = text_or_empty(from, 12);
    info.progress = text_or_empty(from, 13);
    info.error = text_or_empty(from, 14);
    info.enqueued_ago = duration_of(from, 15);
    info.due_in = duration_of(from, 16);
    if (!unless_never(info.due_in)) {
        info.state = job_state::blocked;
        info.due_in = microseconds{0};
    }
    if (info.state == job_state::running) info.running_for = duration_of(from, 17);
    info.is_cancel_requested = number_or(from, 18, 0) != 0;
    info.ended_ago = duration_or_nothing(from, 19);
    info.result = text_or_empty(from, 20);
    return info;
}

// Reads its seven columns, from `first` on.
queue_limits limits_in(const row& from, std::size_t first) {
    queue_limits limits;
    const auto kept = [&](std::size_t column) {
        return duration_cast<seconds>(microseconds{from.integer(column)});
    };
    if (!from.is_null(first)) limits.max_running = static_cast<int>(from.integer(first));
    limits.max_running_per_key = static_cast<int>(from.integer(first + 1));
    if (!from.is_null(first + 2)) limits.max_starts = static_cast<int>(from.integer(first + 2));
    limits.starts_per = duration_cast<milliseconds>(microseconds{from.integer(first + 3)});
    limits.keep_completed = kept(first + 4);
    limits.keep_discarded = kept(first + 5);
    limits.keep_cancelled = kept(first + 6);
    return limits;
}

// Reads the state, the number of jobs, and the age of the oldest, from `first` on.
void add_count(queue_info& info, const row& from, std::size_t first) {
    const auto state = static_cast<job_state>(from.integer(first));
    info.jobs[state] += from.integer(first + 1);
    if (state == job_state::available) info.oldest_available = duration_of(from, first + 2);
}

}  // namespace

std::int64_t sql_job_queue_store::kept_for(microseconds retention) {
    return retention > microseconds{0} ? retention.count() : -1;
}

queue_look sql_job_queue_store::look_in(const row& from, std::size_t first) {
    queue_look seen;
    seen.has_available = from.integer(first) != 0;
    seen.next_due_in = unless_never(duration_or_nothing(from, first + 1));
    seen.next_fire_in = duration_or_nothing(from, first + 2);
    const std::size_t maintained = first + 3, row_of_queue = first + 7;
    seen.some_are_needed = from.integer(first + 4) != 0;
    seen.some_wait = from.integer(first + 5) != 0;
    seen.some_are_blocked = from.integer(first + 6) != 0;
    // A negative age, after the clock was set back, is no reason to wait.
    if (number_or(from, maintained, -1) >= 0) seen.maintained_ago = duration_of(from, maintained);
    if (from.is_null(row_of_queue)) return seen;
    seen.is_paused = from.integer(row_of_queue) != 0;
    seen.limits = limits_in(from, row_of_queue + 1);
    return seen;
}

// ------------------------------------------------------------------------------ for all workers

bool sql_job_queue_store::begin_maintenance(
    connection& on, std::string_view queue, microseconds every
) {
    return has_found(write(on, "begin_maintenance", {std::string{queue}, value_of(every)}));
}

std::map<std::string, std::int64_t> sql_job_queue_store::count_available(
    connection& on, std::string_view queue, const std::optional<std::string>& kind, int max_rows
) {
    std::map<std::string, std::int64_t> counts;
    const parameters values{
        std::string{queue}, kind.has_value() ? 1 : 0, kind.value_or(std::string{}), max_rows};
    for (const row& each : read(on, "count_available", values).rows) {
        counts.emplace(each.bytes(0), each.integer(1));
    }
    return counts;
}

std::int64_t sql_job_queue_store::prune(connection& on, int max_rows, std::size_t kept_back) {
    return write(on, "prune", {max_rows, kept_back}).affected_rows;
}

// ----------------------------------------------------------------------------------- managing

retry_outcome sql_job_queue_store::retry(connection& on, job_id id) {
    // If another caller changes the job between two of these, try again: that caller has made
    // progress.
    constexpr int max_looks = 10;
    for (int look = 0; look < max_looks; ++look) {
        if (has_found(write(on, "hurry", {id}))) return retry_outcome::available;
        if (has_found(write(on, "redrive", {id}))) return retry_outcome::redriven;
        const result found = read(on, "state_of", {id});
        if (found.rows.empty()) return retry_outcome::not_found;
        switch (static_cast<job_state>(found.rows[0].integer(0))) {
            case job_state::running:
                return retry_outcome::running;
            case job_state::available:
            case job_state::blocked:
                return retry_outcome::available;
            case job_state::completed:
            case job_state::discarded:
            case job_state::cancelled:
                if (look > 0) return retry_outcome::duplicate;
                break;
            case job_state::scheduled:
            case job_state::retryable:
                break;
        }
    }
    throw error(
        errc::transient, "job " + std::to_string(id) + " changes all the time; retry it again"
    );
}

std::optional<job_info> sql_job_queue_store::describe(connection& on, job_id id) {
    const parameters values{id, "", 0, 1};
    const result found = read(on, "list", values);
    if (found.rows.empty()) return std::nullopt;
    job_info info = info_in(found.rows[0]);
    if (info.id != id) return std::nullopt;
    return info;
}

std::vector<job_info> sql_job_queue_store::list(connection& on, const job_filter& filter) {
    const job_id first = filter.after ? *filter.after + 1 : 1;
    const int state = filter.state ? static_cast<int>(*filter.state) : 0;
    std::vector<job_info> found;
    const parameters values{first, filter.queue, state, filter.limit};
    for (const row& each : read(on, "list", values).rows) found.push_back(info_in(each));
    return found;
}

std::optional<job_queue_store::queue_row> sql_job_queue_store::find_queue(
    connection& on, std::string_view name
) {
    const result found = read(on, "find_queue", {std::string{name}});
    if (found.rows.empty()) return std::nullopt;
    const row& from = found.rows[0];
    return queue_row{from.integer(0) != 0, limits_in(from, 1)};
}

void sql_job_queue_store::set_limits(
    connection& on, std::string_view name, const queue_limits& limits
) {
    const auto number = [](const std::optional<int>& given) {
        return given ? value{*given} : value{};
    };
    const parameters values{
        std::string{name},
        number(limits.max_running),
        limits.max_running_per_key,
        number(limits.max_starts),
        value_of(microseconds{limits.starts_per}),
        value_of(microseconds{limits.keep_completed}),
        value_of(microseconds{limits.keep_discarded}),
        value_of(microseconds{limits.keep_cancelled})};
    write(on, "set_limits", values);
}

void sql_job_queue_store::set_paused(connection& on, std::string_view name, bool is_paused) {
    write(on, "set_paused", {std::string{name}, is_paused ? 1 : 0});
}

std::vector<std::string> sql_job_queue_store::queue_names(connection& on) {
    std::vector<std::string> names;
    for (const row& each : read(on, "queue_names").rows) names.push_back(each.bytes(0));
    return names;
}

queue_info sql_job_queue_store::describe_queue(connection& on, std::string_view name) {
    queue_info info;
    info.name = name;
    if (const auto found = find_queue(on, name)) {
        info.is_paused = found->is_paused;
        info.limits = found->limits;
    }
    for (const row& each : read(on, "count_jobs", {std::string{name}}).rows) {
        add_count(info, each, 0);
    }
    return info;
}

std::vector<queue_info> sql_job_queue_store::describe_queues(connection& on) {
    std::vector<queue_info> all;
    std::map<std::string, std::size_t, std::less<>> places;
    for (std::string& each : queue_names(on)) {
        places.emplace(each, all.size());
        all.emplace_back().name = std::move(each);
    }
    // Leaves a queue that was created since to the next call.
    const auto each_of = [&](const char* question, auto&& use) {
        for (const row& found : read(on, question).rows) {
            const auto place = places.find(found.bytes(0));
            if (place != places.end()) use(all[place->second], found);
        }
    };
    each_of("queue_rows", [](queue_info& info, const row& from) {
        info.is_paused = from.integer(1) != 0;
        info.limits = limits_in(from, 2);
    });
    each_of("count_all_jobs", [](queue_info& info, const row& from) { add_count(info, from, 1); });
    return all;
}

}  // namespace leasehold
