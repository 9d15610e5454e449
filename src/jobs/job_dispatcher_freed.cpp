// The part of a worker that frees jobs which waited for those that have ended here.
#include <algorithm>
#include <set>
#include <utility>

#include "database/database.hpp"
#include "jobs/job_dispatcher.hpp"
#include "jobs/job_notifier.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

// These ends make the next jobs of their keys available, make room under a limit, or let their jobs
// run again, now or later; and the next look may be an hour away. If this worker takes all
// available jobs, it notifies no other; it does notify of a job due later, when it may be busy. No
// failure here may lose the jobs that were claimed before.
void job_dispatcher::free_behind(
    const std::vector<ended_job>& ends, parcel& back, queue_state* from, bool claims_next
) {
    std::set<std::string> freed, notified;
    for (std::size_t at = 0; at < ends.size(); ++at) {
        const ended_job& each = ends[at];
        const auto became = back.ends[at];
        if (!became && !each.is_in_transaction) continue;
        const bool is_again = became == job_state::available;
        if (each.has_key || is_again || state_of(each.queue).has_limits) freed.insert(each.queue);
        if (became != job_state::retryable && became != job_state::scheduled) continue;
        const auto due = local_clock::now() + std::min(each.end.delay, max_look);
        back.look_by = std::min(back.look_by.value_or(due), due);
        notified.insert(each.queue);
    }
    for (const std::string& each : freed) {
        queue_state& queue = state_of(each);
        queue.may_have_freed = true;
        const bool is_claimed = &queue == from;
        if (is_claimed && !queue.is_promising) continue;
        queue.expect_jobs();
        if (is_claimed || !claims_next) notified.insert(each);
    }
    for (const std::string& each : notified) notify(each);
    if (from && !from->is_promising) leave_to_others(*from);
}

// A notification is a hint, so its failure is ignored: other workers look by themselves.
void job_dispatcher::notify(const std::string& queue) {
    try {
        use([&](connection& on, store_set& stores) {
            session_->database().part<job_notifier>().notify(on, stores, queue);
        });
    } catch (const error&) {
        return;
    }
}

// This worker has claimed all jobs of its kinds. The jobs it made available may be of another kind,
// whose workers are idle.
void job_dispatcher::leave_to_others(queue_state& queue) {
    if (!std::exchange(queue.may_have_freed, false) || kinds_.empty()) return;
    try {
        use([&](connection& on, store_set& stores) {
            const bool is_there = !stores.get<job_queue_store>()
                                       .count_available(on, queue.name, std::nullopt, 1)
                                       .empty();
            if (is_there) session_->database().part<job_notifier>().notify(on, stores, queue.name);
        });
    } catch (const error&) {
        // The notification is a hint, as above.
    }
}

// Notes ended jobs for which others may wait. The next look tells whether any do. A turn finds the
// ends that do not fit into the list.
void job_dispatcher::remember(const std::vector<ended_job>& ends) {
    constexpr std::size_t most = 10'000;
    for (const ended_job& each : ends) {
        if (some_are_needed_ || unsettled_.size() < most) unsettled_.push_back(each.end.id);
    }
}

// Lets jobs that waited for these go on at once, some thousand at a time, so that freed jobs are
// claimed in between. A failure here loses no claimed jobs: a turn frees the remaining ones.
void job_dispatcher::settle() {
    if (unsettled_.empty()) return;
    try {
        use([&](connection& on, store_set& stores) {
            const auto tell = [&](const std::string& queue) { goes_on(on, stores, queue); };
            // A failure leaves the list as it is, and the next look goes on.
            unsettled_ = settle_some_needs(on, stores, unsettled_, tell);
        });
    } catch (const error& failure) {
        warn(std::string{"jobs that waited for others go on later: "} + failure.what());
    }
}

// Does some hundred rows of the pass. Returns how many jobs go on; idle workers are told of them.
std::int64_t job_dispatcher::go_on_with(
    connection& on, store_set& stores, queue_state& queue, unblock_pass& pass
) {
    std::int64_t freed = 0;
    if (!pass.is_over_through || !pass.is_waiting_through) {
        const auto tell = [&](const std::string& name) { goes_on(on, stores, name); };
        freed += settle_left_needs(on, stores, queue.name, pass.needs, tell);
        pass.is_over_through = pass.is_over_through || pass.needs.over.needs == 0;
        pass.is_waiting_through = pass.is_waiting_through || pass.needs.waiting == 0;
    }
    if (!pass.are_keys_through) {
        freed += stores.get<job_queue_store>().unblock(
            on, queue.name, max_unblocked_in_pass, pass.place
        );
        pass.are_keys_through = pass.place.is_beginning();
    }
    if (freed > 0) goes_on(on, stores, queue.name);
    return freed;
}

// Lets jobs go on whose needs have all ended; true if there were some. A worker calls this before
// it concludes that no job is left.
bool job_dispatcher::unblocks(
    connection& on, store_set& stores, queue_state& queue, bool some_wait
) {
    unblock_pass pass{!some_wait, !some_wait};
    while (!pass.is_through()) {
        if (go_on_with(on, stores, queue, pass) > 0) return true;
    }
    return false;
}

// The transaction that enqueues a job, and the end of the job that it waits for, do not see each
// other if both commit at once, or if the first one commits late. The notification of the new job
// comes after both commits: a pass that begins then finds that job. Passes take a twentieth of the
// time at most. Returns when to go on.
std::optional<local_clock::time_point> job_dispatcher::go_on_with_pass(
    connection& on, store_set& stores, queue_state& queue, const queue_look& seen
) {
    constexpr std::chrono::milliseconds pause_min{500};
    constexpr int pauses = 20;  // times the time that the rows took
    const auto now = local_clock::now();
    if (!queue.under_way) {
        if (!seen.some_wait && !seen.some_are_blocked) queue.needs_pass = false;
        if (!queue.needs_pass) return std::nullopt;
    }
    if (now < queue.next_pass) return queue.next_pass;
    if (!queue.under_way) {
        queue.needs_pass = false;
        queue.under_way = {!seen.some_wait, !seen.some_wait, !seen.some_are_blocked};
    }
    go_on_with(on, stores, queue, *queue.under_way);
    const auto end = local_clock::now();
    queue.next_pass = end + pauses * (end - now);
    if (queue.under_way->is_through()) {
        queue.under_way.reset();
        queue.next_pass = std::max(queue.next_pass, end + pause_min);
        if (!queue.needs_pass) return std::nullopt;
    }
    return queue.next_pass;
}

bool job_dispatcher::may_have_left_waiting() const noexcept {
    return some_are_needed_ || std::ranges::any_of(queues_, &queue_state::has_keys);
}

// Tells this worker and idle ones that jobs of the queue are blocked no more.
void job_dispatcher::goes_on(connection& on, store_set& stores, const std::string& name) {
    session_->database().part<job_notifier>().notify(on, stores, name);
    for (queue_state& each : queues_) {
        if (each.name == name) each.expect_jobs();
    }
}

}  // namespace leasehold
