#pragma once
// Jobs, as far as the engines keep them alike. The differences: src/jobs/<engine>/job_store.cpp.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_store : public job_store, protected sql_store {
public:
    explicit sql_job_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job") {}

    std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) override;
    std::vector<claimed_job> find_claims(
        connection& on, std::string_view queue, const session_id& whose
    ) override;
    bool save_checkpoint(
        connection& on, const session_id& whose, const job_claim& which, const std::string& state
    ) override;
    bool note_progress(
        connection& on,
        const session_id& whose,
        job_id id,
        fencing_token token,
        const std::string& words
    ) override;

protected:
    // Inserts a list of jobs of which no two have the same unique key. Answers the id of each;
    // nullopt if its key was taken.
    virtual std::vector<std::optional<job_id>> insert(
        connection& on, std::string_view queue, std::span<const new_job> what
    ) = 0;

    // The job that has the unique key now; nullopt if no job has it.
    virtual std::optional<enqueued_job> find_unique(
        connection& on, const std::string& queue, const std::string& unique_key
    );
    // $1 queue, $2 unique key, $3 kind, $4 payload, $5 priority, $6 due time or -1, $7 delay, $8
    // to $13 values_of_like(), $14 until when it is unique. False: the job that has the key runs,
    // or has ended, and nothing was changed.
    virtual bool replace(connection& on, const parameters& values) {
        return !inside(on, "replace", values).rows.empty();
    }
    // Reads the answer of `find_unique`.
    static std::optional<enqueued_job> not_new_in(const result& found);

    static claimed_job claimed_in(const row& from, std::size_t first);

    // The due time that a job asks for, as it is stored: microseconds since 1970, or -1.
    static std::int64_t run_at_of(const new_job& what);
    // The time the row of a job is kept that ends by this step, in microseconds; -1: not at all.
    static std::int64_t kept_after(const job_end& end, const job_retention& kept);
    // True for the end of a completed job of which nothing is kept.
    static bool leaves_nothing(const job_end& end, const job_retention& kept);
    // True if `insert_plain` serves: the jobs are due, have no keys, and differ only in kind,
    // payload and priority.
    static bool are_plain(std::span<const new_job> what);
    // The values of attempts, rescues, delays of retries, time limit or -1, traceparent.
    static parameters values_of_like(const new_job& each);
    // `first`, kind, payload, priority, due time or -1, delay, unique key, until when it is unique,
    // ordering key, attempts, delays of retries, time limit or -1, rescues, traceparent.
    static parameters values_of(value first, const new_job& each);
    // Reads the answer of `standings`, which has those of these claims that are held.
    static std::vector<claim_standing> standings_in(
        const result& answer, const std::vector<job_claim>& held
    );
    // Jobs that have ended or go on, with their states.
    using ended_jobs = std::map<job_id, job_state>;
    // Reads a list of completed jobs.
    static ended_jobs completed_in(std::string_view list);
    // Reads the answer of `finish`.
    static void note_finished(const result& answer, ended_jobs& done) {
        using column = columns::job::finish;
        for (const row& each : answer.rows) {
            done[each.integer(column::id)] = static_cast<job_state>(each.integer(column::becomes));
        }
    }
    static end_states states_of(const ended_jobs& done, const std::vector<job_end>& ends);

private:
    std::optional<enqueued_job> settle_conflict(
        connection& on, std::string_view queue, const new_job& what
    );
};

}  // namespace leasehold
