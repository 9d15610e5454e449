// The part of a worker that frees jobs which waited for those that have ended here.
#include <set>
#include <utility>

#include "database/database.hpp"
#include "job/courier.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

// The next ones of the keys of these are available since, and the next look may be an hour away.
// Where this worker takes all there are, nobody else has to come. Behind what was claimed, which no
// failure here may lose.
void courier::free_behind(
    const std::vector<ended_job>& ends, const parcel& back, queue_state* from, bool claims_next
) {
    std::set<std::string> names;
    for (std::size_t at = 0; at < ends.size(); ++at) {
        const bool has_ended = back.ends[at] || ends[at].is_in_transaction;
        if (ends[at].has_key && has_ended) names.insert(ends[at].queue);
    }
    for (const std::string& each : names) {
        queue_state& queue = state_of(each);
        queue.may_have_freed = true;
        const bool is_claimed = &queue == from;
        if (is_claimed && !queue.is_promising) continue;
        queue.is_promising = true;
        queue.brings_nothing = false;
        if (!is_claimed && claims_next) continue;
        try {
            use([&](connection& on, store& stores) {
                session_->database().job_bells().ring(on, stores, each);
            });
        } catch (const error&) {
            // A hint: the others look by themselves.
        }
    }
    if (from && !from->is_promising) leave_to_others(*from);
}

// This worker has claimed all there is of its kinds. What it made available may be of another kind,
// whose workers are idle.
void courier::leave_to_others(queue_state& queue) {
    if (!std::exchange(queue.may_have_freed, false) || kinds_.empty()) return;
    try {
        use([&](connection& on, store& stores) {
            const bool is_there =
                !stores.job_queues->count_available(on, queue.name, std::nullopt, 1).empty();
            if (is_there) session_->database().job_bells().ring(on, stores, queue.name);
        });
    } catch (const error&) {
        // A hint, as above.
    }
}

// As of the last look nobody may have needed any; then the next look tells. A turn finds what does
// not fit.
void courier::remember(const std::vector<ended_job>& ends) {
    constexpr std::size_t most = 10'000;
    for (const ended_job& each : ends) {
        if (some_are_needed_ || unsettled_.size() < most) unsettled_.push_back(each.end.id);
    }
}

// Jobs that waited for these go on at once, some thousand at a time, so that what is free is
// claimed in between. A hint, behind what was claimed: what fails here is found by a turn.
void courier::settle() {
    if (unsettled_.empty()) return;
    try {
        use([&](connection& on, store& stores) {
            const auto tell = [&](const std::string& queue) { goes_on(on, stores, queue); };
            // Where this fails they stay as they are, and the next look goes on.
            unsettled_ = settle_some_needs(on, stores, unsettled_, tell);
        });
    } catch (const error& failure) {
        warn(std::string{"jobs that waited for others go on later: "} + failure.what());
    }
}

// There are jobs in the queue that were blocked: for us, and for whoever is idle.
void courier::goes_on(connection& on, store& stores, const std::string& name) {
    session_->database().job_bells().ring(on, stores, name);
    for (queue_state& each : queues_) {
        if (each.name != name) continue;
        each.is_promising = true;
        each.brings_nothing = false;
    }
}

}  // namespace leasehold
