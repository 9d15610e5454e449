#pragma once
// The threads that run handlers, and the jobs they have: claimed, running, ended.
//
// | a job here is | by                      | becomes                                            |
// |---------------|-------------------------|----------------------------------------------------|
// | waiting       | give()                  | running, by the next free thread; taken back        |
// | running       | a thread                | ended, when its handler does; abandoned             |
// | ended         | the handler's end       | gone, when take_ends() has handed it over           |
// | abandoned     | abandon()               | –: its handler's end is not heard any more          |
//
// Threads: safe. Handlers are called without the mutex.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "jobs/job_attempt.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/observer.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {

// The database as a running handler uses it.
class job_desk {
public:
    virtual ~job_desk() = default;
    virtual local_clock::time_point deadline() const noexcept = 0;
    virtual bool note_progress(job_id id, fencing_token token, const std::string& words) = 0;
    // In the caller's transaction, if there is one.
    virtual bool save_checkpoint(
        std::optional<transaction_ref> tx, const job_claim& which, const std::string& state
    ) = 0;
    virtual bool complete_in(transaction_ref tx, const std::string& queue, const job_end& end) = 0;
};

struct attempt_end {
    job_step step = job_step::complete;
    std::chrono::microseconds delay{0};
    std::string words{};
};
// Gives the job back, with its attempt uncounted.
inline attempt_end returned() {
    return {job_step::release, {}, {}};
}

class job::implementation {
public:
    implementation(claimed_job what, std::string queue, std::weak_ptr<job_desk> desk)
        : what_(std::move(what)), queue_(std::move(queue)), desk_(std::move(desk)) {}

    const claimed_job& what() const noexcept { return what_; }
    const std::string& queue() const noexcept { return queue_; }
    // True if it should have no neighbours that wait: see claim_plan.hpp.
    bool is_fragile() const noexcept { return what_.rescues > 0 || what_.may_not_be_rescued; }
    // Before its handler was called; before its claim, if it has not started.
    std::optional<std::chrono::nanoseconds> waited() const;
    std::stop_token stop() const noexcept { return stop_.get_token(); }
    job_stop_reason why_stopped() const;
    local_clock::time_point deadline() const noexcept;
    // The first reason counts, but a lost claim replaces every other.
    void ask_to_stop(job_stop_reason why);

    void progress(std::string_view words);
    void save_checkpoint(std::optional<transaction_ref> tx, std::string_view state);
    void set_result(std::string_view words);
    void decide(job_step step, std::chrono::microseconds delay, std::string_view words);
    void rest_for(std::chrono::milliseconds rest) noexcept { rest_ = rest; }
    void retry_after(std::chrono::milliseconds delay) noexcept { retry_delay_ = delay; }
    void complete_in(transaction_ref tx);

    bool is_completed_in_transaction() const noexcept { return is_completed_in_transaction_; }
    std::chrono::milliseconds rest() const noexcept { return rest_; }
    // Runs the handler, and says what becomes of the job.
    attempt_end run(const job_handler& with);

    // Guarded by the executor's mutex.
    local_clock::time_point given{};
    std::optional<local_clock::time_point> started;
    std::optional<local_clock::time_point> limit;
    bool is_abandoned = false;

private:
    [[noreturn]] void refuse_lost(const char* what_to_do);
    attempt_end failed(std::string_view words) const;
    attempt_end judged(const std::optional<std::string>& thrown) const;

    const claimed_job what_;
    const std::string queue_;
    const std::weak_ptr<job_desk> desk_;
    std::stop_source stop_;
    mutable thread_mutex mutex_;
    job_stop_reason why_ LEASEHOLD_GUARDED_BY(mutex_) = job_stop_reason::none;
    // Used by the handler's thread alone.
    attempt_end end_;
    std::chrono::milliseconds rest_{0};                     // of the worker, after this job
    std::optional<std::chrono::microseconds> retry_delay_;  // if this attempt fails
    std::atomic<bool> is_completed_in_transaction_ = false;
};

struct ended_job {
    std::string queue;
    job_end end;
    job_step step{};
    // Set by complete_in(). If the transaction was committed the job is done, and the database
    // refuses this end.
    bool is_in_transaction = false;
    bool was_sent = false;  // once, without an answer
    // Set with the answer: `became` is the job's state then; nullopt: its claim had gone, or its
    // state is unknown.
    bool is_answered = false;
    std::optional<job_state> became{};
    bool has_key = false;  // other jobs of the key may wait for its end
    job_state presumed{};  // the state after this end, for when no row has it
    std::string kind{};
    int attempt = 0, rescues = 0;
    std::optional<std::chrono::nanoseconds> ran{};  // the time of its handler
    std::optional<std::chrono::nanoseconds> waited{};
};

// A handler that runs for longer counts as slow.
constexpr std::chrono::nanoseconds prefetch_horizon = std::chrono::milliseconds{50};

