#pragma once
// Hears what happened, for logs and metrics: implement one, and pass it in database_settings.
//
//   struct log_observer : leasehold::observer {
//       void on_event(const leasehold::event& what) noexcept override {
//           std::clog << text_of(what) << '\n';
//       }
//   };
//
// Ready to be passed: metrics.hpp counts and prints Prometheus' text, json_lines.hpp writes JSON,
// spdlog_observer.hpp logs; `observers`, below, tells several.
//
// The dangerous events have names of their own, so that they can be counted and alarmed on. The
// observer also gets the errors of destructors, because a destructor never throws.
//
// All events. `number` is the fencing token unless the table says otherwise. A dash means that
// `took` has no value; with a dash beside a time, only a release by force, a refused proof and the
// loss of a session have none:
//
// | event               | level   | told when                  | took           | reason         |
// |---------------------|---------|----------------------------|----------------|----------------|
// | granted             | debug   | a lease was granted        | since the call | tried,         |
// |                     |         |                            |                | handed_over,   |
// |                     |         |                            |                | adopted        |
// | refused             | debug   | a try met a live holder,   | –              | busy,          |
// |                     |         | or a run was not to be     |                | already_run,   |
// |                     |         |                            |                | closed         |
// | released            | debug   | a lease was released       | was held; –    | released,      |
// |                     |         |                            |                | forced,        |
// |                     |         |                            |                | rolled_back    |
// | lost                | error   | a lease, or without a key  | was held; –    | expired,       |
// |                     |         | a session, ended without   |                | ended_by_server,|
// |                     |         | its owner's wish           |                | taken_over     |
// |                     | info    | its session was ended, or  | was held       | session_ended  |
// |                     |         | detached, with a lease     |                |                |
// |                     |         | held                       |                |                |
// | late_heartbeat      | warning | a heartbeat failed or took | the heartbeat  | failed, slow   |
// |                     |         | long; the session still    |                |                |
// |                     |         | lives                      |                |                |
// | stale_token_refused | warning | a proof or a release came  | since granted; | why it was     |
// |                     |         | after the lease had gone   | –              | lost; none     |
// | outcome_unknown     | warning | a request lost its answer; | since granted; | none           |
// |                     |         | the session settles it     | –              |                |
// | doubt_settled       | info    | such a doubt has ended     | since it began | granted,       |
// |                     |         |                            |                | not_granted,   |
// |                     |         |                            |                | released,      |
// |                     |         |                            |                | given_up       |
// | release_failed      | warning | a destructor, or the end   | –              | none           |
// |                     |         | of a session, could not    |                |                |
// |                     |         | release; see its detail    |                |                |
// | reconnected         | info    | a lost connection was      | –              | none           |
// |                     |         | replaced                   |                |                |
// | reaped              | info    | rows of the dead were      | –              | dead_rows      |
// |                     |         | cleaned: `number` of them  |                |                |
// | warning             | warning | a promise is weakened, or  | –              | none           |
// |                     |         | something could not be     |                |                |
// |                     |         | done; see its detail       |                |                |
// | revoke_requested    | info    | somebody asks the holder   | –              | none           |
// |                     |         | of a lease to let go       |                |                |
// | handed_over         | debug   | this process made a waiter | –              | released,      |
// |                     |         | the owner; its own process |                | found_free     |
// |                     |         | is told of `granted`       |                |                |
// | waited_in_vain      | debug   | a call that may wait ended | the call       | timed_out,     |
// |                     |         | with nothing, and did not  |                | cancelled      |
// |                     |         | throw                      |                |                |
// | connection_waited   | debug   | a call found the whole     | the wait       | granted,       |
// |                     |         | pool lent, and waited      |                | timed_out,     |
// |                     |         |                            |                | cancelled      |
// | job_enqueued        | debug   | this process has enqueued  | –              | none           |
// |                     |         | a new job                  |                |                |
// | job_claimed         | debug   | a worker has claimed a job | –              | none           |
// | job_started         | debug   | a worker calls the handler | –              | none           |
// |                     |         | of a job                   |                |                |
// | job_timed_out       | warning | a handler runs for longer  | the handler    | none           |
// |                     |         | than the time limit, and   |                |                |
// |                     |         | is asked to stop           |                |                |
// | job_ended           | debug   | an attempt has ended       | the handler; – | completed      |
// |                     | info    | an attempt has ended that  | the handler; – | snoozed,       |
// |                     |         | does not count, or by the  |                | released,      |
// |                     |         | wish of somebody           |                | cancelled      |
// |                     | warning | an attempt has failed, or  | the handler; – | retried,       |
// |                     |         | nobody knows its end       |                | discarded,     |
// |                     |         |                            |                | lost, unknown  |
// | job_rescued         | info    | `number` jobs of dead      | –              | released       |
// |                     | warning | workers run again, or not  | –              | discarded      |
//
// Events of jobs have a queue and no key. Those of one job have its id as their `number`, its kind
// and its attempt, and the first line of the error as their detail. A worker tells job_ended once
// for each end that its report counts, after the answer of the database, by the thread of run():
// retried, if attempts are left; discarded, if the handler said so, or that was the last one;
// released, if it was given back; lost, if the claim had gone; unknown, if the end may have been
// carried out, or the commit of complete_in() is not known. job_claimed is the last event of a job
// that goes back before it began, unless that cancels the job.
//
// `waited` is how long a job waited for a worker: from the latest instant at which it was enqueued,
// came due, was given back, was rescued, needed no other job any more or was run again by
// retry_job(). Time behind other jobs of its ordering key counts. job_claimed has the wait before
// the claim, by the clock of the database; job_started and job_ended have the wait before the
// handler was called. A job that somebody has inserted by SQL may have none.
//
// job_enqueued comes when the job is committed; in a transaction of a lent connection, whose commit
// nobody sees, when the job is inserted. Jobs of schedules count; jobs that a unique key keeps or
// replaces, and jobs that are inserted by SQL, do not.
//
// If a database has no observer, its workers write failed attempts to standard error: the text of
// each job_ended and job_timed_out whose level is warning. Each worker writes at most one line in a
// second for each kind of job, with the number of those left out. A reader that stalls keeps no
// worker waiting: a line that has no room is left out, and the last line of a worker that ends may
// be cut. An observer that does nothing, such as `observers{{}}`, turns this off.
//
// A lock that counts (semaphore, shared mutex) tells as a mutex does; latches and barriers tell of
// nothing while they wait. A multi_lock is granted, released and lost key by key; its refusals and
// doubts at a grant name one of its keys. A quorum_lock tells what its members do. A call that
// waits tells `refused` for each try it makes.
//
// If a question settles a doubt at once, as granted, doubt_settled alone tells of it. For all other
// doubts outcome_unknown comes first, and then doubt_settled once for each: released, the lease had
// been granted after all; not_granted, there was no lease, or not any more; given_up, nobody asks
// any more.
//
// Threads: on_event is called from any thread that uses the library, several at once, and from the
// background threads of sessions; it must not block and must not call back into the library.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leasehold/export.hpp"

