#include "jobs/job_dispatcher.hpp"

#include <algorithm>

#include "core/jitter.hpp"
#include "database/database.hpp"
#include "database/taking_part.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_notifier.hpp"
#include "jobs/job_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The least time that an ended job is kept when jobs that wait for it must learn how it ended.
constexpr seconds needed_kept_min = std::chrono::hours{24};

}  // namespace

job_dispatcher::job_dispatcher(
    std::shared_ptr<session::implementation> within, const worker_settings& settings
)
    : session_(std::move(within)), settings_(settings) {
    for (const std::string& each : settings_.queues) {
        queue_state made;
        made.name = each;
        queues_.push_back(std::move(made));
    }
}

bool job_dispatcher::is_in_doubt() const noexcept {
    return std::ranges::any_of(queues_, [](const queue_state& each) {
        return each.in_doubt_until.has_value();
    });
}

std::optional<job_retention> job_dispatcher::known_kept(const std::string& queue) const {
    const thread_guard guard{mutex_};
    const auto found = kept_.find(queue);
    if (found == kept_.end()) return std::nullopt;
    return found->second;
}

// Reads the retention before the first look, or a queue that keeps its jobs would lose those of a
// worker that has just begun.
job_retention job_dispatcher::kept_of(connection& on, store_set& stores, const std::string& queue) {
    if (const auto known = known_kept(queue)) return *known;
    const auto row = stores.get<job_queue_store>().find_queue(on, queue);
    const thread_guard guard{mutex_};
    return kept_.try_emplace(queue, job_retention_of(row ? row->limits : queue_limits{}))
        .first->second;
}

void job_dispatcher::note_notification(const std::string& queue) {
    const thread_guard guard{mutex_};
    notified_.insert(queue);
}

bool job_dispatcher::was_notified() const {
    const thread_guard guard{mutex_};
    return !notified_.empty();
}

void job_dispatcher::announce(job_listener& whose) {
    if (whose.is_announced() || !whose.can_hear()) return;
    try {
        use([&](connection& on, store_set& stores) { whose.announce(on, stores); });
        known_everywhere_at_ = local_clock::now() + job_notifier::known_for;
    } catch (const error& failure) {
        if (!std::exchange(has_complained_of_address_, true)) complain_of_address(failure);
    }
}

void job_dispatcher::withdraw(job_listener& whose) {
    if (!whose.is_written()) return;
    try {
        use([&](connection& on, store_set& stores) { whose.withdraw(on, stores); });
    } catch (const error& failure) {
        complain_of_address(failure);
    }
}

// The notification is only a hint: the worker also looks by itself, and the end of the session
// deletes the row.
void job_dispatcher::complain_of_address(const error& failure) {
    warn(std::string{"a worker could not say where it hears of new jobs: "} + failure.what());
}

void job_dispatcher::tell_rescued(const std::string& queue, std::int64_t jobs, event_reason how)
    const {
    if (jobs == 0) return;
    event made{event_kind::job_rescued, "", jobs, "jobs of dead workers", how};
    made.queue = queue;
    session_->database().tell(made);
}

void job_dispatcher::warn(const std::string& said) const {
    session_->database().tell({event_kind::warning, "", 0, said});
}

bool job_dispatcher::heed_notifications() {
    std::set<std::string> notified;
    {
        const thread_guard guard{mutex_};
        notified.swap(notified_);
    }
    for (const std::string& each : notified) {
        queue_state& queue = state_of(each);
        queue.expect_jobs();
        queue.needs_pass = true;
        queue.left_pause = {};
    }
    return !notified.empty();
}

bool job_dispatcher::has_promising_queue() const noexcept {
    return std::ranges::any_of(queues_, &queue_state::is_promising);
}

bool job_dispatcher::has_limits() const noexcept {
    return std::ranges::any_of(queues_, &queue_state::has_limits);
}

// Each queue has its turn to be the first.
job_dispatcher::queue_state* job_dispatcher::next_promising() noexcept {
    for (std::size_t step = 0; step < queues_.size(); ++step) {
        queue_state& each = queues_[(first_ + step) % queues_.size()];
        if (!each.is_promising) continue;
        first_ = (first_ + step + 1) % queues_.size();
        return &each;
    }
    return nullptr;
}

void job_dispatcher::note_in_doubt(queue_state& queue) {
    // A statement that its client gave up may go on in the server, but for less than this time.
    queue.in_doubt_until =
        local_clock::now() + 2 * session_->database().settings().statement_timeout + seconds{5};
}

job_dispatcher::queue_state& job_dispatcher::state_of(const std::string& queue) {
    return *std::ranges::find(queues_, queue, &queue_state::name);
}

