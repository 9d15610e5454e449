#include "jobs/job_completer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "database/taking_part.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::seconds;

// The least time that an ended job is kept: when jobs that wait for it must learn how it ended, and
// when it has a result.
constexpr seconds needed_kept_min = std::chrono::hours{24}, result_kept_min = needed_kept_min;

}  // namespace

job_retention job_retention_of(const queue_limits& limits) {
    return {
        limits.keep_completed,
        std::max(limits.keep_completed, result_kept_min),
        limits.keep_discarded,
        limits.keep_cancelled};
}

std::optional<job_retention> job_completer::known_kept(const std::string& queue) const {
    const thread_guard guard{mutex_};
    const auto found = kept_.find(queue);
    if (found == kept_.end()) return std::nullopt;
    return found->second;
}

// Reads the retention before the first look, or a queue that keeps its jobs would lose those of a
// worker that has just begun.
job_retention job_completer::kept_of(connection& on, store_set& stores, const std::string& queue) {
    if (const auto known = known_kept(queue)) return *known;
    const auto row = stores.get<job_queue_store>().find_queue(on, queue);
    const thread_guard guard{mutex_};
    return kept_.try_emplace(queue, job_retention_of(row ? row->limits : queue_limits{}))
        .first->second;
}

void job_completer::note_kept(const std::string& queue, const job_retention& kept) {
    const thread_guard guard{mutex_};
    kept_[queue] = kept;
}

// The retention of the queue; longer if it is too short for jobs that wait for these.
job_retention job_completer::kept_for(const std::string& queue, const std::vector<job_end>& ends) {
    const auto known = known_kept(queue);
    if (ends.empty()) return known.value_or(job_retention{});
    if (known && std::min(known->discarded, known->cancelled) >= needed_kept_min) return *known;
    job_retention kept;
    queues_.use([&](connection& on, store_set& stores) {
        kept = kept_of(on, stores, queue);
        for (const job_end& each : ends) {
            if (each.becomes == job_state::completed ||
                !stores.get<job_need_store>().is_needed(on, each.id)) {
                continue;
            }
            kept.discarded = std::max<std::chrono::microseconds>(kept.discarded, needed_kept_min);
            kept.cancelled = std::max<std::chrono::microseconds>(kept.cancelled, needed_kept_min);
            return;
        }
    });
    return kept;
}

job_completer::parcel job_completer::exchange(
    std::vector<ended_job>& ends, std::size_t wanted, bool claims_next
) {
    queues_.session->require_live();
    worker_queue* const from = wanted > 0 ? fetcher_.next_promising() : nullptr;
    parcel back;
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t at = 0; at < ends.size(); ++at) {
        if (!ends[at].is_answered) places[ends[at].queue].push_back(at);
    }
    const std::vector<std::size_t> own = from ? places[from->name] : std::vector<std::size_t>{};
    if (from) places.erase(from->name);
    // The claim is sent last, so that the failure of an earlier statement does not lose claimed
    // jobs.
    for (const auto& [queue, at] : places) send(ends, at, queues_.of(queue), 0, back);
    if (from) {
        back.queue = from->name;
        send(ends, own, *from, wanted, back);
    }
    free_behind(ends, back, from, claims_next);
    remember(ends);
    if (is_unsettled()) settle();
    return back;
}

void job_completer::send(
    std::vector<ended_job>& ends,
    const std::vector<std::size_t>& places,
    worker_queue& queue,
    std::size_t wanted,
    parcel& back
) {
    std::vector<job_end> own;
    own.reserve(places.size());
    for (const std::size_t at : places) own.push_back(ends[at].end);
    const claim_request request = fetcher_.request(queue, wanted);
    const job_retention kept = kept_for(queue.name, own);
    job_store::finished_and_claimed both;
    bool is_sent = false;
    try {
        queues_.use([&](connection& on, store_set& stores) {
            is_sent = true;
            if (wanted == 0) {
                both.finished =
                    stores.get<job_store>().finish(on, queues_.session->id(), own, kept);
            } else if (own.empty()) {
                both.claimed = stores.get<job_store>().claim(on, request);
            } else {
                both = stores.get<job_store>().finish_and_claim(
                    on, queues_.session->id(), own, kept, request
                );
            }
        });
    } catch (const error&) {
        if (wanted > 0) fetcher_.note_in_doubt(queue);
        for (const std::size_t at : places) ends[at].was_sent |= is_sent;
        throw;
    }
    for (std::size_t at = 0; at < places.size(); ++at) {
        ends[places[at]].is_answered = true;
        ends[places[at]].became = both.finished[at];
    }
    if (wanted > 0) {
        back.jobs = std::move(both.claimed.jobs);
        back.was_refused = both.claimed.session_has_ended;
        back.look_by = fetcher_.note_claims(queue, request, back.jobs);
    }
    resolve(ends, places);
}

