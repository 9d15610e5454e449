#include "jobs/job_maintenance.hpp"

#include <algorithm>

#include "core/jitter.hpp"
#include "jobs/enqueue.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int max_promoted = 1000, max_rescued = 1000, max_pruned = 1000;
// The pause before rows that were locked are tried again.
constexpr nanoseconds locked_pause = milliseconds{500};
// Keys, in maintain() and in a pass.
constexpr int max_unblocked = 1000, max_unblocked_in_pass = 100;
// A dead worker's jobs are available again within this, and a poll, of its session's end.
constexpr seconds maintain_every{2};

// Keeps jobs that others may need: prune(), which comes last in a turn, removes those that nobody
// needs.
job_retention until_pruned(job_retention kept) {
    kept.discarded = std::max(kept.discarded, std::chrono::microseconds{1});
    kept.cancelled = std::max(kept.cancelled, std::chrono::microseconds{1});
    return kept;
}

}  // namespace

local_clock::time_point job_maintenance::look(local_clock::time_point now) {
    auto next = now + jittered(queues_.settings.poll_every);
    // Only a pass finds what was committed without a notification.
    if (queues_.settings.poll_every > maintain_every && now >= next_pass_of_all_) {
        next_pass_of_all_ = now + queues_.settings.poll_every;
        for (worker_queue& each : queues_.all) each.needs_pass = true;
    }
    queues_.use([&](connection& on, store_set& stores) {
        const auto seen = stores.get<job_queue_store>().look(on, queues_.settings.queues);
        is_all_done_ = true;
        completer_.note_needed(std::ranges::any_of(seen, &queue_look::some_are_needed));
        for (std::size_t at = 0; at < seen.size(); ++at) {
            worker_queue& queue = queues_.all[at];
            next = std::min(next, look_at(on, stores, maintained_[at], seen[at]));
            if (is_left(on, stores, queue)) is_all_done_ = false;
            queue.brings_nothing = false;
        }
    });
    if (completer_.settle()) {
        is_all_done_ = false;
        next = local_clock::now();
    }
    return next;
}

// Returns when to look at the queue next, at the latest.
local_clock::time_point job_maintenance::look_at(
    connection& on, store_set& stores, maintained& of, const queue_look& seen
) {
    auto next = local_clock::now() + worker_queues::max_look;
    heed_limits(of.queue, seen.limits);
    maintain(on, stores, of, seen);
    if (const auto goes_on_at = go_on_with_pass(on, stores, of, seen)) {
        next = std::min(next, *goes_on_at);
    }
    const bool has_jobs = seen.has_available || of.queue.is_promising;
    // True when there are jobs that no claim has looked for yet.
    bool has_new = false;
    // Schedules fire in a paused queue, too: their jobs run when it is resumed.
    if (const auto fire = seen.next_fire_in) {
        if (*fire > fire->zero()) {
            next = std::min(next, local_clock::now() + std::min(*fire, worker_queues::max_look));
        } else {
            const fire_result done = fires(on, stores, of);
            has_new = done.jobs > 0;
            if (!has_new) next = std::min(next, next_fire(on, stores, of, done));
        }
    }
    const bool is_last = queues_.settings.stop_when_idle && !has_jobs && !seen.is_paused;
    if (is_last) has_new = unblocks(on, stores, of, seen.some_wait) || has_new;
    if (const auto due = seen.next_due_in) {
        if (*due <= due->zero()) {
            const bool is_some =
                stores.get<job_queue_store>().promote(on, of.queue.name, max_promoted) > 0;
            if (!is_some) next = std::min(next, local_clock::now() + locked_pause);
            has_new = has_new || is_some;
        } else {
            next = std::min(next, local_clock::now() + std::min(*due, worker_queues::max_look));
        }
    }
    if (has_new) {
        of.queue.brings_nothing = false;
        next = local_clock::now();  // when the next one is due, or fires, is not known
    }
    of.queue.is_promising = (has_jobs || has_new) && !seen.is_paused;
    of.queue.is_promised = of.queue.is_promising && (seen.has_available || has_new);
    return next;
}

