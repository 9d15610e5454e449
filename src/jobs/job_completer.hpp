#pragma once
// Sends the ends of a worker's jobs, together with a claim of the fetcher, and frees the jobs that
// waited for those that ended.
//
// Threads: only the thread of worker::run(); the functions of job_desk, any.
#include <map>
#include <string>
#include <vector>

#include "core/thread_mutex.hpp"
#include "jobs/job_executor.hpp"
#include "jobs/job_fetcher.hpp"
#include "jobs/job_queue_store.hpp"

namespace leasehold {

job_retention job_retention_of(const queue_limits& limits);

class job_completer final : public job_desk {
public:
    job_completer(worker_queues& of, job_fetcher& with) : queues_(of), fetcher_(with) {}

    // exchange() sends the ends that have no answer, notes their answers in them, and claims
    // `wanted` jobs in the first promising queue. It throws the error of what failed; the caller
    // calls again with all the ends then.
    struct parcel {
        std::string queue{};  // of the jobs
        std::vector<claimed_job> jobs{};
        bool was_refused = false;                          // the session has ended
        std::optional<local_clock::time_point> look_by{};  // jobs may be startable then
    };
    // These ends may make jobs available that are not claimed with them: with `claims_next` this
    // worker claims those next; otherwise it tells other workers.
    parcel exchange(std::vector<ended_job>& ends, std::size_t wanted, bool claims_next);

    // Heeds a look: some jobs of the queues are needed by others, and how long ended ones are kept.
    void note_needed(bool some_are) noexcept { some_are_needed_ = some_are; }
    void note_kept(const std::string& queue, const job_retention& kept);
    // Frees jobs that waited for ended jobs of ours. False if none can have waited.
    bool settle();
    // Other jobs still wait for ended jobs of ours: settle() frees them.
    bool is_unsettled() const noexcept { return some_are_needed_ && !unsettled_.empty(); }
    // Other jobs may wait for ended jobs of ours: the next look finds that out.
    bool may_be_unsettled() const noexcept { return !some_are_needed_ && !unsettled_.empty(); }
    // A claim after a notification may have missed jobs that wait needlessly: the next look finds
    // them.
    bool may_have_left_waiting() const noexcept {
        return some_are_needed_ || std::ranges::any_of(queues_.all, &worker_queue::has_keys);
    }

    local_clock::time_point deadline() const noexcept override;
    bool note_progress(job_id id, fencing_token token, const std::string& words) override;
    bool save_checkpoint(
        std::optional<transaction_ref> tx, const job_claim& which, const std::string& state
    ) override;
    bool complete_in(transaction_ref tx, const std::string& queue, const job_end& end) override;

private:
    template <class Change>
    bool changes_in(transaction_ref tx, const char* operation, const Change& change);
    // Sends the ends of one queue, which have these indexes in `ends`, together with a claim if one
    // is wanted.
    void send(
        std::vector<ended_job>& ends,
        const std::vector<std::size_t>& places,
        worker_queue& queue,
        std::size_t wanted,
        parcel& back
    );
    std::optional<job_state> state_behind(const ended_job& one);
    void resolve(std::vector<ended_job>& ends, const std::vector<std::size_t>& places) noexcept;
    void free_behind(
        const std::vector<ended_job>& ends, parcel& back, worker_queue* from, bool claims_next
    );
    void notify(const std::string& queue, bool if_available);
    void remember(const std::vector<ended_job>& ends);
    job_retention kept_for(const std::string& queue, const std::vector<job_end>& ends);
    std::optional<job_retention> known_kept(const std::string& queue) const;
    job_retention kept_of(connection& on, store_set& stores, const std::string& queue);

    worker_queues& queues_;
    job_fetcher& fetcher_;
    // A handler may complete its job while run() reads its retention.
    mutable thread_mutex mutex_;
    std::map<std::string, job_retention> kept_ LEASEHOLD_GUARDED_BY(mutex_);
    bool some_are_needed_ = false;   // some jobs are needed by others, as of the last look
    std::vector<job_id> unsettled_;  // ended jobs for which others may wait
};

}  // namespace leasehold
