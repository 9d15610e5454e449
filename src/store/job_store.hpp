#pragma once
// What any database must be able to do with jobs: enqueue, claim and end them. The general MUSTs:
// hold_store.hpp. What is done about jobs for all: job_queue_store.hpp.
//
// A job that has not ended is a row of `job`, one that has is a row of `job_history` or none. A job
// runs while its row says so and names a session and a token; both are compared by whatever changes
// it. A claim is the only thing that sets them, and adds one to the token.
//
// Its session is *dead* on positive proof alone: its row is there and expired, by a locking read
// that steps around a locked row; or it is not there, in the same snapshot in which the job names
// it: a claim is only made while the session's row is there, so that it has been removed since. The
// row must be as it was in that snapshot when it is changed: same token, same session.
//
// Where it has limits or ordering keys a queue is *claimed in turn*: whoever claims there has the
// queue's row for his statement, and counts what runs after everybody who had it before. So no
// limit is a number that could drift.
//
// Fire times travel as in run_store.hpp: `run_at` is data. On SQLite all times of jobs and queues
// are by the wall clock, since what is due is a date; whether a session lives goes by the clock
// since boot. There a job that was running when the machine went down runs in no session of this
// boot: the first write after a boot removes the rows of all sessions.
//
// In a cluster with several nodes that are written to each operation changes the rows it decides
// by: claims the job's, rescues the dead session's as well, claims in turn the queue's.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold {

struct claim_request {
    std::string queue;
    std::vector<std::string> kinds{};  // empty: any
    int jobs_max = 1;                  // 1 to 1,000
    session_id session;                // must be live
    std::string node_info;
};

struct claimed_job {
    job_id id = 0;
    fencing_token token;
    std::string kind;
    std::string payload;
    int attempts = 0;  // with this one
    int rescues = 0;
    std::string ordering_key;
    retry_policy retry;
    std::optional<std::chrono::microseconds> time_limit;
};

struct claim_result {
    std::vector<claimed_job> jobs;  // in the order of priority and id
    // The session was not live: nothing is claimed by it any more.
    bool session_has_ended = false;
};

// What becomes of a running job. Its attempt counts where it failed or ended alone.
enum class job_step {
    complete = 1,
    fail = 2,     // retryable after `delay`, or discarded where that was its last attempt
    snooze = 3,   // scheduled after `delay`; available where that is 0
    release = 4,  // available at once
    discard = 5,
    cancel = 6,
};

struct job_end {
    job_id id = 0;
    fencing_token token;
    job_step step = job_step::complete;
    std::chrono::microseconds delay{0};
    std::string words{};  // the result of one that completed, the error of others
};

// How long rows of ended jobs are kept, from the queue's settings.
struct job_retention {
    std::chrono::microseconds completed{0};
    std::chrono::microseconds with_result{0};
    std::chrono::microseconds discarded{0};
    std::chrono::microseconds cancelled{0};
};

struct job_claim {
    job_id id = 0;
    fencing_token token;
};

enum class claim_standing { gone = 1, held = 2, cancel_requested = 3 };

class job_store {
public:
    static constexpr std::size_t words_bytes_max = 4000;
    static constexpr int jobs_per_statement_max = 1000;

    virtual ~job_store() = default;

    // ---- enqueuing

    // Inserts, in the transaction open on `on` or as one that commits by itself. Of those of one
    // unique key that is not free: keeps, replaces or reports. MUST answer in the order of `what`,
    // and give greater ids to later ones. A job is blocked where another of its ordering key stands
    // before it as far as this statement sees: a hint, see unblock(). Waits for who inserts the
    // same unique key. At most jobs_per_statement_max.
    virtual std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) = 0;

    // ---- a worker's

    // Claims those that are available, of these kinds, in order: durable. May pass by for a second
    // what has come back before others of its priority, but not where that leaves fewer than
    // jobs_max. MUST
    // - claim no more than jobs_max, whatever the planner believes;
    // - claim nothing for a session that is not live, nor in a queue that is paused;
    // - pass by what others have locked, and wait for nobody but who claims in turn at this moment;
    // - keep the queue's limits: what runs, of all sessions whether they are dead or not, counts;
    // - free the unique key of a job that is unique until it has started.
    // Reads: in a queue without keys and limits some rows for each one claimed, and each before
    // them that somebody is just claiming; where kinds are named so many of each kind.
    virtual claim_result claim(connection& on, const claim_request& wanted) = 0;

    // For each end the state that its job has now; nothing where its row was not its claim's any
    // more, which says nothing of an end that was sent before and got no answer.
    using end_states = std::vector<std::optional<job_state>>;

    // Carries out what becomes of these running jobs of this session, in the transaction open on
    // `on` or by itself: durable. An ended one's row is gone or in the history, its unique key
    // free, and the next of its ordering key available. One that was to be cancelled is, unless it
    // has completed. MUST compare token and session on the newest version of the row. Reads: some
    // for each.
    virtual end_states finish(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) = 0;

    // finish() and then claim(): in one commit where the engine can. Never in a caller's
    // transaction.
    struct finished_and_claimed {
        end_states finished;
        claim_result claimed;
    };
    virtual finished_and_claimed finish_and_claim(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        const claim_request& wanted
    ) {
        auto finished = finish(on, whose, ends, kept);
        return {std::move(finished), claim(on, wanted)};
    }

    // How these claims of the session stand. A plain read by primary keys. Same order and size.
    virtual std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) = 0;

    // What runs in this queue under the session: for who lost the answer to a claim. A plain read
    // of all that runs in the queue.
    virtual std::vector<claimed_job> find_claims(
        connection& on, std::string_view queue, const session_id& whose
    ) = 0;

    // The words of a running job's handler. False where the claim is gone.
    virtual bool note_progress(
        connection& on,
        const session_id& whose,
        job_id id,
        fencing_token token,
        const std::string& words
    ) = 0;
};

}  // namespace leasehold