// The state of a job whose end finds no claim, but which may have ended before: the end was sent
// without an answer, or complete_in() was committed. If the session still lives, one of the two was
// carried out: only an end takes a claim from a live session. The job's row has the state; if the
// row is gone, or belongs to another claim, the end tells it.
// nullopt if the session may have ended first, or if the row is gone and the end would have left
// one: the job was completed, or cancelled, as this worker did not hear, or ended elsewhere later.
std::optional<job_state> job_completer::state_behind(const ended_job& one) {
    if (one.is_in_transaction && !one.was_sent && queues_.session->is_live()) {
        return job_state::completed;
    }
    const auto found = queues_.use([&](connection& on, store_set& stores) {
        return stores.get<job_queue_store>().describe(on, one.end.id);
    });
    const bool goes_on = one.presumed == job_state::available ||
                         one.presumed == job_state::scheduled ||
                         one.presumed == job_state::retryable;
    const auto kept = known_kept(one.queue);
    const bool stays = one.presumed == job_state::discarded &&
                       (one.is_in_transaction || !kept || kept->discarded > kept->discarded.zero());
    if (!found && (goes_on || stays)) return std::nullopt;
    if (!found || found->token != one.end.token) {
        return queues_.session->is_live() ? std::optional{one.presumed} : std::nullopt;
    }
    // A rescue and a retry by hand leave the token: this end may not have been carried out.
    const bool is_other = found->rescues != one.rescues || found->state == job_state::running ||
                          (one.presumed == job_state::retryable && found->attempts != one.attempt);
    const bool is_as_expected =
        found->state == job_state::cancelled ||
        (one.is_in_transaction && found->state == job_state::completed) ||
        (goes_on ? found->state < job_state::completed : found->state == one.presumed);
    return is_as_expected && !is_other ? std::optional{found->state} : std::nullopt;
}

// Repeats a request that fails. An outage leaves ends unknown, but loses none of the jobs that were
// claimed with them.
void job_completer::resolve(
    std::vector<ended_job>& ends, const std::vector<std::size_t>& places
) noexcept {
    constexpr int max_failures = 3;
    int failures = 0;  // in a row
    for (auto at = places.begin(); at != places.end();) {
        ended_job& each = ends[*at];
        const bool is_open = !each.became && (each.was_sent || each.is_in_transaction);
        try {
            if (is_open) each.became = state_behind(each);
            failures = 0;
            ++at;
        } catch (const error& failure) {
            if (++failures < max_failures) continue;
            queues_.warn(std::string{"what became of jobs is not known: "} + failure.what());
            return;
        }
    }
}

