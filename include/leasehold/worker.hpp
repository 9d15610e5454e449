#pragma once
// Does the jobs of queues: claims them in batches, runs a handler for each, and records the ends.
//
//   leasehold::worker mailer{db, {.queues = {"mail"}, .concurrency = 4}, {.name = "mailer"}};
//   mailer.handle("confirm", [&](leasehold::job& job) {
//       leasehold::transaction tx = db.begin();
//       tx.execute("INSERT INTO outbox (letter) VALUES ($1)", {job.payload()});
//       job.complete_in(tx);  // throws lease_lost: nothing was written
//       tx.commit();
//   });
//   mailer.run(stop);  // until it is asked to stop
//
// | the handler …                                        | the job is                          |
// |------------------------------------------------------|-------------------------------------|
// | returns                                              | completed                           |
// | returns after snooze_for(d), release(), discard(…)   | scheduled in d; available; discarded |
// | returns after release_and_rest(d)                    | available, soon to another worker   |
// | returns after complete_in(tx)                        | completed if tx was committed,      |
// |                                                      | failed if not                       |
// | throws                                               | retryable, or discarded where that  |
// |                                                      | was the last attempt                |
// | ends after its time limit, however                   | the same                            |
// | throws after it was asked to stop as worker_ends     | available; the attempt does not     |
// |                                                      | count                               |
// | ends, however, after it was asked to cancel          | cancelled; completed if it returns  |
// | ends after its claim was lost                        | somebody else's                     |
//
// A handler is asked to stop through job::stop(): by its time limit, by cancel_job(), by the end of
// the worker, and when its claim or its session is lost. It is not stopped by force.
//
// run() ends when its stop token asks:
//
// | in this order                      | the worker                                               |
// |------------------------------------|----------------------------------------------------------|
// | at once                            | claims no job, and gives back those that have not begun  |
// | for `drain_timeout`                | waits for the running jobs                               |
// | then for `stop_timeout`            | asks them to stop, and waits                             |
// | then                               | gives them back while they run, and refuses their ends   |
// | until the last handler has ended   | waits, so that handlers may use what stands beside run() |
//
// With `abandons_handlers` run() does not wait at the last step: the threads of such handlers go
// on, and use what the handler refers to for as long as they run. No handler may wait for run(). A
// second run() begins anew.
//
// One run() at a time works under a session; a second one of the same object throws
// invalid_argument. A job that could not be given back, since the database did not answer, is given
// back by the next run() under the same session, or rescued when that has ended.
//
// Promises: a job that was claimed is held by the session's heartbeat; when this process dies it is
// available again within the session's ttl and some seconds, rescued by any worker of the queue.
// Ends are recorded under the claim's token. Kinds without a handler are left alone.
// Does not promise: that a handler runs once, see job.hpp.
//
// | the database is away …        | a worker of a database               | a worker of a session |
// |-------------------------------|--------------------------------------|-----------------------|
// | when run() begins             | waits; throws where it drains        | waits                 |
// | for less than the ttl         | goes on                              | goes on               |
// | for longer: its jobs are lost | stops handlers and, when they have   | stops handlers, and   |
// |                               | ended, goes on under a new session   | throws session_lost   |
//
// A worker of a database that has once reached it also waits while the server refuses it, or the
// tables are missing or take no changes: somebody may be restoring them.
//
// An idle worker learns of each job that this library makes runnable, and starts it at once: one
// that is enqueued, replaced or made by a schedule, that comes due again after a failure or a
// snooze, that a worker gave back, that was rescued, that is the next of its ordering key, whose
// needs have ended, that a limit held back, and one that somebody makes runnable by retry_job(),
// cancel_job(), resume(), resume_job_schedule() or set_limits(). It learns by a datagram on the
// same machine, and between machines with a database_settings::wakeup_address (at a port of the
// worker's own); on PostgreSQL also by its notifications, at most ten times a second for each queue
// and process that notifies, over a connection of the worker's own, if the server is not behind a
// pooler. Else the worker finds the jobs when it looks.
//
// Cost: an idle worker reads once in `poll_every` for all its queues; one of all workers of a queue
// looks once in a second or two for what dead workers have left. A busy one records ends and claims
// more with one statement for many. One thread, and on PostgreSQL one connection, to learn of jobs.
// Errors: run() throws session_lost if the session that it was given ends first, and errors that
// cannot pass (permission, schema); it waits out those that can, also of a server that takes no
// changes for a time, and tells the observer. invalid_argument for settings out of range, a second
// handler of a kind, and a session under which another worker runs.
//
// Threads: handle() and wrap() before run(). run() blocks; handlers run on threads of the worker,
// as many at a time as `concurrency`. A `job` is its handler's alone, except for stop().
#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/callable.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/job.hpp"
#include "leasehold/session.hpp"
#include "leasehold/string_list.hpp"

