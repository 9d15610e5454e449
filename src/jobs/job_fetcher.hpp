#pragma once
// Chooses the queues in which a worker claims jobs, and heeds what their claims brought. The
// completer sends the claims, since ends of jobs travel with them.
//
// A claim without an answer may still be made. Until that is impossible, the worker looks in the
// queue for jobs of this session that it does not know, and does them.
//
// Threads: only the thread of worker::run(); note_notification(), any.
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "jobs/job_store.hpp"
#include "jobs/worker_queues.hpp"

namespace leasehold {

class job_fetcher {
public:
    explicit job_fetcher(worker_queues& of) : queues_(of) {}

    // Notes that there are new jobs in the queue.
    void note_notification(const std::string& queue);
    bool was_notified() const;
    // Makes the queues promising of which a notification came since the last call. True: there were
    // some.
    bool heed_notifications();

    bool has_promising_queue() const noexcept;
    // The queue to claim in next, or null. Throws if rows are hidden from this user.
    worker_queue* next_promising();
    claim_request request(const worker_queue& queue, std::size_t wanted) const;
    // Heeds the answer to such a request. Returns when to look for jobs that it may have left.
    std::optional<local_clock::time_point> note_claims(
        worker_queue& queue, const claim_request& request, const std::vector<claimed_job>& jobs
    );

    void note_in_doubt(worker_queue& queue);
    // True if an unanswered claim may have been made.
    bool is_in_doubt() const noexcept;
    // Jobs of this session that the caller does not know, each with its queue.
    using found_claims = std::vector<std::pair<std::string, claimed_job>>;
    found_claims look_for_lost_claims(const std::function<bool(const claimed_job&)>& knows);
    std::vector<claim_standing> standings(const std::vector<job_claim>& held);

private:
    worker_queues& queues_;
    mutable thread_mutex mutex_;
    std::set<std::string> notified_ LEASEHOLD_GUARDED_BY(mutex_);
    double turn_ = 0;        // of the last claim
    bool sees_all_ = false;  // no rows are hidden from us, as of the first claim
};

}  // namespace leasehold
