#pragma once
// The contract of all engines for jobs: enqueue, claim and end them. The general MUSTs:
// hold_store.hpp. The upkeep of queues: job_queue_store.hpp.
//
// A job that has not ended is a row of `job`; an ended job has a row of `job_history` or no row. A
// job runs while its row names a session and a token; each change of the job compares both.
// Only a claim sets them, and adds one to the token.
//
// Its session is *dead* on positive proof alone: a locking read, which passes over a locked row,
// finds the session's row expired; or a snapshot in which the job names the session has no row of
// that session: a claim needs the session's row, so that the row has been removed since. When the
// job's row is changed it must be as in that snapshot: same token, same session.
//
// A queue with limits or ordering keys is *claimed in turn*: each claim there locks the queue's row
// for its statement, and counts the running jobs after every claim that had the row before. So no
// limit is a number that could drift.
//
// Fire times travel as in run_store.hpp: `run_at` is data. On SQLite all times of jobs and queues
// are by the wall clock, since a due time is a date; sessions expire by the clock since boot. There
// a job that was running when the machine went down runs in no session of this boot: the first
// write after a boot removes the rows of all sessions.
//
// In a cluster with several writable nodes each operation changes the rows it decides by: a claim
// the job's, a rescue the dead session's as well, a claim in turn the queue's.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold {

class sql_dialect;

struct claim_request {
    std::string queue;
    std::vector<std::string> kinds{};  // empty: any
    int max_jobs = 1;                  // 1 to 1,000
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
    bool may_not_be_rescued = false;  // if its worker dies the job is discarded
    std::string ordering_key;
    retry_policy retry;
    std::optional<std::chrono::microseconds> attempt_timeout;
    // Before this claim, since it was enqueued, came due, was given back, was rescued, needed no
    // other job any more or was run again. nullopt: the row does not tell.
    std::optional<std::chrono::microseconds> waited{};
    std::string traceparent{};  // empty if the row has none that is valid
    std::string checkpoint{};
};

struct claim_result {
    std::vector<claimed_job> jobs;  // in the order of priority and id
    // The session was not live: it cannot claim any more.
    bool session_has_ended = false;
};

// The way a running job ends or goes on; decided in job_attempt.hpp. Its attempt counts unless it
// becomes scheduled or available.
struct job_end {
    job_id id = 0;
    fencing_token token;
    job_state becomes = job_state::completed;
    std::chrono::microseconds delay{0};  // until it is due, if it becomes scheduled or retryable
    std::string words{};  // the result of a completed job; else the error, if not empty

    bool has_error() const noexcept { return becomes != job_state::completed && !words.empty(); }
};

// A job with a request to cancel it becomes cancelled, unless it has completed.
constexpr job_state under_request(job_state becomes, bool is_cancel_requested) noexcept {
    const bool gives_in = is_cancel_requested && becomes != job_state::completed;
    return gives_in ? job_state::cancelled : becomes;
}

// The times for which rows of ended jobs are kept, from the queue's settings.
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
    static constexpr std::size_t max_words_bytes = 4000;
    static constexpr int max_jobs_per_statement = 1000;

    virtual ~job_store() = default;
    static std::unique_ptr<job_store> make(const std::shared_ptr<const sql_dialect>& how);

    // ---- enqueuing

    // Inserts jobs, in the transaction open on `on` or as one that commits by itself. If a unique
    // key is not free it keeps, replaces or reports the job that has it. MUST answer in the order
    // of `what`, and give greater ids to later jobs. A job is blocked if this statement sees
    // another of its ordering key before it: a hint, see unblock(). Waits for another insert of the
    // same unique key. At most max_jobs_per_statement.
    virtual std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) = 0;

    // ---- for workers

    // Claims available jobs of these kinds, in order: durable. If max_jobs others are available it
    // may pass over, for a second, jobs that have come back before others of their priority. MUST
    // - claim no more than max_jobs, whatever the planner estimates;
    // - claim nothing for a session that is not live, nor in a queue that is paused;
    // - pass over rows that others have locked, and wait only for a concurrent claim in turn;
    // - keep the queue's limits: all running jobs count, also those of dead sessions;
    // - free the unique key of a job that is unique until it has started.
    // Reads: in a queue without keys and limits some rows for each one claimed, and each before
    // them that somebody is just claiming; where kinds are named so many of each kind.
    virtual claim_result claim(connection& on, const claim_request& wanted) = 0;

    // The state that each end's job has now; nullopt if the claim had lost the job's row already.
    // Then an end that was sent before and got no answer may have been carried out, or not.
    using end_states = std::vector<std::optional<job_state>>;

    // Carries out these ends of running jobs of this session, in the transaction open on `on` or by
    // itself: durable. The row of an ended job is deleted or in the history, its unique key free,
    // and the next job of its ordering key available. A job with a request to cancel it ends as
    // cancelled unless it has completed. An attempt that ends with an error is noted among the
    // failures of its job. MUST compare token and session on the newest version of the row. Reads:
    // some for each.
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

    // The states of these claims of the session. A plain read by primary keys. Same order and size.
    virtual std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) = 0;

    // The jobs that run in this queue under the session, for a caller that lost the answer to a
    // claim. A plain read of all running jobs of the queue.
    virtual std::vector<claimed_job> find_claims(
        connection& on, std::string_view queue, const session_id& whose
    ) = 0;

    // Writes what the next attempt of a running job begins with, in the transaction open on `on` or
    // by itself: durable. False if the claim is lost, which MUST be compared on the newest version
    // of the row. Reads: 1 row.
    virtual bool save_checkpoint(
        connection& on, const session_id& whose, const job_claim& which, const std::string& state
    ) = 0;

    // Writes the progress text of a running job's handler. False if the claim is lost.
    virtual bool note_progress(
        connection& on,
        const session_id& whose,
        job_id id,
        fencing_token token,
        const std::string& words
    ) = 0;
};

}  // namespace leasehold
