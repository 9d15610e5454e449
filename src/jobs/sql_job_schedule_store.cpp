#include "jobs/sql_job_schedule_store.hpp"

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

schedule::instant instant_in(const row& from, std::size_t column) {
    return schedule::instant{microseconds{from.integer(column)}};
}

value value_of_instant(schedule::instant when) {
    return when.time_since_epoch().count();
}

// A column of a schedule stands behind the time.
struct schedule_column : columns::job_schedule::schedule_columns {
    static constexpr std::size_t first = columns::job_schedule::due::schedule_columns;
};

// Reads the job that is enqueued.
new_job job_in(const row& from) {
    using column = schedule_column;
    new_job job;
    const auto length = [&](std::size_t place, milliseconds usual) {
        const microseconds found{number_or(from, place, microseconds{usual}.count())};
        return duration_cast<milliseconds>(found);
    };
    const auto number = [&](std::size_t place, int usual) {
        return static_cast<int>(number_or(from, place, usual));
    };
    constexpr std::size_t first = column::first, limit = first + column::time_limit;
    job.kind = from.bytes(first + column::kind);
    job.priority = static_cast<int>(from.integer(first + column::priority));
    job.retry.max_attempts = number(first + column::attempts_max, job.retry.max_attempts);
    job.max_rescues = number(first + column::rescues_max, job.max_rescues);
    job.retry.delay = length(first + column::retry_delay, job.retry.delay);
    job.retry.max_delay = length(first + column::retry_delay_max, job.retry.max_delay);
    if (!from.is_null(limit)) job.attempt_timeout = length(limit, {});
    job.unique =
        static_cast<unique_until>(number(first + column::unique_until, static_cast<int>(job.unique))
        );
    job.conflict = static_cast<on_conflict>(from.integer(first + column::unique_conflict));
    job.unique_key = text_or_empty(from, first + column::unique_key);
    job.ordering_key = text_or_empty(from, first + column::ordering_key);
    job.payload = from.bytes(first + column::payload);
    return job;
}

job_schedule_row row_in(const row& from) {
    using column = schedule_column;
    constexpr std::size_t first = column::first;
    constexpr std::size_t last = first + column::last_at, last_job = first + column::last_job;
    job_schedule_row one;
    one.what.name = from.bytes(first + column::name);
    one.what.queue = from.bytes(first + column::queue);
    one.is_paused = from.integer(first + column::is_paused) != 0;
    one.version = from.integer(first + column::version);
    one.what.cron = text_or_empty(from, first + column::cron);
    one.what.zone = from.bytes(first + column::zone);
    one.what.every = duration_or_nothing(from, first + column::period);
    one.what.misfire = static_cast<misfire_policy>(from.integer(first + column::misfire));
    one.what.max_catch_up = static_cast<int>(from.integer(first + column::catch_up_max));
    one.what.max_late =
        duration_cast<seconds>(microseconds{from.integer(first + column::late_max)});
    one.next = instant_in(from, first + column::next_at);
    if (!from.is_null(last)) one.last = instant_in(from, last);
    if (!from.is_null(last_job)) one.last_job = from.integer(last_job);
    one.what.job = job_in(from);
    return one;
}

parameters values_of(const job_schedule_row& row) {
    const job_schedule& what = row.what;
    const new_job& job = what.job;
    const parameters first{
        what.name,
        what.queue,
        row.is_paused ? 1 : 0,
        row.version,
        text_or_null(what.cron),
        what.zone,
        value_of(what.every),
        static_cast<int>(what.misfire),
        what.max_catch_up,
        value_of(microseconds{what.max_late}),
        value_of_instant(row.next),
        row.last ? value_of_instant(*row.last) : value{},
        row.last_job ? value{*row.last_job} : value{},
        job.kind,
        job.priority};
    const parameters last{
        static_cast<int>(job.conflict),
        text_or_null(job.unique_key),
        text_or_null(job.ordering_key),
        job.payload};
    return joined(joined(first, values_unless_usual(job)), last);
}

job_schedule_look look_in(const result& found) {
    using columns::job_schedule::due;
    job_schedule_look seen;
    for (const row& each : found.rows) {
        seen.now = instant_in(each, due::now);
        if (!each.is_null(due::schedule_columns)) seen.rows.push_back(row_in(each));
    }
    return seen;
}

}  // namespace

job_schedule_look sql_job_schedule_store::due(
    connection& on, std::string_view queue, const job_schedule_place& behind
) {
    const parameters values{
        std::string{queue}, max_rows, value_of_instant(behind.next), behind.name};
    return look_in(read(on, "due", values));
}

std::optional<microseconds> sql_job_schedule_store::next_in(
    connection& on, std::string_view queue, schedule::instant behind
) {
    const result found = read(on, "next_in", {std::string{queue}, value_of_instant(behind)});
    if (found.rows.empty()) return std::nullopt;
    return duration_of(found.rows[0], only_column);
}

bool sql_job_schedule_store::advance(connection& in, const job_schedule_row& to) {
    if (const statement* const lock = texts_.find("lock_unlocked")) {
        if (how_->inside(in, *lock, {to.what.name, to.version}).rows.empty()) return false;
    }
    const parameters values{
        to.what.name,
        to.version,
        value_of_instant(to.next),
        to.last ? value_of_instant(*to.last) : value{}};
    return inside(in, "advance", values).affected_rows == 1;
}

void sql_job_schedule_store::note_job(connection& in, std::string_view name, job_id id) {
    inside(in, "note_job", {std::string{name}, id});
}

job_schedule_look sql_job_schedule_store::find(connection& on, std::string_view name) {
    return look_in(read(on, "find", {std::string{name}}));
}

job_schedule_look sql_job_schedule_store::list(connection& on, std::string_view after) {
    return look_in(read(on, "list", {std::string{after}, max_rows}));
}

bool sql_job_schedule_store::put(connection& on, const job_schedule_row& row) {
    if (row.version != 0) return has_found(write(on, "change", values_of(row)));
    try {
        return has_found(write(on, "insert", values_of(row)));
    } catch (const error& failure) {
        if (failure.code() != errc::constraint) throw;
        return false;
    }
}

bool sql_job_schedule_store::remove(connection& on, std::string_view name) {
    return has_found(write(on, "remove", {std::string{name}}));
}

}  // namespace leasehold