void job_maintenance::heed_limits(worker_queue& queue, const queue_limits& limits) {
    completer_.note_kept(queue.name, job_retention_of(limits));
    queue.has_limits = limits.max_running || limits.max_starts;
    queue.start_every = std::nullopt;
    if (!limits.max_starts) return;
    // Unused starts are saved up for as long as the period of the rate.
    const nanoseconds per = limits.starts_per, apart{milliseconds{100}};
    const nanoseconds each = std::max(per / *limits.max_starts, std::min(per / 2, apart));
    queue.start_every = std::min<nanoseconds>(each, worker_queues::max_look);
}

// A claim may have brought nothing since the last look because a limit holds the jobs back for now,
// or because this worker does not handle their kinds.
bool job_maintenance::is_left(connection& on, store_set& stores, const worker_queue& queue) const {
    if (!queue.is_promising) return false;
    if (!queue.brings_nothing || !queues_.settings.stop_when_idle) return true;
    if (!queue.has_limits) return false;
    if (queues_.kinds.empty()) return true;
    return std::ranges::any_of(queues_.kinds, [&](const std::string& kind) {
        return !stores.get<job_queue_store>().count_available(on, queue.name, kind, 1).empty();
    });
}

std::vector<left_jobs> job_maintenance::count_left() {
    constexpr int max_counted = 10'000;
    std::vector<left_jobs> left;
    queues_.use([&](connection& on, store_set& stores) {
        for (const worker_queue& each : queues_.all) {
            const auto counts = stores.get<job_queue_store>().count_available(
                on, each.name, std::nullopt, max_counted
            );
            for (const auto& [kind, jobs] : counts) left.push_back({each.name, kind, jobs});
        }
    });
    return left;
}

// Maintains the queue if no worker has done so for a while.
void job_maintenance::maintain(
    connection& on, store_set& stores, maintained& of, const queue_look& seen
) {
    const auto now = local_clock::now();
    if (now < of.next_maintenance) return;
    of.next_maintenance = now + jittered(maintain_every);
    if (seen.maintained_ago && *seen.maintained_ago < maintain_every / 2) return;
    job_queue_store& all = stores.get<job_queue_store>();
    if (!all.begin_maintenance(on, of.queue.name, maintain_every / 2)) return;
    const job_retention asked = job_retention_of(seen.limits);
    const job_retention kept = seen.some_are_needed ? until_pruned(asked) : asked;
    const rescue_result rescue = all.rescue(on, of.queue.name, max_rescued, kept);
    rescued_ += rescue.rescued;
    if (rescue.rescued > 0 || all.unblock(on, of.queue.name, max_unblocked, of.place) > 0) {
        queues_.goes_on(on, stores, of.queue.name);
    }
    if (seen.some_are_needed || seen.some_wait) {
        const auto tell = [&](const std::string& name) { queues_.goes_on(on, stores, name); };
        if (settle_left_needs(on, stores, of.queue.name, of.needs, tell) > 0) tell(of.queue.name);
    }
    prune(on, stores);
    stores.get<job_subscriber_store>().prune(on, of.queue.name);
    tell_rescued(of.queue.name, rescue.rescued, event_reason::released);
    tell_rescued(of.queue.name, rescue.quarantined, event_reason::discarded);
}

void job_maintenance::tell_rescued(const std::string& queue, std::int64_t jobs, event_reason how)
    const {
    if (jobs == 0) return;
    event made{event_kind::job_rescued, "", jobs, "jobs of dead workers", how};
    made.queue = queue;
    queues_.session->database().tell(made);
}

// A foreign key or a trigger of the user's may keep a row. This removes the rows behind it, and
// tries the row again in an hour.
void job_maintenance::prune(connection& on, store_set& stores) {
    constexpr std::chrono::hours again_after{1};
    constexpr milliseconds max_time{500};
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
                queues_.warn(std::string{"a job that has ended is not removed: "} + failure.what());
            }
            rows = std::max(rows / 2, 1);
        }
    }
}

