#pragma once
// A job: work that is written down now and done later, by whichever worker comes first. This header
// has its states, settings and description. job_queue.hpp enqueues and manages jobs, worker.hpp
// runs them.
//
// | state     | is                                        | becomes                              |
// |-----------|-------------------------------------------|--------------------------------------|
// | scheduled | not due yet                               | available when it is due             |
// | available | due                                       | running when a worker claims it;     |
// |           |                                           | scheduled by change_job()            |
// | blocked   | behind others of its ordering key, or     | available when they have ended;      |
// |           | waits for jobs it needs                   | cancelled where it needs one that    |
// |           |                                           | was discarded or cancelled           |
// | running   | a live session has it, under a token      | one of those below; available again  |
// |           |                                           | when that session has died (rescue)  |
// | retryable | failed, and waits for its next attempt    | available when that is due           |
// | completed | done                                      | available by retry_job()             |
// | discarded | given up: attempts used up, quarantined,  | available by retry_job()             |
// |           | or by its handler                         |                                      |
// | cancelled | given up because somebody asked           | available by retry_job()             |
//
// cancel_job() cancels at once a job that does not run. A due job with an ordering key may become
// blocked, when a worker finds its key taken.
//
// A job whose worker was stopped, or died, has not failed: only an attempt that its handler failed
// counts. Rescues are counted apart; after `max_rescues` of them the job is discarded, since the
// job itself may kill its workers (quarantine).
//
// Promises: a token that grows with each claim of the job and never starts again. Every change of a
// running job compares it, so that a worker that was declared dead, or paused for too long, changes
// nothing. The job, its effects and its end are one commit if the handler uses
// job::complete_in(tx).
// Does not promise: that a handler runs once. It runs at least once; its effects elsewhere may
// happen twice, and what it commits through complete_in(tx) does not.
//
// Threads: plain values.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold {

// The number of a job. It is unique in one database; numbers grow, with gaps.
using job_id = std::int64_t;

// The numbers stand in the rows and never change.
enum class job_state {
    scheduled = 1,
    available = 2,
    running = 3,
    retryable = 4,
    blocked = 5,
    completed = 6,
    discarded = 7,
    cancelled = 8,
};

// "scheduled", "available", …
LEASEHOLD_EXPORT const char* name_of(job_state state) noexcept;
// Throws invalid_argument, whose message names all states.
LEASEHOLD_EXPORT job_state job_state_of(std::string_view name);

// The moment until which no other job of the same unique key is enqueued in its queue.
enum class unique_until {
    started = 1,  // until a worker first claims it
    ended = 2,    // until it is completed, discarded or cancelled
};

// The answer to a new job whose unique key an existing job has. A job that is replaced keeps its
// number, its ordering key and its place behind other jobs of that key, and begins afresh: it has
// the payload, kind, priority, due time, limits, retries and traceparent of the new one, no
// attempts, no error and no checkpoint. If it waits for jobs it needs, it goes on waiting for them.
// If it runs, it stays as it is, and enqueued_job::is_running says so: the new one is not enqueued.
// If the new one must not be lost, use unique_until::started.
enum class on_conflict {
    keep = 1,     // changes nothing, and answers with that job
    replace = 2,  // that job becomes this one, unless it runs; see above
    fail = 3,     // throws errc::constraint
};

// The moment until which a job waits for those it needs.
enum class dependency_until {
    completed = 1,  // until they have completed; is cancelled if one is discarded or cancelled
    ended = 2,      // until they have ended, however
};

// A job that fails is tried again so often, and after such pauses.
struct retry_policy {
    int max_attempts = 20;  // 1 to 10,000
    // The pause before the second attempt; twice as long before each next one, but never more than
    // max_delay. Each is shortened at random, by up to a half. 0 to 366 days.
    std::chrono::milliseconds delay{5000};
    std::chrono::milliseconds max_delay{std::chrono::hours{1}};
};

// The time until the next attempt, after this number of attempts. `jitter`, 0 to 1, is the share of
// the random half that is taken off.
LEASEHOLD_EXPORT std::chrono::microseconds delay_after(
    const retry_policy& policy, int attempts, double jitter
) noexcept;