// These ends make the next jobs of their keys available, make room under a limit, or let their jobs
// run again, now or later; and the next look may be an hour away. If this worker takes all
// available jobs, it notifies no other; it does notify of a job due later, when it may be busy. No
// failure here may lose the jobs that were claimed before.
void job_completer::free_behind(
    const std::vector<ended_job>& ends, parcel& back, worker_queue* from, bool claims_next
) {
    std::set<std::string> freed, notified;
    for (const ended_job& each : ends) {
        const auto became = each.became;
        if (!became && !each.is_in_transaction) continue;
        const bool is_again = became == job_state::available;
        if (each.has_key || is_again || queues_.of(each.queue).has_limits) freed.insert(each.queue);
        if (became != job_state::retryable && became != job_state::scheduled) continue;
        const auto due = local_clock::now() + std::min(each.end.delay, worker_queues::max_look);
        back.look_by = std::min(back.look_by.value_or(due), due);
        notified.insert(each.queue);
    }
    for (const std::string& each : freed) {
        worker_queue& queue = queues_.of(each);
        queue.may_have_freed = true;
        const bool is_claimed = &queue == from;
        if (is_claimed && !queue.is_promising) continue;
        queue.expect_jobs();
        if (is_claimed || !claims_next) notified.insert(each);
    }
    for (const std::string& each : notified) notify(each, false);
    // If this worker has claimed all jobs of its kinds, those it made available may be of another
    // kind, whose workers are idle.
    if (!from || from->is_promising || !std::exchange(from->may_have_freed, false)) return;
    if (!queues_.kinds.empty()) notify(from->name, true);
}

// A notification is a hint, so its failure is ignored: other workers look by themselves.
void job_completer::notify(const std::string& queue, bool if_available) {
    try {
        queues_.use([&](connection& on, store_set& stores) {
            auto& all = stores.get<job_queue_store>();
            if (if_available && all.count_available(on, queue, std::nullopt, 1).empty()) return;
            queues_.notify(on, stores, queue);
        });
    } catch (const error&) {
        return;
    }
}

// Notes ended jobs for which others may wait. The next look tells whether any do. A turn finds the
// ends that do not fit into the list.
void job_completer::remember(const std::vector<ended_job>& ends) {
    constexpr std::size_t most = 10'000;
    for (const ended_job& each : ends) {
        if (some_are_needed_ || unsettled_.size() < most) unsettled_.push_back(each.end.id);
    }
}

// Lets jobs that waited for these go on at once, some thousand at a time, so that freed jobs are
// claimed in between. A failure here loses no claimed jobs: a turn frees the remaining ones.
bool job_completer::settle() {
    if (!some_are_needed_) unsettled_.clear();
    if (unsettled_.empty()) return false;
    try {
        queues_.use([&](connection& on, store_set& stores) {
            const auto tell = [&](const std::string& queue) { queues_.goes_on(on, stores, queue); };
            // A failure leaves the list as it is, and the next look goes on.
            unsettled_ = settle_some_needs(on, stores, unsettled_, tell);
        });
    } catch (const error& failure) {
        queues_.warn(std::string{"jobs that waited for others go on later: "} + failure.what());
    }
    return true;
}

local_clock::time_point job_completer::deadline() const noexcept {
    return queues_.session->deadline();
}

bool job_completer::note_progress(job_id id, fencing_token token, const std::string& words) {
    return queues_.use([&](connection& on, store_set& stores) {
        return stores.get<job_store>().note_progress(on, queues_.session->id(), id, token, words);
    });
}

// Makes a change of a running job in the caller's transaction; false if its claim is gone.
template <class Change>
bool job_completer::changes_in(transaction_ref tx, const char* operation, const Change& change) {
    connection& inside = tx.inside();
    require_transaction(inside, operation);
    database::implementation& own = queues_.session->database();
    require_database(inside, own, operation);
    if (change(inside, own.store_for(inside))) return true;
    refuse_other_database(inside, own, operation);
    return false;
}

bool job_completer::complete_in(transaction_ref tx, const std::string& queue, const job_end& end) {
    return changes_in(tx, "complete_in", [&](connection& inside, store_set& stores) {
        const auto kept = kept_of(inside, stores, queue);
        auto& jobs = stores.get<job_store>();
        return jobs.finish(inside, queues_.session->id(), {end}, kept).front().has_value();
    });
}

bool job_completer::save_checkpoint(
    std::optional<transaction_ref> tx, const job_claim& which, const std::string& state
) {
    const auto save = [&](connection& on, store_set& stores) {
        auto& jobs = stores.get<job_store>();
        return jobs.save_checkpoint(on, queues_.session->id(), which, state);
    };
    return tx ? changes_in(*tx, "save_checkpoint_in", save) : queues_.use(save);
}

}  // namespace leasehold
