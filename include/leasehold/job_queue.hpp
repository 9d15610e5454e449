#pragma once
// A queue of jobs in a table: enqueued in your own commit, claimed by workers (worker.hpp).
//
//   leasehold::job_queue mail{db, "mail"};
//   leasehold::transaction tx = db.begin();
//   tx.execute("INSERT INTO purchase VALUES ($1)", {42});
//   mail.enqueue_in(tx, {.kind = "confirm", .payload = R"({"purchase":42})"});
//   tx.commit();  // the order and its job, or neither
//
// A queue is a name: up to 255 bytes of UTF-8. It exists from its first job, worker or setting on.
//
// Promises: workers see a job that was enqueued in a transaction when that commits, and never
// otherwise. Limits count live claims, not a number that could drift: the claims of a worker that
// died stop counting as soon as its jobs are rescued. If two jobs have one unique key, one of them
// is enqueued.
// Does not promise: that jobs of one priority start exactly in the order of their ids. The order
// may differ if several workers claim at once, if a job is enqueued by a transaction that commits
// late, and, on MySQL and MariaDB, if jobs of several kinds are committed during a claim of several
// kinds, which reads one kind after another. Nor that a job that comes back, such as by a retry,
// starts before those that wait: under a high load it may wait for a second. Jobs of one ordering
// key run one at a time whatever happens, and in the order of their ids as far as they were
// committed. A claim that is under way while a limit is set for the first time may pass it, once.
//
// A job that needs others goes on when a worker, of any queue, has recorded the last of their ends:
// at once if the worker's last look told it of that job, and otherwise within some seconds. It may
// need jobs that have ended, and jobs of one list may need each other; not itself, nor in a circle.
// The jobs it needs must have been committed, or be of the same transaction: else they count as
// completed. While a job is needed, its row is kept for a day at least if it is discarded or
// cancelled, and as long as any job waits for it. If thousands of jobs wait for one, they go on
// some thousand at a time.
//
// Cost: enqueue() one statement, enqueue_many() one for each 1,000 jobs or 1 MiB of them; once a
// second one more read, which finds the workers that have to learn of new jobs.
// Errors: invalid_argument for a bad name, payload or number, or a circle, before anything is sent;
// for a needed job that was never enqueued, after that: roll the caller's transaction back.
// constraint if on_conflict::fail found a job of the same unique key; wrong_transaction if the
// transaction cannot be used (aborted, of another engine). outcome_is_unknown() if the answer to
// enqueue() was lost: give such jobs a unique key and enqueue again.
//
// Threads: safe, all of it; calls that take a transaction, one thread at a time for each.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/job.hpp"
#include "leasehold/page.hpp"

namespace leasehold {

// A job_queue checks the jobs of its program by these settings before it sends them.
struct job_queue_settings {
    // 1 to 64 MiB, and what the server takes in one statement.
    std::size_t max_payload_bytes = std::size_t{1} << 20;
};

// The limits of a queue, in the database: they hold for all its workers.
struct queue_limits {
    // The number of its jobs that may run at a time in the whole cluster; no limit if unset. 1 to
    // 1,000,000.
    std::optional<int> max_running{};
    // The number of jobs of one ordering key that may run at a time. 1 to 1,000.
    int max_running_per_key = 1;
    // In the long run `max_starts` are started in each `starts_per`, evenly: after a pause up to
    // `max_starts` at once, and so up to twice as many in one `starts_per`. No limit if unset. 1 to
    // 1,000,000; 1 ms to 366 days.
    std::optional<int> max_starts{};
    std::chrono::milliseconds starts_per{1000};
    // The time for which the rows of jobs that have ended are kept. 0: the end of a job deletes its
    // row; but one that has a result is kept for a day at least. 0 to 100 years.
    std::chrono::seconds keep_completed{0};
    std::chrono::seconds keep_discarded{std::chrono::hours{24 * 7}};
    std::chrono::seconds keep_cancelled{std::chrono::hours{24 * 7}};

    bool operator==(const queue_limits&) const = default;
};

// describe() gives the state of a queue in this form.
struct queue_info {
    std::string name{};
    bool is_paused = false;
    queue_limits limits{};
    // The number of jobs in each state; jobs that have ended count only as long as they are kept.
    std::map<job_state, std::int64_t> jobs{};
    std::optional<std::chrono::microseconds> oldest_available{};  // the wait so far
};

// A batch: jobs, and one that runs when all of them have ended.
struct enqueued_batch {
    std::vector<enqueued_job> jobs{};
    enqueued_job then{};
};

class LEASEHOLD_EXPORT job_queue {
public:
    explicit job_queue(database within, std::string name, job_queue_settings settings = {});

    const std::string& name() const& noexcept { return name_; }
    std::string name() const&& { return name_; }

    enqueued_job enqueue(const new_job& what) const;
    // Enqueues all or none, in one transaction and in the order of the list.
    std::vector<enqueued_job> enqueue_many(const std::vector<new_job>& what) const;
    // Enqueues in the caller's transaction, on a connection of leasehold's own or on a lent one.
    enqueued_job enqueue_in(transaction_ref inside, const new_job& what) const;
    std::vector<enqueued_job> enqueue_many_in(
        transaction_ref inside, const std::vector<new_job>& what
    ) const;
    // Enqueues jobs, and one that needs them all: it runs when the last of them has ended, however
    // they ended, or as `until` says. All or none. Without jobs it runs at once.
    enqueued_batch enqueue_batch(
        std::vector<new_job> jobs, new_job then, dependency_until until = dependency_until::ended
    ) const;
    enqueued_batch enqueue_batch_in(
        transaction_ref inside,
        std::vector<new_job> jobs,
        new_job then,
        dependency_until until = dependency_until::ended
    ) const;
    // Tells idle workers of new jobs, which they would otherwise find at their next look. A program
    // calls this after its commit if it enqueues in a transaction of a lent connection, or by SQL.
    // A leasehold::transaction does so when it has committed, and so do the other calls.
    void notify() const noexcept;