namespace leasehold {

// The numbers stay; there may be more in later versions.
enum class event_kind {
    granted = 1,
    refused = 2,
    released = 3,
    lost = 4,
    late_heartbeat = 5,
    stale_token_refused = 6,
    outcome_unknown = 7,
    release_failed = 8,
    reconnected = 9,
    reaped = 10,
    warning = 11,
    revoke_requested = 12,
    handed_over = 13,
    doubt_settled = 14,
    waited_in_vain = 15,
    connection_waited = 16,
    job_started = 17,
    job_ended = 18,
    job_rescued = 19,
    job_enqueued = 20,
    job_claimed = 21,
    job_timed_out = 22,
};

// Why, or how it happened: see the table of events. The texts of name_of() stay as well.
enum class event_reason {
    none = 0,
    // These have the numbers of loss_reason.
    expired = 1,
    ended_by_server = 2,
    taken_over = 3,
    released = 4,  // by its owner; of a doubt: by its session
    session_ended = 5,

    tried = 6,         // it was free, or its holder dead
    handed_over = 7,   // it was waited for, in the queue
    adopted = 8,       // another session had it, and detached it
    busy = 9,          // there is a live holder
    already_run = 10,  // of a run-once task, as the next one
    closed = 11,
    forced = 12,       // freed by force_release
    rolled_back = 13,  // with the transaction it was made in
    failed = 14,
    slow = 15,  // longer than the interval between two
    dead_rows = 16,
    found_free = 17,  // it was free, or its holder dead
    granted = 18,
    not_granted = 19,
    given_up = 20,
    timed_out = 21,
    cancelled = 22,
    completed = 23,
    retried = 24,
    snoozed = 25,
    discarded = 26,
    lost = 27,
    unknown = 28,
};

// An event has the level at which a log shows it.
enum class event_level { debug = 1, info = 2, warning = 3, error = 4 };

// Its views refer to what the library has while on_event() runs: copy the texts that you keep. An
// event itself cannot be copied.
struct event {
    event_kind kind{};
    std::string_view key{};     // empty if no key is concerned
    std::int64_t number = 0;    // the fencing token, a job's id, or a count
    std::string_view detail{};  // one line for people
    event_reason reason = event_reason::none;
    std::optional<std::chrono::nanoseconds> took{};
    // For events of jobs.
    std::string_view queue{};
    std::string_view job_kind{};  // for events of one job
    int attempt = 0;
    std::optional<std::chrono::nanoseconds> waited{};
    struct uncopied {
        uncopied() = default;
        uncopied(uncopied&&) = default;
        uncopied& operator=(uncopied&&) = default;
    } not_to_be_kept{};
};

class LEASEHOLD_EXPORT observer {
public:
    virtual ~observer() = default;
    virtual void on_event(const event& what) noexcept = 0;
};

LEASEHOLD_EXPORT const char* name_of(event_kind kind) noexcept;
LEASEHOLD_EXPORT const char* name_of(event_reason reason) noexcept;  // "none" too
LEASEHOLD_EXPORT const char* name_of(event_level level) noexcept;
LEASEHOLD_EXPORT event_level level_of(const event& what) noexcept;
// One line for people, of printable UTF-8: "granted 'k', token 5, tried, 0.0012 s".
LEASEHOLD_EXPORT std::string text_of(const event& what);

// Tells several, in their order.
//
//   settings.observer = std::make_shared<leasehold::observers>(counts, lines);
//
// Empty pointers are left out. Threads: safe; the list does not change.
class LEASEHOLD_EXPORT observers final : public observer {
public:
    using pointer = std::shared_ptr<observer>;

    explicit observers(std::vector<pointer> all);
    template <class... More>
    explicit observers(pointer first, pointer second, More... more)
        : observers(std::vector<pointer>{std::move(first), std::move(second), std::move(more)...}) {
    }
    void on_event(const event& what) noexcept override;

private:
    std::vector<pointer> all_;
};

}  // namespace leasehold
