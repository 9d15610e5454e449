#pragma once
// Sends the statements of a worker to the database: one at a time, for all its threads.
//
// | a queue is | means                                    | becomes                              |
// |------------|------------------------------------------|--------------------------------------|
// | promising  | there may be jobs for us                 | dull, when a claim brings fewer than  |
// |            |                                          | were wanted                          |
// | dull       | nothing was there when it was looked at  | promising, by a look or what has come |
// |            |                                          | due                                  |
//
// A claim without an answer may still be made. Until that is impossible, the worker looks in the
// queue for jobs of this session that it does not know, and does them.
//
// Threads: only the thread of run() calls exchange(), look() and the like; any may use job_desk.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "jobs/fire.hpp"
#include "jobs/job_executor.hpp"
#include "jobs/job_listener.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/worker.hpp"
#include "session/session.hpp"

namespace leasehold {

job_retention job_retention_of(const queue_limits& limits);

class job_dispatcher final : public job_desk {
public:
    job_dispatcher(
        std::shared_ptr<session::implementation> within,
        const worker_settings& settings LEASEHOLD_LIFETIMEBOUND
    );
    // The kinds of job that are claimed from now on; none: all.
    void set_kinds(std::vector<std::string> kinds) { kinds_ = std::move(kinds); }

    // exchange() sends the ends, and claims `wanted` jobs in the first promising queue. It throws
    // the error of what failed; the caller sends the ends again then.
    struct parcel {
        job_store::end_states ends{};  // nullopt: its claim had gone, or its state is unknown
        std::string queue{};           // of the jobs
        std::vector<claimed_job> jobs{};
        bool was_refused = false;                          // the session has ended
        std::optional<local_clock::time_point> look_by{};  // jobs may be startable then
    };
    // These ends may make jobs available that are not claimed with them: with `claims_next` this
    // worker claims those next; otherwise it tells other workers.
    parcel exchange(const std::vector<ended_job>& ends, std::size_t wanted, bool claims_next);
    // Other jobs still wait for ended jobs of ours: look() frees them.
    bool is_unsettled() const noexcept { return some_are_needed_ && !unsettled_.empty(); }
    bool has_promising_queue() const noexcept;
    // True if a queue has limits, as of the last look.
    bool has_limits() const noexcept;
    // True if an unanswered claim may have been made.
    bool is_in_doubt() const noexcept;

    // Other jobs may wait for ended jobs of ours: the next look finds that out.
    bool may_be_unsettled() const noexcept { return !some_are_needed_ && !unsettled_.empty(); }

    // Notes that there are new jobs in the queue; any thread may call it.
    void note_notification(const std::string& queue);
    // A claim after a notification may have missed jobs that wait needlessly: the next look finds
    // them.
    bool may_have_left_waiting() const noexcept;
    // Makes the queues promising of which a notification came since the last call. True: there were
    // some.
    bool heed_notifications();
    bool was_notified() const;
    void announce(job_listener& whose);
    void withdraw(job_listener& whose);

    // Reads all queues at once, makes due jobs available, and does the upkeep that other workers
    // left undone, if it is our turn. Returns when to look next, at the latest.
    local_clock::time_point look(local_clock::time_point now);
    // The last look found nothing that could run.
    bool is_all_done() const noexcept { return is_all_done_; }
    // The jobs that are available in these queues and were not taken, by queue and kind.
    std::vector<left_jobs> count_left();
    // Jobs of this session that the caller does not know, each with its queue.
    using found_claims = std::vector<std::pair<std::string, claimed_job>>;
    template <class Knows>
    found_claims look_for_lost_claims(Knows&& knows) {
        found_claims lost;
        for (auto& [queue, claim] : claims_in_doubt()) {
            if (!knows(claim)) lost.emplace_back(std::move(queue), std::move(claim));
        }
        return lost;
    }
    std::vector<claim_standing> standings(const std::vector<job_claim>& held);

    local_clock::time_point deadline() const noexcept override;
    bool note_progress(job_id id, fencing_token token, const std::string& words) override;
    bool complete_in(transaction_ref tx, const std::string& queue, const job_end& end) override;

    // The jobs that were rescued since the last call.
    std::int64_t take_rescued() noexcept { return std::exchange(rescued_, 0); }

private:
    static constexpr int max_unblocked = 1000, max_unblocked_in_pass = 100;  // keys
    // A dead worker's jobs are available again within this, and a poll, of its session's end.
    static constexpr std::chrono::seconds maintain_every{2};

    // The longest time until the next look: a longer one could run over the end of the clock.
    static constexpr std::chrono::microseconds max_look = std::chrono::hours{1};