fire_result job_maintenance::fires(connection& on, store_set& stores, maintained& of) {
    const auto complain = [&](const std::string& name, const std::string& why) {
        if (!complained_of_.insert(name).second) return;
        queues_.warn("schedule '" + name + "' does not fire here: " + why);
    };
    observer* const told = queues_.session->database().settings().observer.get();
    const auto tell = [&](const auto& what, const auto& made) {
        tell_of_new(told, of.queue.name, what, made);
    };
    const fire_result done =
        fire_schedules(on, stores, of.queue.name, of.schedules, complain, tell);
    if (done.jobs > 0) queues_.notify(on, stores, of.queue.name);
    return done;
}

// The look tells only of the schedule that is due first. If that one did not fire, this asks for
// the next fire time of the other schedules.
local_clock::time_point job_maintenance::next_fire(
    connection& on, store_set& stores, const maintained& of, const fire_result& done
) {
    const auto now = local_clock::now();
    if (done.are_more) {
        is_all_done_ = false;
        return now;
    }
    auto next = now + (done.some_locked ? locked_pause : nanoseconds{worker_queues::max_look});
    if (const auto in = stores.get<job_schedule_store>().next_in(on, of.queue.name, done.last)) {
        next = std::min(next, now + std::min(*in, worker_queues::max_look));
    }
    return next;
}

// Does some hundred rows of the pass. Returns how many jobs go on; idle workers are told of them.
std::int64_t job_maintenance::go_on_with(
    connection& on, store_set& stores, maintained& of, unblock_pass& pass
) {
    std::int64_t freed = 0;
    if (!pass.is_over_through || !pass.is_waiting_through) {
        const auto tell = [&](const std::string& name) { queues_.goes_on(on, stores, name); };
        freed += settle_left_needs(on, stores, of.queue.name, pass.needs, tell);
        pass.is_over_through = pass.is_over_through || pass.needs.over.needs == 0;
        pass.is_waiting_through = pass.is_waiting_through || pass.needs.waiting == 0;
    }
    if (!pass.are_keys_through) {
        freed += stores.get<job_queue_store>().unblock(
            on, of.queue.name, max_unblocked_in_pass, pass.place
        );
        pass.are_keys_through = pass.place.is_beginning();
    }
    if (freed > 0) queues_.goes_on(on, stores, of.queue.name);
    return freed;
}

// Lets jobs go on whose needs have all ended; true if there were some. A worker calls this before
// it concludes that no job is left.
bool job_maintenance::unblocks(connection& on, store_set& stores, maintained& of, bool some_wait) {
    unblock_pass pass{!some_wait, !some_wait};
    while (!pass.is_through()) {
        if (go_on_with(on, stores, of, pass) > 0) return true;
    }
    return false;
}

// The transaction that enqueues a job, and the end of the job that it waits for, do not see each
// other if both commit at once, or if the first one commits late. The notification of the new job
// comes after both commits: a pass that begins then finds that job. Passes take a twentieth of the
// time at most. Returns when to go on.
std::optional<local_clock::time_point> job_maintenance::go_on_with_pass(
    connection& on, store_set& stores, maintained& of, const queue_look& seen
) {
    constexpr milliseconds pause_min{500};
    constexpr int pauses = 20;  // times the time that the rows took
    const auto now = local_clock::now();
    if (!of.under_way) {
        if (!seen.some_wait && !seen.some_are_blocked) of.queue.needs_pass = false;
        if (!of.queue.needs_pass) return std::nullopt;
    }
    if (now < of.next_pass) return of.next_pass;
    if (!of.under_way) {
        of.queue.needs_pass = false;
        of.under_way = {!seen.some_wait, !seen.some_wait, !seen.some_are_blocked};
    }
    go_on_with(on, stores, of, *of.under_way);
    const auto end = local_clock::now();
    of.next_pass = end + pauses * (end - now);
    if (of.under_way->is_through()) {
        of.under_way.reset();
        of.next_pass = std::max(of.next_pass, end + pause_min);
        if (!of.queue.needs_pass) return std::nullopt;
    }
    return of.next_pass;
}

}  // namespace leasehold