// The end that gives back a job.
ended_job returned_end(const job::implementation& one);
// Its views are of `one`.
event event_of(event_kind what, const job::implementation& one);
// Adds one end to the report, and returns its event, whose views are of `one`.
event count_end(const ended_job& one, worker_report& sum);

class job_executor : public std::enable_shared_from_this<job_executor> {
public:
    using task = std::shared_ptr<job::implementation>;
    using handlers = std::map<std::string, job_handler, std::less<>>;

    // `for_all` handles kinds without a handler of their own. It may be empty. `told` is told of
    // starts and of handlers over their limit.
    job_executor(handlers by_kind, job_handler for_all, std::shared_ptr<observer> told);
    // `measures`: keeps the mean of the handlers' times.
    void start(int threads, bool measures);
    // Ends the threads that run no handler now. The others end when their handlers do; `waits`:
    // this waits for them.
    void end(bool waits) noexcept;

    void give(const std::vector<task>& jobs);
    // The ends that give back to the database the jobs that have not started.
    std::vector<ended_job> take_back();
    // The ends since the last call, at most `most`.
    std::vector<ended_job> take_ends(std::size_t most);
    // Puts back ends that could not be recorded: as the first; or as the last, so that an end that
    // fails each time does not block the other ends.
    void put_back(std::vector<ended_job> ends, bool as_last = false);

    struct tally {
        std::size_t waiting = 0, running = 0, ended = 0;
        local_clock::time_point oldest_end{};    // set if `ended` > 0
        local_clock::time_point rests_until{};   // until then nothing is claimed
        local_clock::time_point oldest_given{};  // set if `waiting` > 0
        std::size_t fragile = 0;                 // of those that wait or run
        // Both only if times are measured: the handlers that have run for longer than the horizon,
        // and the mean of the handlers' times, in which recent ones count for more. The mean is
        // nullopt after idleness.
        std::size_t slow = 0;
        std::optional<std::chrono::nanoseconds> mean{};
        std::size_t busy() const noexcept { return waiting + running; }
    };
    tally count() const;
    bool knows(job_id id, fencing_token token) const;
    // The claims that run since before then and are not completed by their handlers.
    std::vector<job_claim> running_since(local_clock::time_point before) const;
    void ask_to_stop(const job_claim& which, job_stop_reason why);
    void ask_all_to_stop(job_stop_reason why);
    // Asks handlers over their limit to stop. Returns the next limit.
    std::optional<local_clock::time_point> heed_limits(local_clock::time_point now);
    // Ends, as given back, all jobs that wait if one of them was given before then.
    void give_back_if_older(local_clock::time_point than);
    // Abandons the jobs that still run, and returns the ends that give them back.
    std::vector<ended_job> abandon();

    // Waits until `holds` is true, which is called with the mutex held, or the time has come.
    void wait(
        local_clock::time_point until,
        const std::function<bool(const tally&)>& holds,
        const std::stop_token& stop,
        const std::stop_token& over
    );
    void wake();

private:
    void work();
    tally counted() const LEASEHOLD_REQUIRES(mutex_);
    void tell_to_end(std::size_t running) noexcept;
    void note_end(ended_job end) LEASEHOLD_REQUIRES(mutex_);
    static constexpr std::chrono::nanoseconds max_sample = std::chrono::milliseconds{200};
    void note_time(std::chrono::nanoseconds ran) LEASEHOLD_REQUIRES(mutex_);
    void give_back() LEASEHOLD_REQUIRES(mutex_);
    // Gives back jobs that wait, and those that come meanwhile.
    void rest(std::chrono::milliseconds how_long) LEASEHOLD_REQUIRES(mutex_);
    const job_handler& handler_of(const std::string& kind) const;

    const handlers by_kind_;
    const job_handler for_all_;
    const std::shared_ptr<observer> told_;
    mutable thread_mutex mutex_;
    std::condition_variable_any has_work_, has_news_;
    std::deque<task> waiting_ LEASEHOLD_GUARDED_BY(mutex_);
    // By claim, not by job: a handler may still run after its job's end, when the job has begun
    // again here.
    std::map<std::pair<job_id, std::int64_t>, task> running_ LEASEHOLD_GUARDED_BY(mutex_);
    std::deque<ended_job> ended_ LEASEHOLD_GUARDED_BY(mutex_);
    local_clock::time_point oldest_end_ LEASEHOLD_GUARDED_BY(mutex_){};
    local_clock::time_point rests_until_ LEASEHOLD_GUARDED_BY(mutex_){};
    std::optional<std::chrono::nanoseconds> mean_ LEASEHOLD_GUARDED_BY(mutex_){};
    bool measures_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    bool is_over_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    bool is_woken_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    std::vector<std::thread> threads_;
};

}  // namespace leasehold
