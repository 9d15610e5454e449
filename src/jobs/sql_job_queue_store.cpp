#include "jobs/sql_job_queue_store.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "jobs/sql_job_failures.hpp"
#include "leasehold/error.hpp"

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

job_info info_in(const row& from) {
    using column = columns::job_queue::info_of_job;
    job_info info;
    info.id = from.integer(column::id);
    info.queue = from.bytes(column::queue);
    info.kind = from.bytes(column::kind);
    info.state = static_cast<job_state>(from.integer(column::state));
    info.priority = static_cast<int>(from.integer(column::priority));
    info.attempts = static_cast<int>(from.integer(column::attempts));
    info.max_attempts = static_cast<int>(from.integer(column::attempts_max));
    info.rescues = static_cast<int>(from.integer(column::rescues));
    info.token = {from.integer(column::token)};
    info.payload = from.bytes(column::payload);
    info.unique_key = text_or_empty(from, column::unique_key);
    info.ordering_key = text_or_empty(from, column::ordering_key);
    info.node_info = text_or_empty(from, column::node_info);
    info.progress = text_or_empty(from, column::progress);
    info.error = text_or_empty(from, column::error);
    info.enqueued_ago = duration_of(from, column::enqueued_ago);
    info.due_in = duration_of(from, column::due_in);
    if (!unless_never(info.due_in)) {
        info.state = job_state::blocked;
        info.due_in = microseconds{0};
    }
    if (info.state == job_state::running) {
        info.running_for = duration_of(from, column::running_for);
    }
    info.is_cancel_requested = number_or(from, column::is_cancel_requested, 0) != 0;
    info.ended_ago = duration_or_nothing(from, column::ended_ago);
    info.result = text_or_empty(from, column::result);
    return info;
}

job_queue_store::queue_row queue_in(const row& from, std::size_t first) {
    using column = columns::job_queue::queue_columns;
    const auto number = [&](std::size_t place) { return from.integer(first + place); };
    const auto most = [&](std::size_t place) {
        const bool is_null = from.is_null(first + place);
        return is_null ? std::nullopt : std::optional{static_cast<int>(number(place))};
    };
    const auto kept = [&](std::size_t place) {
        return duration_cast<seconds>(microseconds{number(place)});
    };
    queue_limits limits;
    limits.max_running = most(column::running_max);
    limits.max_running_per_key = static_cast<int>(number(column::running_per_key_max));
    limits.max_starts = most(column::starts_max);
    limits.starts_per = duration_cast<milliseconds>(microseconds{number(column::starts_per)});
    limits.keep_completed = kept(column::keep_completed);
    limits.keep_discarded = kept(column::keep_discarded);
    limits.keep_cancelled = kept(column::keep_cancelled);
    return {number(column::is_paused) != 0, limits};
}

void add_count(queue_info& info, const row& from, std::size_t first) {
    using column = columns::job_queue::count_jobs;
    const auto state = static_cast<job_state>(from.integer(first + column::state));
    info.jobs[state] += from.integer(first + column::jobs);
    if (state != job_state::available) return;
    info.oldest_available = duration_of(from, first + column::oldest_ago);
}

}  // namespace

queue_look sql_job_queue_store::look_in(const row& from, std::size_t first) {
    using column = columns::job_queue::queue_look;
    queue_look seen;
    seen.has_available = from.integer(first + column::has_available) != 0;
    seen.next_due_in = unless_never(duration_or_nothing(from, first + column::next_due_in));
    seen.next_fire_in = duration_or_nothing(from, first + column::next_fire_in);
    const std::size_t maintained = first + column::maintained_ago;
    const std::size_t row_of_queue = first + column::queue_columns;
    seen.some_are_needed = from.integer(first + column::some_are_needed) != 0;
    seen.some_wait = from.integer(first + column::some_wait) != 0;
    seen.some_are_blocked = from.integer(first + column::some_are_blocked) != 0;
    // A negative age, after the clock was set back, is no reason to wait.
    if (number_or(from, maintained, -1) >= 0) seen.maintained_ago = duration_of(from, maintained);
    if (from.is_null(row_of_queue)) return seen;
    const auto [is_paused, limits] = queue_in(from, row_of_queue);
    seen.is_paused = is_paused;
    seen.limits = limits;
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
    using column = columns::job_queue::count_available;
    std::map<std::string, std::int64_t> counts;
    const parameters values{
        std::string{queue}, kind.has_value() ? 1 : 0, kind.value_or(std::string{}), max_rows};
    for (const row& each : read(on, "count_available", values).rows) {
        counts.emplace(each.bytes(column::kind), each.integer(column::jobs));
    }
    return counts;
}

std::int64_t sql_job_queue_store::prune(connection& on, int max_rows, std::size_t kept_back) {
    return write(on, "prune", {max_rows, kept_back}).affected_rows;
}

// ----------------------------------------------------------------------------------- managing

std::optional<job_state> sql_job_queue_store::state_of(connection& on, job_id id) const {
    const auto found = only_integer_if_any(read(on, "state_of", {id}));
    return found ? std::optional{static_cast<job_state>(*found)} : std::nullopt;
}

void sql_job_queue_store::give_up_on(job_id id, const char* what_to_repeat) {
    throw error(
        errc::transient,
        "job " + std::to_string(id) + " changes all the time; " + what_to_repeat + " it again"
    );
}

