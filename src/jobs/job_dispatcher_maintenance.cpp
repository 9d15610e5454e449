// The part of a worker that does what has come due in its queues, and what others left undone.
#include <algorithm>
#include <string>

#include "core/jitter.hpp"
#include "database/database.hpp"
#include "jobs/enqueue.hpp"
#include "jobs/job_dispatcher.hpp"
#include "jobs/job_notifier.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int max_promoted = 1000, max_rescued = 1000, max_pruned = 1000;
// The pause before rows that were locked are tried again.
constexpr nanoseconds locked_pause = std::chrono::milliseconds{500};
// The least time that a job with a result is kept.
constexpr seconds result_kept_min = std::chrono::hours{24};

// Keeps jobs that others may need: prune(), which comes last in a turn, removes those that nobody
// needs.
job_retention until_pruned(job_retention kept) {
    kept.discarded = std::max(kept.discarded, std::chrono::microseconds{1});
    kept.cancelled = std::max(kept.cancelled, std::chrono::microseconds{1});
    return kept;
}

}  // namespace

job_retention job_retention_of(const queue_limits& limits) {
    return {
        limits.keep_completed,
        std::max(limits.keep_completed, result_kept_min),
        limits.keep_discarded,
        limits.keep_cancelled};
}

// Maintains the queue if no worker has done so for a while.
void job_dispatcher::maintain(
    connection& on, store_set& stores, queue_state& queue, const queue_look& seen
) {
    const auto now = local_clock::now();
    if (now < queue.next_maintenance) return;
    queue.next_maintenance = now + jittered(maintain_every);
    if (seen.maintained_ago && *seen.maintained_ago < maintain_every / 2) return;
    job_queue_store& all = stores.get<job_queue_store>();
    if (!all.begin_maintenance(on, queue.name, maintain_every / 2)) return;
    const job_retention asked = job_retention_of(seen.limits);
    const job_retention kept = seen.some_are_needed ? until_pruned(asked) : asked;
    const rescue_result rescue = all.rescue(on, queue.name, max_rescued, kept);
    rescued_ += rescue.rescued;
    if (rescue.rescued > 0 || all.unblock(on, queue.name, max_unblocked, queue.place) > 0) {
        goes_on(on, stores, queue.name);
    }
    if (seen.some_are_needed || seen.some_wait) {
        const auto tell = [&](const std::string& name) { goes_on(on, stores, name); };
        if (settle_left_needs(on, stores, queue.name, queue.needs, tell) > 0) tell(queue.name);
    }
    prune(on, stores);
    stores.get<job_subscriber_store>().prune(on, queue.name);
    tell_rescued(queue.name, rescue.rescued, event_reason::released);
    tell_rescued(queue.name, rescue.quarantined, event_reason::discarded);
}

// A foreign key or a trigger of the user's may keep a row. This removes the rows behind it, and
// tries the row again in an hour.
void job_dispatcher::prune(connection& on, store_set& stores) {
    constexpr std::chrono::hours again_after{1};
    constexpr std::chrono::milliseconds max_time{500};
    const auto begin = local_clock::now();
    if (begin >= kept_back_since_ + again_after) kept_back_ = 0;
    for (int rows = max_pruned; local_clock::now() < begin + max_time;) {
        try {
            if (stores.get<job_queue_store>().prune(on, rows, kept_back_) < rows ||
                rows == max_pruned)
                return;
            rows = std::min(2 * rows, max_pruned);
        } catch (const error& failure) {
            const bool is_refused =
                failure.code() == errc::constraint || failure.code() == errc::database_error;
            if (!is_refused || failure.is_transient() || on.state() == connection_state::lost) {
                throw;
            }
            if (rows == 1 && kept_back_++ == 0) {
                kept_back_since_ = begin;
                warn(std::string{"a job that has ended is not removed: "} + failure.what());
            }
            rows = std::max(rows / 2, 1);
        }
    }
}

fire_result job_dispatcher::fires(connection& on, store_set& stores, queue_state& queue) {
    const auto complain = [&](const std::string& name, const std::string& why) {
        if (!complained_of_.insert(name).second) return;
        warn("schedule '" + name + "' does not fire here: " + why);
    };
    observer* const told = session_->database().settings().observer.get();
    const auto tell = [&](const auto& what, const auto& made) {
        tell_of_new(told, queue.name, what, made);
    };
    const fire_result done =
        fire_schedules(on, stores, queue.name, queue.schedules, complain, tell);
    if (done.jobs > 0) session_->database().part<job_notifier>().notify(on, stores, queue.name);
    return done;
}

// The look tells only of the schedule that is due first. If that one did not fire, this asks for
// the next fire time of the other schedules.
local_clock::time_point job_dispatcher::next_fire(
    connection& on, store_set& stores, const queue_state& queue, const fire_result& done
) {
    const auto now = local_clock::now();
    if (done.are_more) {
        is_all_done_ = false;
        return now;
    }
    auto next = now + (done.some_locked ? locked_pause : nanoseconds{max_look});
    if (const auto in = stores.get<job_schedule_store>().next_in(on, queue.name, done.last)) {
        next = std::min(next, now + std::min(*in, max_look));
    }
    return next;
}

// Returns when to look at the queue next, at the latest.
local_clock::time_point job_dispatcher::look_at(
    connection& on, store_set& stores, queue_state& queue, const queue_look& seen
) {
    auto next = local_clock::now() + max_look;
    heed_limits(queue, seen.limits);
    maintain(on, stores, queue, seen);
    if (const auto goes_on_at = go_on_with_pass(on, stores, queue, seen)) {
        next = std::min(next, *goes_on_at);
    }
    const bool has_jobs = seen.has_available || queue.is_promising;
    // True when there are jobs that no claim has looked for yet.
    bool has_new = false;
    // Schedules fire in a paused queue, too: their jobs run when it is resumed.
    if (const auto fire = seen.next_fire_in) {
        if (*fire > fire->zero()) {
            next = std::min(next, local_clock::now() + std::min(*fire, max_look));
        } else {
            const fire_result done = fires(on, stores, queue);
            has_new = done.jobs > 0;
            if (!has_new) next = std::min(next, next_fire(on, stores, queue, done));
        }
    }
    const bool is_last = settings_.stop_when_idle && !has_jobs && !seen.is_paused;
    if (is_last) has_new = unblocks(on, stores, queue, seen.some_wait) || has_new;
    if (const auto due = seen.next_due_in) {
        if (*due <= due->zero()) {
            const bool is_some =
                stores.get<job_queue_store>().promote(on, queue.name, max_promoted) > 0;
            if (!is_some) next = std::min(next, local_clock::now() + locked_pause);
            has_new = has_new || is_some;
        } else {
            next = std::min(next, local_clock::now() + std::min(*due, max_look));
        }
    }
    if (has_new) {
        queue.brings_nothing = false;
        next = local_clock::now();  // when the next one is due, or fires, is not known
    }
    queue.is_promising = (has_jobs || has_new) && !seen.is_paused;
    queue.is_promised = queue.is_promising && (seen.has_available || has_new);
    return next;
}

}  // namespace leasehold