namespace leasehold {

// A handler is asked to stop for one of these reasons.
enum class job_stop_reason {
    none = 0,
    attempt_timeout = 1,   // the attempt takes longer than new_job::attempt_timeout
    cancel_requested = 2,  // by cancel_job()
    worker_ends = 3,
    claim_lost = 4,  // somebody else may have the job: write nothing more
};

LEASEHOLD_EXPORT const char* name_of(job_stop_reason reason) noexcept;

// A running job, for its handler.
class LEASEHOLD_EXPORT job {
public:
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    job_id id() const noexcept;
    const std::string& queue() const noexcept;
    const std::string& kind() const noexcept;
    const std::string& payload() const noexcept;
    int attempt() const noexcept;  // 1: the first
    int max_attempts() const noexcept;
    int rescues() const noexcept;
    fencing_token token() const noexcept;
    // As new_job::traceparent; empty: none.
    const std::string& traceparent() const noexcept;
    // The text that an attempt before this one saved last; empty: none.
    const std::string& checkpoint() const noexcept;
    // The delay of its retry_policy until the next attempt, if this one fails.
    std::chrono::microseconds retry_delay() const;

    // Asks the handler to stop; why_stopped() says why.
    std::stop_token stop() const noexcept;
    // Until this time no other worker can have the job, unless its session is ended by force: heed
    // stop(). Each heartbeat moves it on.
    local_clock::time_point deadline() const noexcept;
    job_stop_reason why_stopped() const noexcept;

    // For find_job() and `leasehold job show`: UTF-8, cut to 4,000 bytes. progress() is written at
    // once, in one statement; throws lease_lost if the claim is gone. The result is written with
    // the end, and keeps the row for a day at least.
    void progress(std::string_view words);
    void set_result(std::string_view words);

    // Saves what the next attempt needs to go on from here, in place of what was saved before, in
    // one statement: UTF-8 without NUL, at most 65,536 bytes, else invalid_argument; empty: none.
    // The text stays while the job fails, snoozes, is given back or rescued, and when it runs again
    // after it was discarded or cancelled. A job that completes, is replaced, or gets another kind
    // or payload loses it. Throws lease_lost if the claim is gone: stop. If the answer is lost, the
    // text may have been saved, or not. An older program without migration 23 drops the text when
    // it ends the job.
    //
    // With save_checkpoint_in(tx) the text and the work before it are one commit; if it throws, the
    // caller must roll back. Begin tx in the handler: above READ COMMITTED, PostgreSQL answers an
    // older tx with a serialization failure or lease_lost. Until tx ends nobody can rescue or
    // cancel the job, and progress() and save_checkpoint() wait for it.
    void save_checkpoint(std::string_view state);
    void save_checkpoint_in(transaction_ref tx, std::string_view state);

    // Sets the end of the job, instead of completed, for when the handler returns. The last counts.
    void snooze_for(std::chrono::milliseconds delay);
    void release();
    // As release(); and for `rest`, 0 to 24 h, the worker claims nothing more, and gives back jobs
    // that have not started: for jobs that this host cannot do, and another one may.
    void release_and_rest(std::chrono::milliseconds rest);
    void discard(std::string_view why);
    // If this attempt fails, the next one comes after `delay`, 0 to 366 days, in place of
    // retry_delay(): for a service that says when to come back, or a back-off of your own.
    void set_retry_delay(std::chrono::milliseconds delay);

    // Completes the job in the caller's transaction, together with its other changes. Throws
    // lease_lost if the claim is gone: the caller must roll back. Until the transaction ends
    // nobody can claim, rescue or cancel the job.
    void complete_in(transaction_ref tx);