    // Replaces all limits.
    void set_limits(const queue_limits& limits) const;
    // No job of the queue is claimed from now on; running jobs go on.
    void pause() const;
    void resume() const;
    // Reads each job that has not ended; one scan of an index.
    queue_info describe() const;

private:
    database database_;
    std::string name_;
    job_queue_settings settings_;
};

// All queues, in byte order of names. Reads each job that has not ended, and counts those of the
// history; three statements, however many queues there are.
LEASEHOLD_EXPORT std::vector<queue_info> list_queues(const database& db);

// ---- jobs by their ids

LEASEHOLD_EXPORT std::optional<job_info> find_job(const database& db, job_id id);

// A list of jobs comes in the order of their ids, from either end.
enum class job_order { oldest_first = 1, newest_first = 2 };  // by id

// An empty member asks for nothing. An index serves a queue together with a state of ended jobs.
// For all else that is asked for, the jobs are read one after another, in statements of 10,000
// each.
struct job_filter {
    std::string queue{};
    std::optional<job_state> state{};
    std::string kind{};
    std::string ordering_key{};
    std::string error_text{};  // a part of the error of its last failed attempt
    // Ended within so long, or enqueued if it has not ended; by the database's clock, from 1 us on.
    std::optional<std::chrono::microseconds> since{};
    job_order order = job_order::oldest_first;
    std::optional<job_id> after{};  // those behind this one in that order: the next page
    int limit = 100;                // 1 to 10,000
};
using job_page = page<job_info, job_id>;

// Lists jobs that have ended as long as they are kept.
LEASEHOLD_EXPORT job_page list_jobs(const database& db, const job_filter& filter = {});

// cancel_job() gives one of these answers.
enum class cancel_outcome {
    cancelled = 1,  // it will not run, or not again
    requested = 2,  // it runs: its handler's stop token is asked, and it is cancelled when it ends
    ended = 3,      // it has ended before
    not_found = 4,
};
LEASEHOLD_EXPORT const char* name_of(cancel_outcome outcome) noexcept;

// cancel_job() does not wait for a handler. The worker asks the handler's stop token with its next
// poll, 1 to 2 s later by default.
LEASEHOLD_EXPORT cancel_outcome cancel_job(const database& db, job_id id);

// retry_job() gives one of these answers.
enum class retry_outcome {
    available = 1,  // it runs at once: one that waited for its time, its next attempt or for others
    redriven = 2,   // it had ended, and begins again with its first attempt, under its old tokens
    running = 3,    // it runs already
    duplicate = 4,  // it had ended, and there is another one of its unique key now
    not_found = 5,
};
LEASEHOLD_EXPORT const char* name_of(retry_outcome outcome) noexcept;

// A completed job is run again, too, and without its checkpoint; others keep theirs.
LEASEHOLD_EXPORT retry_outcome retry_job(const database& db, job_id id);

// The members that are set change; the others stay. Not with both times.
struct job_changes {
    std::optional<std::string> kind{};
    std::optional<std::string> payload{};
    std::optional<int> priority{};
    std::optional<schedule::instant> run_at{};
    std::optional<std::chrono::milliseconds> delay{};  // from now on; 0: it is due at once
};

// change_job() gives one of these answers.
enum class job_change_outcome {
    changed = 1,
    running = 2,  // a worker has it: it stays as it is
    ended = 3,
    waits = 4,  // a time was given, and it waits for other jobs: nothing has changed
    not_found = 5,
};
LEASEHOLD_EXPORT const char* name_of(job_change_outcome outcome) noexcept;

// Changes a job that waits for its start or its next attempt, in one commit; a delay of 0 lets it
// run in another one, as retry_job() does. Its attempts, error, keys and limits stay, and its
// checkpoint unless kind or payload change: on_conflict::replace begins afresh. If a job is put off
// that no worker has begun, the next of its ordering key goes on within some seconds; one that
// waits for its next attempt keeps those behind it waiting. What was given is checked as enqueue()
// does with the default settings. If the answer is lost, the call asks again: the job may have
// started since, with what was given.
LEASEHOLD_EXPORT job_change_outcome
change_job(const database& db, job_id id, const job_changes& what);

// delete_job() gives one of these answers.
enum class delete_outcome {
    deleted = 1,
    not_ended = 2,  // cancel it first
    needed = 3,     // another job waits for it, and would run as if it had completed
    not_found = 4,  // also where the answer was lost after this call had deleted it
};
LEASEHOLD_EXPORT const char* name_of(delete_outcome outcome) noexcept;

// Removes an ended job for good: its payload, checkpoint, error, progress and result. If the answer
// is "deleted", it stays deleted. A job that depends on it and is enqueued afterwards, or in a
// transaction that is still open, runs as if it had completed. The database's administrator has to
// remove other copies: replicas, logs, backups, and pages that are not yet reused.
LEASEHOLD_EXPORT delete_outcome delete_job(const database& db, job_id id);

}  // namespace leasehold