retry_outcome sql_job_queue_store::retry(connection& on, job_id id) {
    // If another caller changes the job between two of these, try again: that caller has made
    // progress.
    constexpr int max_looks = 10;
    for (int look = 0; look < max_looks; ++look) {
        if (has_found(write(on, "hurry", {id}))) return retry_outcome::available;
        if (has_found(write(on, "redrive", {id}))) return retry_outcome::redriven;
        const auto state = state_of(on, id);
        if (!state) return retry_outcome::not_found;
        switch (*state) {
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
    give_up_on(id, "retry");
}

job_change_outcome sql_job_queue_store::change(connection& on, job_id id, const job_changes& what) {
    const auto or_null = [](const auto& given) { return given ? value{*given} : value{}; };
    const bool has_time = what.run_at || what.delay;
    const bool changes_time = has_time && what.delay != milliseconds{0};
    const std::int64_t run_at = what.run_at ? what.run_at->time_since_epoch().count() : 0;
    const parameters values{
        id,
        or_null(what.kind),
        or_null(what.payload),
        or_null(what.priority),
        int{has_time} + int{changes_time},
        run_at,
        value_of(microseconds{what.delay.value_or(milliseconds{0})})};
    constexpr int max_looks = 10;
    for (int look = 0; look < max_looks; ++look) {
        if (has_found(write(on, "change", values))) return job_change_outcome::changed;
        const auto state = state_of(on, id);
        if (!state) return job_change_outcome::not_found;
        if (state == job_state::running) return job_change_outcome::running;
        if (state >= job_state::completed) return job_change_outcome::ended;
        // It may have gone back to the queue since the statement looked.
        if (has_time && look > 0) return job_change_outcome::waits;
    }
    give_up_on(id, "change");
}

delete_outcome sql_job_queue_store::remove(connection& on, job_id id) {
    // MySQL counts the row that SELECT … INTO reads as affected.
    if (!write(on, "remove", {id}).rows.empty()) return delete_outcome::deleted;
    const auto state = state_of(on, id);
    if (!state) return delete_outcome::not_found;
    return *state >= job_state::completed ? delete_outcome::needed : delete_outcome::not_ended;
}

std::optional<job_info> sql_job_queue_store::describe(connection& on, job_id id) {
    const auto found = read(on, "describe", {id}).rows;
    if (found.empty()) return std::nullopt;
    using column = columns::job_queue::describe;
    job_info info = info_in(found.front());
    info.traceparent = text_or_empty(found.front(), column::traceparent);
    info.checkpoint = text_or_empty(found.front(), column::checkpoint);
    info.failures = failures_in(text_or_empty(found.front(), column::failures));
    // A program without migration 22 leaves those of the job that it replaced.
    std::erase_if(info.failures, [&](const job_failure& each) {
        return info.enqueued_ago > microseconds{0} && each.ended_ago > info.enqueued_ago;
    });
    return info;
}

std::vector<job_info> sql_job_queue_store::list(
    connection& on, const job_filter& filter, const id_range& among
) {
    const parameters values{
        among.first,
        among.last,
        filter.queue,
        filter.state ? static_cast<int>(*filter.state) : 0,
        filter.limit,
        filter.kind,
        filter.ordering_key,
        filter.error_text,
        filter.since ? value_of(*filter.since) : value{}};
    const bool is_oldest = filter.order == job_order::oldest_first;
    std::vector<job_info> found;
    for (const row& each : read(on, is_oldest ? "list" : "list_newest", values).rows) {
        found.push_back(info_in(each));
    }
    return found;
}

job_queue_store::id_range sql_job_queue_store::part_of(
    connection& on, const id_range& among, job_order order, int jobs
) {
    const bool is_oldest = order == job_order::oldest_first;
    const parameters values{among.first, among.last, jobs - 1};
    const row nth = read(on, is_oldest ? "nth_job" : "nth_job_newest", values).rows.at(0);
    if (nth.is_null(only_column)) return among;
    const job_id end = nth.integer(only_column);
    return is_oldest ? id_range{among.first, end} : id_range{end, among.last};
}

std::optional<job_queue_store::queue_row> sql_job_queue_store::find_queue(
    connection& on, std::string_view name
) {
    const result found = read(on, "find_queue", {std::string{name}});
    if (found.rows.empty()) return std::nullopt;
    return queue_in(found.rows[0], columns::job_queue::find_queue::queue_columns);
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
    return only_texts(read(on, "queue_names"));
}

queue_info sql_job_queue_store::describe_queue(connection& on, std::string_view name) {
    queue_info info;
    info.name = name;
    if (const auto found = find_queue(on, name)) {
        info.is_paused = found->is_paused;
        info.limits = found->limits;
    }
    for (const row& each : read(on, "count_jobs", {std::string{name}}).rows) {
        add_count(info, each, columns::job_queue::count_jobs::state);
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
    const auto each_of = [&](const char* question, std::size_t name, auto&& use) {
        for (const row& found : read(on, question).rows) {
            const auto place = places.find(found.bytes(name));
            if (place != places.end()) use(all[place->second], found);
        }
    };
    using columns::job_queue::queue_rows, columns::job_queue::count_all_jobs;
    each_of("queue_rows", queue_rows::name, [](queue_info& info, const row& from) {
        const auto [is_paused, limits] = queue_in(from, queue_rows::queue_columns);
        info.is_paused = is_paused;
        info.limits = limits;
    });
    each_of("count_all_jobs", count_all_jobs::queue, [](queue_info& info, const row& from) {
        add_count(info, from, count_all_jobs::count_jobs);
    });
    return all;
}

}  // namespace leasehold