    class implementation;  // private: src/jobs/job_executor.hpp
    explicit job(implementation& of) noexcept : inner_(of) {}

private:
    implementation& inner_;
};

using job_handler = callable<void(job&)>;
// Stands around handlers: calls next(mine), and may log, trace and measure, or say by the end of
// the job what an exception means. Without a call of `next` the handler does not run, and the job
// ends as if it had.
//
//   mailer.wrap([](leasehold::job& mine, const leasehold::job_handler& next) {
//       try {
//           next(mine);
//       } catch (const no_such_address& why) {
//           mine.discard(why.what());   // or mine.snooze_for(1h); rethrown it is tried again
//       }
//   });
using job_wrapper = callable<void(job& mine, const job_handler& next)>;

// The queue of a worker in which it claims next, of those that may have jobs.
//
// | value     | the queue                                                                        |
// |-----------|----------------------------------------------------------------------------------|
// | in_turn   | each in its turn, or as often as its weight in worker_settings says              |
// | as_listed | the first one that is listed: later ones wait as long as those before have jobs  |
enum class queue_order { in_turn = 1, as_listed = 2 };

// A worker claims, runs and ends jobs by these settings.
struct worker_settings {
    string_list queues{};  // 1 to 100
    // Claims go by this order; a job that was claimed ahead is not put back for one of an earlier
    // queue.
    queue_order order = queue_order::in_turn;
    // With `in_turn`: of claims while several queues have jobs, a queue of weight 3 gets three for
    // each one of a queue that is not named here. 1 to 1,000.
    std::map<std::string, int> weights{};
    int concurrency = 4;  // handlers at a time; 1 to 1,000
    // The jobs claimed beyond those that run, so that threads do not wait for the database. Jobs
    // that wait here wait for this process, count against the limits of their queue, and have one
    // rescue more if the process dies. Without a value the worker measures its handlers and claims
    // as many jobs as its threads begin within 50 ms: 200 at most, none where a job takes longer,
    // and none while a queue has limits. It gives back jobs that have waited for 100 ms behind slow
    // ones. 0 to 1,000 is a fixed number. Either way none is claimed ahead beside a job of a dead
    // worker or one without a rescue left: a worker that dies then discards no job that waited.
    std::optional<int> prefetch{};
    // The time between looks if no job was found; 10 ms to 1 h.
    std::chrono::milliseconds poll_every{1000};
    // If true, one statement records the ends of several jobs; if false, each end is recorded by
    // itself, at once.
    bool batches_ends = true;
    // The time that an end may wait for others to be recorded with, while more than half of the
    // jobs claimed ahead are left to do; 0 to 1 s.
    std::chrono::milliseconds max_ends_wait{5};
    // Stop by itself when no job is left that could run: jobs stay that are of kinds without a
    // handler, in a paused queue, not due, or waiting for others that do not run.
    bool stop_when_idle = false;
    std::chrono::milliseconds drain_timeout{30'000};  // 0 to 24 h
    std::chrono::milliseconds stop_timeout{10'000};   // 0 to 24 h
    bool abandons_handlers = false;                   // see above
};

// Jobs that were available when a worker that drains had nothing to do any more: of kinds that have
// no handler there, or in a paused queue.
struct left_jobs {
    std::string queue{};
    std::string kind{};
    std::int64_t jobs = 0;  // counted up to 10,000 of each queue
};

// The ends of one run(), as the database has carried them out: a job that was to be cancelled
// counts as cancelled, also if its handler failed. A job that goes back before it has begun does
// not count, unless that cancels it.
struct worker_report {
    std::int64_t completed = 0;
    std::int64_t failed = 0;    // attempts
    std::int64_t returned = 0;  // snoozed, released, given back
    std::int64_t discarded = 0;
    std::int64_t cancelled = 0;
    std::int64_t lost = 0;  // ends that were refused, or never sent: the claim was gone
    // Ends that may have been carried out, and calls of complete_in() whose commit is not known.
    std::int64_t unknown = 0;
    std::int64_t rescued = 0;
    std::int64_t abandoned = 0;     // jobs that were given back while their handlers still ran
    std::vector<left_jobs> left{};  // set with stop_when_idle
};

class LEASEHOLD_EXPORT worker {
public:
    // Opens sessions of its own, one after the other, each as `timing` says.
    worker(database of, worker_settings settings, session_settings timing = {});
    // Works under this session for as long as that lives.
    worker(session& within, worker_settings settings);
    worker(worker&&) noexcept;
    worker& operator=(worker&&) noexcept;
    ~worker();

    // Sets the one handler of a kind, before run(): during it this throws invalid_argument.
    void handle(std::string kind, job_handler with);
    // Sets the handler of all kinds that have no other, before run().
    void handle_all(job_handler with);
    // Stands around the handlers of all kinds, before run(): the first that was given is outermost.
    void wrap(job_wrapper around);

    // Blocks until it is asked to stop, or nothing is left (`stop_when_idle`).
    worker_report run(std::stop_token stop = {});
    // The report so far of the run() under way, or that of the last one; from any thread.
    worker_report progress() const;

    class implementation;  // private: src/jobs/worker.cpp

private:
    leasehold::handle<std::shared_ptr<implementation>, "worker"> inner_;
};

}  // namespace leasehold
