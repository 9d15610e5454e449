#include "jobs/sql_job_store.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/traceparent.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

std::string taken_message(std::string_view queue, const new_job& what) {
    return "a job with the unique key '" + what.unique_key + "' is in queue '" +
           std::string{queue} + "' already: nothing was enqueued";
}

}  // namespace

// ---------------------------------------------------------------------------------- enqueuing

std::vector<enqueued_job> sql_job_store::enqueue(
    connection& on, std::string_view queue, const std::vector<new_job>& what
) {
    std::vector<enqueued_job> made;
    made.reserve(what.size());
    for (std::size_t first = 0; first < what.size();) {
        // Two jobs of one key in a statement would conflict with a row that does not exist yet.
        std::set<std::string_view> keys;
        std::size_t end = first;
        while (end < what.size() &&
               (what[end].unique_key.empty() || keys.insert(what[end].unique_key).second)) {
            ++end;
        }
        const std::span part{what.data() + first, end - first};
        const auto ids = insert(on, queue, part);
        for (std::size_t at = 0; at < part.size(); ++at) {
            if (ids[at]) {
                made.push_back({*ids[at], true});
                continue;
            }
            enqueued_job one{0, false};
            // If the job that had the key has ended, a look finds no job: then this inserts again.
            constexpr int max_looks = 10;
            for (int look = 0; one.id == 0; ++look) {
                if (look == max_looks) {
                    throw error(errc::transient, taken_message(queue, part[at]) + "; repeat it");
                }
                if (const auto other = settle_conflict(on, queue, part[at])) {
                    one = *other;
                } else if (const auto again = insert(on, queue, part.subspan(at, 1)).front()) {
                    one = {*again, true};
                }
            }
            made.push_back(one);
        }
        first = end;
    }
    return made;
}

// The job that has the unique key; nullopt if no job has it any more, or its run has ended.
std::optional<enqueued_job> sql_job_store::settle_conflict(
    connection& on, std::string_view queue, const new_job& what
) {
    const std::string name{queue};
    bool is_replaced = false;
    if (what.conflict == on_conflict::replace) {
        parameters values = joined(
            {name,
             what.unique_key,
             what.kind,
             what.payload,
             what.priority,
             run_at_of(what),
             value_of(microseconds{what.delay})},
            values_of_like(what)
        );
        values.emplace_back(static_cast<int>(what.unique));
        is_replaced = replace(on, values);
    }
    auto found = find_unique(on, name, what.unique_key);
    if (found && what.conflict == on_conflict::fail) {
        throw error(errc::constraint, taken_message(queue, what));
    }
    if (found && is_replaced) {
        found->is_running = false;  // it started since, with the new values
    } else if (found && what.conflict == on_conflict::replace && !found->is_running) {
        return std::nullopt;
    }
    return found;
}

std::optional<enqueued_job> sql_job_store::find_unique(
    connection& on, const std::string& queue, const std::string& unique_key
) {
    return not_new_in(inside(on, "find_unique", {queue, unique_key}));
}

std::optional<enqueued_job> sql_job_store::not_new_in(const result& found) {
    using column = columns::job::find_unique;
    if (found.rows.empty()) return std::nullopt;
    const row& one = found.rows.front();
    return enqueued_job{one.integer(column::id), false, one.integer(column::is_running) != 0};
}

std::int64_t sql_job_store::run_at_of(const new_job& what) {
    if (!what.run_at) return -1;
    return std::max(std::int64_t{0}, what.run_at->time_since_epoch().count());
}

bool sql_job_store::are_plain(std::span<const new_job> what) {
    const new_job& first = what.front();
    return std::ranges::all_of(what, [&](const new_job& each) {
        return each.unique_key.empty() && each.ordering_key.empty() && !each.run_at &&
               each.delay.count() == 0 && each.unique == unique_until::ended &&
               each.retry.max_attempts == first.retry.max_attempts &&
               each.retry.delay == first.retry.delay &&
               each.retry.max_delay == first.retry.max_delay &&
               each.attempt_timeout == first.attempt_timeout &&
               each.max_rescues == first.max_rescues && each.traceparent == first.traceparent;
    });
}

parameters sql_job_store::values_of_like(const new_job& each) {
    return {
        each.retry.max_attempts,
        each.max_rescues,
        value_of(microseconds{each.retry.delay}),
        value_of(microseconds{each.retry.max_delay}),
        each.attempt_timeout ? value_of(microseconds{*each.attempt_timeout}) : value{-1},
        each.traceparent};
}

parameters sql_job_store::values_of(value first, const new_job& each) {
    return {
        std::move(first),
        each.kind,
        each.payload,
        each.priority,
        run_at_of(each),
        value_of(microseconds{each.delay}),
        each.unique_key,
        static_cast<int>(each.unique),
        each.ordering_key,
        each.retry.max_attempts,
        value_of(microseconds{each.retry.delay}),
        value_of(microseconds{each.retry.max_delay}),
        each.attempt_timeout ? value_of(microseconds{*each.attempt_timeout}) : value{-1},
        each.max_rescues,
        each.traceparent};
}