    // One pass over all jobs that may wait needlessly, some hundred rows at a time.
    struct unblock_pass {
        bool is_over_through = false, is_waiting_through = false, are_keys_through = false;
        need_places needs{};
        blocked_place place{};
        bool is_through() const noexcept {
            return is_over_through && is_waiting_through && are_keys_through;
        }
    };
    struct queue_state {
        std::string name;
        bool is_promising = true;
        bool is_promised = false;     // by the last look
        bool brings_nothing = false;  // no claim found jobs that it promised
        bool has_limits = false;
        std::optional<std::chrono::nanoseconds> start_every{};  // by its rate
        // The pause before a look at jobs that a claim left; longer after each claim without jobs.
        std::chrono::nanoseconds left_pause{0};
        bool may_have_freed = false;  // jobs of any kind, since the last claim
        bool has_keys = false;        // jobs with ordering keys were claimed
        bool needs_pass = true;       // a notification came, since the last pass began
        // Until then a claim without an answer may come; a last look for its jobs comes after that.
        std::optional<local_clock::time_point> in_doubt_until{};
        local_clock::time_point next_maintenance{};
        blocked_place place{};
        std::optional<unblock_pass> under_way{};
        local_clock::time_point next_pass{};
        fire_place schedules{};
        need_places needs{};

        // Notes that there may be jobs that no claim has looked for yet.
        void expect_jobs() noexcept {
            is_promising = true;
            brings_nothing = false;
        }
    };

    template <class Use>
    auto use(Use&& with) {
        return session_->database().use(session_->one_request(), std::forward<Use>(with));
    }
    void note_claims(
        queue_state& queue, const claim_request& request, claim_result claimed, parcel& back
    );
    std::optional<job_state> state_behind(const ended_job& one);
    void resolve(
        const std::vector<ended_job>& ends, const std::vector<std::size_t>& places, parcel& back
    ) noexcept;
    found_claims claims_in_doubt();
    void heed_limits(queue_state& queue, const queue_limits& limits);
    void maintain(connection& on, store_set& stores, queue_state& queue, const queue_look& seen);
    fire_result fires(connection& on, store_set& stores, queue_state& queue);
    void prune(connection& on, store_set& stores);
    local_clock::time_point next_fire(
        connection& on, store_set& stores, const queue_state& queue, const fire_result& done
    );
    void free_behind(
        const std::vector<ended_job>& ends, parcel& back, queue_state* from, bool claims_next
    );
    void notify(const std::string& queue);
    void leave_to_others(queue_state& queue);
    void remember(const std::vector<ended_job>& ends);
    void settle();
    void goes_on(connection& on, store_set& stores, const std::string& name);
    job_retention kept_for(queue_state& queue, const std::vector<job_end>& ends);
    void warn(const std::string& said) const;
    void tell_rescued(const std::string& queue, std::int64_t jobs, event_reason how) const;
    void complain_of_address(const error& failure);
    local_clock::time_point look_at(
        connection& on, store_set& stores, queue_state& queue, const queue_look& seen
    );
    bool unblocks(connection& on, store_set& stores, queue_state& queue, bool some_wait);
    std::int64_t go_on_with(
        connection& on, store_set& stores, queue_state& queue, unblock_pass& pass
    );
    std::optional<local_clock::time_point> go_on_with_pass(
        connection& on, store_set& stores, queue_state& queue, const queue_look& seen
    );
    bool is_left(connection& on, store_set& stores, const queue_state& queue) const;
    queue_state* next_promising() noexcept;
    queue_state& state_of(const std::string& queue);
    void note_in_doubt(queue_state& queue);
    std::optional<job_retention> known_kept(const std::string& queue) const;
    job_retention kept_of(connection& on, store_set& stores, const std::string& queue);
    // Sends the ends of one queue, which have these indexes in `ends`, together with a claim if one
    // is wanted.
    void send(
        const std::vector<ended_job>& ends,
        const std::vector<std::size_t>& places,
        queue_state& queue,
        std::size_t wanted,
        parcel& back
    );

    const std::shared_ptr<session::implementation> session_;
    const worker_settings& settings_;
    std::vector<std::string> kinds_;
    std::vector<queue_state> queues_;
    // A handler may complete its job while run() reads its retention.
    mutable thread_mutex mutex_;
    std::map<std::string, job_retention> kept_ LEASEHOLD_GUARDED_BY(mutex_);
    std::set<std::string> notified_ LEASEHOLD_GUARDED_BY(mutex_);
    std::size_t first_ = 0;                          // the queue that is asked first next
    std::set<std::string> complained_of_;            // schedules, once each
    local_clock::time_point known_everywhere_at_{};  // all know our address then
    local_clock::time_point next_pass_of_all_{};
    bool has_complained_of_address_ = false;
    // The number of the first rows of the history whose delete is refused, and since when.
    std::size_t kept_back_ = 0;
    local_clock::time_point kept_back_since_{};
    bool sees_all_ = false;          // no rows are hidden from us, as of the first claim
    bool some_are_needed_ = false;   // some jobs are needed by others, as of the last look
    std::vector<job_id> unsettled_;  // ended jobs for which others may wait
    bool is_all_done_ = false;
    std::int64_t rescued_ = 0;
};

}  // namespace leasehold