// A program enqueues a job with these values; each has a default.
struct new_job {
    // Chooses the handler: up to 255 bytes of UTF-8. Empty is a kind like others.
    std::string kind{};
    // UTF-8 without NUL, at most job_queue_settings::max_payload_bytes.
    std::string payload{};
    // Due jobs start with the smallest priority first, then in the order of their ids.
    int priority = 0;  // -32,768 to 32,767
    // The earliest start: a date of 1970 to 2999, compared with the database's clock when the job
    // is enqueued and when it comes due. Without: at once.
    std::optional<schedule::instant> run_at{};
    // The due time as a delay from now, by the database's clock; not with run_at. 0 to 366 days.
    std::chrono::milliseconds delay{0};
    // Not empty: at most one such job in this queue; up to 255 bytes of UTF-8.
    std::string unique_key{};
    unique_until unique = unique_until::ended;
    on_conflict conflict = on_conflict::keep;
    // Not empty: jobs of one key are done one after the other, in the order of their ids, or as
    // many at a time as queue_limits::max_running_per_key says. A job that waits for its next
    // attempt keeps those behind it waiting; one that is not due yet does not. Up to 255 bytes of
    // UTF-8.
    std::string ordering_key{};
    retry_policy retry{};
    // An attempt that takes longer is asked to stop, and has failed. No limit if unset. 1 ms to 366
    // days.
    std::optional<std::chrono::milliseconds> attempt_timeout{};
    int max_rescues = 3;  // 1 to 10,000
    // Numbers of jobs, in any queue, which must end before it is due. A job whose row no longer
    // exists has completed. Not with run_at or delay.
    std::vector<job_id> depends_on{};
    // Jobs in the list of enqueue_many() which must end before, by their places from 0 on; in any
    // order, but no circle.
    std::vector<std::size_t> depends_on_listed{};
    dependency_until depends_until = dependency_until::completed;
    // Not empty: the traceparent of W3C Trace Context for the span that enqueues the job; version,
    // trace, parent and flags in 55 characters. job::traceparent() gives it to the handler.
    std::string traceparent{};
};

// enqueue() says by this what has become of a new job.
struct enqueued_job {
    job_id id = 0;
    bool is_new = true;       // false: one of the same unique key was there
    bool is_running = false;  // that one runs, so that on_conflict::replace changed nothing
};

// An attempt that failed, or whose worker died.
struct job_failure {
    int attempt = 0;          // 1: the first
    std::string node_info{};  // name@host:pid of its worker
    std::string error{};      // of more than 1,000 characters the first 200 and the last 795
    std::chrono::microseconds began_ago{0};  // by the database's clock; 0: not known
    std::chrono::microseconds ended_ago{0};
};

// A job as the database sees it.
struct job_info {
    job_id id = 0;
    std::string queue{};
    std::string kind{};
    job_state state = job_state::available;
    int priority = 0;
    int attempts = 0;  // begun
    int max_attempts = 0;
    int rescues = 0;
    fencing_token token{};  // of the last claim; 0: none
    std::string payload{};
    std::string unique_key{};
    std::string ordering_key{};
    std::string node_info{};  // name@host:pid of the worker that has it, or had it last
    std::string progress{};   // the handler's text
    std::string error{};      // of the last attempt that failed, or why the job was given up
    std::string result{};     // the handler's text, if completed
    bool is_cancel_requested = false;
    std::chrono::microseconds enqueued_ago{0};  // by the database's clock
    std::chrono::microseconds due_in{0};        // where scheduled or retryable; never negative
    std::optional<std::chrono::microseconds> running_for{};  // where running
    std::optional<std::chrono::microseconds> ended_ago{};    // set if it has ended
    // The jobs that it waits for, at most 100; only find_job() tells.
    std::vector<job_id> depends_on{};
    // The jobs that wait for it, likewise.
    std::vector<job_id> needed_by{};
    // As new_job::traceparent, and as job::checkpoint(); only find_job() tells.
    std::string traceparent{};
    std::string checkpoint{};
    // The last 20 attempts that failed, from the first on; only find_job() tells. If a program
    // without migration 22 ended an attempt, that attempt is missing; if it ended the job, all are.
    std::vector<job_failure> failures{};
};

}  // namespace leasehold