// ------------------------------------------------------------------------------ a worker's own

std::vector<claim_standing> sql_job_store::standings_in(
    const result& answer, const std::vector<job_claim>& held
) {
    using column = columns::job::standings;
    std::map<std::pair<job_id, std::int64_t>, bool> found;
    for (const row& each : answer.rows) {
        const std::pair claim{each.integer(column::id), each.integer(column::token)};
        found[claim] = each.integer(column::is_cancel_requested) != 0;
    }
    std::vector<claim_standing> all(held.size(), claim_standing::gone);
    for (std::size_t at = 0; at < held.size(); ++at) {
        const auto one = found.find({held[at].id, held[at].token.number});
        if (one == found.end()) continue;
        all[at] = one->second ? claim_standing::cancel_requested : claim_standing::held;
    }
    return all;
}

claimed_job sql_job_store::claimed_in(const row& from, std::size_t first) {
    using column = columns::job::claimed_columns;
    const auto number = [&](std::size_t place, std::int64_t otherwise) {
        return number_or(from, first + place, otherwise);
    };
    const auto milliseconds_in = [&](std::size_t place, milliseconds otherwise) {
        const microseconds found{number(place, microseconds{otherwise}.count())};
        return duration_cast<milliseconds>(found);
    };
    const std::int64_t rescues = from.integer(first + column::rescues);
    claimed_job job;
    job.id = from.integer(first + column::id);
    job.token = {from.integer(first + column::token)};
    job.kind = from.bytes(first + column::kind);
    job.payload = from.bytes(first + column::payload);
    job.attempts = static_cast<int>(from.integer(first + column::attempts));
    job.rescues = static_cast<int>(rescues);
    job.ordering_key = text_or_empty(from, first + column::ordering_key);
    job.retry.max_attempts = static_cast<int>(number(column::attempts_max, job.retry.max_attempts));
    job.retry.delay = milliseconds_in(column::retry_delay, job.retry.delay);
    job.retry.max_delay = milliseconds_in(column::retry_delay_max, job.retry.max_delay);
    job.attempt_timeout = duration_or_nothing(from, first + column::time_limit);
    job.waited = duration_or_nothing(from, first + column::waited);
    if (job.waited) job.waited = std::max(*job.waited, microseconds{0});  // a clock was set back
    job.traceparent = text_or_empty(from, first + column::traceparent);
    if (!is_traceparent(job.traceparent)) job.traceparent.clear();  // written by hand
    job.checkpoint = text_or_empty(from, first + column::checkpoint);
    job.may_not_be_rescued = rescues + 1 >= number(column::rescues_max, new_job{}.max_rescues);
    return job;
}

std::int64_t sql_job_store::kept_after(const job_end& end, const job_retention& kept) {
    switch (end.becomes) {
        case job_state::completed:
            return kept_for(end.words.empty() ? kept.completed : kept.with_result);
        case job_state::cancelled:
            return kept_for(kept.cancelled);
        default:
            return kept_for(kept.discarded);
    }
}

bool sql_job_store::leaves_nothing(const job_end& end, const job_retention& kept) {
    return end.becomes == job_state::completed && kept_after(end, kept) < 0;
}

sql_job_store::ended_jobs sql_job_store::completed_in(std::string_view list) {
    ended_jobs done;
    for (const job_id each : ids_in(list)) done.emplace(each, job_state::completed);
    return done;
}

job_store::end_states sql_job_store::states_of(
    const ended_jobs& done, const std::vector<job_end>& ends
) {
    end_states all(ends.size());
    for (std::size_t at = 0; at < ends.size(); ++at) {
        const auto found = done.find(ends[at].id);
        if (found != done.end()) all[at] = found->second;
    }
    return all;
}

std::vector<claimed_job> sql_job_store::find_claims(
    connection& on, std::string_view queue, const session_id& whose
) {
    std::vector<claimed_job> found;
    const parameters values{std::string{queue}, value_of(whose)};
    for (const row& each : read(on, "find_claims", values).rows) {
        try {
            found.push_back(claimed_in(each, columns::job::find_claims::claimed_columns));
        } catch (const error& failure) {
            // Somebody has changed the row by hand. The job is running until this session has
            // ended; the claim that follows its rescue sets it aside.
            if (failure.code() != errc::database_error) throw;
        }
    }
    return found;
}

bool sql_job_store::save_checkpoint(
    connection& on, const session_id& whose, const job_claim& which, const std::string& state
) {
    const parameters values{value_of(whose), which.id, which.token.number, state};
    const bool is_inside = on.state() == connection_state::in_transaction;
    return has_found(
        is_inside ? inside(on, "save_checkpoint", values) : write(on, "save_checkpoint", values)
    );
}

bool sql_job_store::note_progress(
    connection& on,
    const session_id& whose,
    job_id id,
    fencing_token token,
    const std::string& words
) {
    const parameters values{value_of(whose), id, token.number, words};
    return has_found(write(on, "note_progress", values));
}

}  // namespace leasehold