job_dispatcher::parcel job_dispatcher::exchange(
    const std::vector<ended_job>& ends, std::size_t wanted, bool claims_next
) {
    session_->require_live();
    if (wanted > 0 && !sees_all_) {
        use([](connection& on, store_set& stores) {
            stores.get<job_queue_store>().require_all_rows(on);
        });
        sees_all_ = true;
    }
    parcel back;
    back.ends.resize(ends.size());
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t at = 0; at < ends.size(); ++at) places[ends[at].queue].push_back(at);
    queue_state* const from = wanted > 0 ? next_promising() : nullptr;
    const std::vector<std::size_t> own = from ? places[from->name] : std::vector<std::size_t>{};
    if (from) places.erase(from->name);
    // The claim is sent last, so that the failure of an earlier statement does not lose claimed
    // jobs.
    for (const auto& [queue, at] : places) send(ends, at, state_of(queue), 0, back);
    if (from) {
        back.queue = from->name;
        send(ends, own, *from, wanted, back);
    }
    free_behind(ends, back, from, claims_next);
    remember(ends);
    if (some_are_needed_) settle();
    return back;
}

// The retention of the queue; longer if it is too short for jobs that wait for these.
job_retention job_dispatcher::kept_for(queue_state& queue, const std::vector<job_end>& ends) {
    const auto known = known_kept(queue.name);
    if (ends.empty()) return known.value_or(job_retention{});
    if (known && std::min(known->discarded, known->cancelled) >= needed_kept_min) return *known;
    job_retention kept;
    use([&](connection& on, store_set& stores) {
        kept = kept_of(on, stores, queue.name);
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

void job_dispatcher::send(
    const std::vector<ended_job>& ends,
    const std::vector<std::size_t>& places,
    queue_state& queue,
    std::size_t wanted,
    parcel& back
) {
    std::vector<job_end> own;
    own.reserve(places.size());
    for (const std::size_t at : places) own.push_back(ends[at].end);
    claim_request request{queue.name, kinds_, 0, session_->id(), session_->node_info()};
    request.max_jobs =
        static_cast<int>(std::min<std::size_t>(wanted, job_store::max_jobs_per_statement));
    const job_retention kept = kept_for(queue, own);
    job_store::finished_and_claimed both;
    try {
        use([&](connection& on, store_set& stores) {
            if (wanted == 0) {
                both.finished = stores.get<job_store>().finish(on, session_->id(), own, kept);
            } else if (own.empty()) {
                both.claimed = stores.get<job_store>().claim(on, request);
            } else {
                both = stores.get<job_store>().finish_and_claim(
                    on, session_->id(), own, kept, request
                );
            }
        });
    } catch (const error&) {
        if (wanted > 0) note_in_doubt(queue);
        throw;
    }
    for (std::size_t at = 0; at < places.size(); ++at) back.ends[places[at]] = both.finished[at];
    if (wanted > 0) note_claims(queue, request, std::move(both.claimed), back);
    resolve(ends, places, back);
}

void job_dispatcher::note_claims(
    queue_state& queue, const claim_request& request, claim_result claimed, parcel& back
) {
    back.jobs = std::move(claimed.jobs);
    back.was_refused = claimed.session_has_ended;
    queue.brings_nothing = queue.is_promised && back.jobs.empty();
    queue.is_promising = back.jobs.size() >= static_cast<std::size_t>(request.max_jobs);
    const auto has_key = [](const claimed_job& each) { return !each.ordering_key.empty(); };
    queue.has_keys = queue.has_keys || std::ranges::any_of(back.jobs, has_key);
    if (queue.is_promising || !(queue.brings_nothing || queue.start_every)) return;
    // The rate may have left some jobs, or a worker of another kind had them locked for a moment.
    const nanoseconds pause_min = queue.start_every.value_or(milliseconds{50});
    queue.left_pause = back.jobs.empty() ? 2 * queue.left_pause : pause_min;
    queue.left_pause = std::clamp<nanoseconds>(queue.left_pause, pause_min, max_look);
    back.look_by = local_clock::now() + queue.left_pause;
}

// The state of a job whose end was sent before without an answer, and now finds no claim. If the
// session still lives, that end was carried out: only an end takes a claim from a live session. The
// job's row has the state; if the row is gone, or belongs to another claim, the end tells it.
// nullopt if the session may have ended first, or if the row is gone and the end would have left
// one: the job was cancelled, as this worker did not hear, or has gone on and ended elsewhere.
std::optional<job_state> job_dispatcher::state_behind(const ended_job& one) {
    const auto found = use([&](connection& on, store_set& stores) {
        return stores.get<job_queue_store>().describe(on, one.end.id);
    });
    const bool goes_on = one.presumed == job_state::available ||
                         one.presumed == job_state::scheduled ||
                         one.presumed == job_state::retryable;
    if (!found && goes_on) return std::nullopt;
    if (!found || found->token != one.end.token) {
        return session_->is_live() ? std::optional{one.presumed} : std::nullopt;
    }
    return found->state == job_state::running ? std::nullopt : std::optional{found->state};
}

// Repeats a request that fails. An outage leaves ends unknown, but loses none of the jobs that were
// claimed with them.
void job_dispatcher::resolve(
    const std::vector<ended_job>& ends, const std::vector<std::size_t>& places, parcel& back
) noexcept {
    constexpr int max_failures = 3;
    int failures = 0;  // in a row
    for (auto at = places.begin(); at != places.end();) {
        const ended_job& each = ends[*at];
        const bool is_open = !back.ends[*at] && each.was_sent && !each.is_in_transaction;
        try {
            if (is_open) back.ends[*at] = state_behind(each);
            failures = 0;
            ++at;
        } catch (const error& failure) {
            if (++failures < max_failures) continue;
            warn(std::string{"what became of jobs is not known: "} + failure.what());
            return;
        }
    }
}

void job_dispatcher::heed_limits(queue_state& queue, const queue_limits& limits) {
    {
        const thread_guard guard{mutex_};
        kept_[queue.name] = job_retention_of(limits);
    }
    queue.has_limits = limits.max_running || limits.max_starts;
    queue.start_every = std::nullopt;
    if (!limits.max_starts) return;
    // Unused starts are saved up for as long as the period of the rate.
    const nanoseconds per = limits.starts_per, apart{milliseconds{100}};
    const nanoseconds each = std::max(per / *limits.max_starts, std::min(per / 2, apart));
    queue.start_every = std::min<nanoseconds>(each, max_look);
}

// A claim may have brought nothing since the last look because a limit holds the jobs back for now,
// or because this worker does not handle their kinds.
bool job_dispatcher::is_left(connection& on, store_set& stores, const queue_state& queue) const {
    if (!queue.is_promising) return false;
    if (!queue.brings_nothing || !settings_.stop_when_idle) return true;
    if (!queue.has_limits) return false;
    if (kinds_.empty()) return true;
    return std::ranges::any_of(kinds_, [&](const std::string& kind) {
        return !stores.get<job_queue_store>().count_available(on, queue.name, kind, 1).empty();
    });
}

std::vector<left_jobs> job_dispatcher::count_left() {
    constexpr int max_counted = 10'000;
    std::vector<left_jobs> left;
    use([&](connection& on, store_set& stores) {
        for (const queue_state& each : queues_) {
            const auto counts = stores.get<job_queue_store>().count_available(
                on, each.name, std::nullopt, max_counted
            );
            for (const auto& [kind, jobs] : counts) left.push_back({each.name, kind, jobs});
        }
    });
    return left;
}

local_clock::time_point job_dispatcher::look(local_clock::time_point now) {
    auto next = now + jittered(settings_.poll_every);
    // Until `known_everywhere_at_` others may enqueue without knowing our address.
    if (now < known_everywhere_at_) next = std::min(next, known_everywhere_at_);
    // Only a pass finds what was committed without a notification.
    if (settings_.poll_every > maintain_every && now >= next_pass_of_all_) {
        next_pass_of_all_ = now + settings_.poll_every;
        for (queue_state& each : queues_) each.needs_pass = true;
    }
    use([&](connection& on, store_set& stores) {
        const auto seen = stores.get<job_queue_store>().look(on, settings_.queues);
        is_all_done_ = true;
        some_are_needed_ = std::ranges::any_of(seen, &queue_look::some_are_needed);
        for (std::size_t at = 0; at < seen.size(); ++at) {
            queue_state& queue = queues_[at];
            next = std::min(next, look_at(on, stores, queue, seen[at]));
            if (is_left(on, stores, queue)) is_all_done_ = false;
            queue.brings_nothing = false;
        }
    });
    if (!some_are_needed_) {
        unsettled_.clear();
    } else if (!unsettled_.empty()) {
        settle();
        is_all_done_ = false;
        next = local_clock::now();
    }
    return next;
}

job_dispatcher::found_claims job_dispatcher::claims_in_doubt() {
    found_claims found;
    const auto now = local_clock::now();
    for (queue_state& queue : queues_) {
        if (!queue.in_doubt_until) continue;
        const auto claims = use([&](connection& on, store_set& stores) {
            return stores.get<job_store>().find_claims(on, queue.name, session_->id());
        });
        for (const claimed_job& each : claims) found.emplace_back(queue.name, each);
        if (*queue.in_doubt_until <= now) queue.in_doubt_until = std::nullopt;
    }
    return found;
}

std::vector<claim_standing> job_dispatcher::standings(const std::vector<job_claim>& held) {
    return use([&](connection& on, store_set& stores) {
        return stores.get<job_store>().standings(on, session_->id(), held);
    });
}

local_clock::time_point job_dispatcher::deadline() const noexcept {
    return session_->deadline();
}

bool job_dispatcher::note_progress(job_id id, fencing_token token, const std::string& words) {
    return use([&](connection& on, store_set& stores) {
        return stores.get<job_store>().note_progress(on, session_->id(), id, token, words);
    });
}

bool job_dispatcher::complete_in(transaction_ref tx, const std::string& queue, const job_end& end) {
    connection& inside = tx.inside();
    require_transaction(inside, "complete_in");
    database::implementation& own = session_->database();
    require_database(inside, own, "complete_in");
    store_set& stores = own.store_for(inside);
    const auto kept = kept_of(inside, stores, queue);
    const auto ended = stores.get<job_store>().finish(inside, session_->id(), {end}, kept);
    if (ended.front()) return true;
    refuse_other_database(inside, own, "complete_in");
    return false;
}

}  // namespace leasehold
