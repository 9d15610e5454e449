#pragma once
// The contract of all engines for jobs that wait until others have ended. The general MUSTs:
// hold_store.hpp.
//
// A waiting job is one whose due time never comes, with a row for each job that it needs: the rows
// exist from the transaction that enqueues it on. A needed job has ended if, in a snapshot
// that has the row, no job of that number exists any more. So no statement that ends a job has to
// know of this table. A completed job need not leave a row in the history: if that row is missing,
// the job has completed.
//
// A job goes on when it has no such rows any more: in the transaction that takes the last of them
// away, and by a statement after its commit, since two transactions that take rows away at once do
// not see each other. left_waiting() finds jobs of a process that died in between.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/job.hpp"

namespace leasehold {

class sql_dialect;

struct job_need {
    job_id job = 0;    // the waiting job
    job_id needs = 0;  // the job it waits for
    dependency_until until = dependency_until::completed;
};

// A need that is over.
struct job_need_over {
    job_need what;
    job_state became = job_state::completed;  // the needed job
};

// A position in the rows: the next look begins behind it.
struct need_place {
    job_id needs = 0;
    job_id job = 0;
};

class job_need_store {
public:
    static constexpr std::size_t max_rows = 1000;
    // The number of rows that one look of a pass reads: few, so that a new job waits briefly.
    static constexpr std::size_t max_passed = 100;

    // The due time of a job that waits: 9999-01-01.
    static constexpr schedule::instant never =
        std::chrono::sys_days{std::chrono::year{9999} / std::chrono::January / std::chrono::day{1}};

    virtual ~job_need_store() = default;
    static std::unique_ptr<job_need_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Adds needs in the transaction open on `inside`, which enqueues the waiting jobs.
    virtual void add(connection& inside, const std::vector<job_need>& what) = 0;

    // The needs for those of these jobs that have ended: at most about `max_rows`. A plain read.
    virtual std::vector<job_need_over> over(connection& on, const std::vector<job_id>& ids) = 0;
    // The needs that are over among `max_passed` rows behind the position. Moves the position on;
    // to the beginning if there are no more rows.
    virtual std::vector<job_need_over> over_behind(connection& on, need_place& place) = 0;

    // Deletes only the rows of these needs, in the transaction open on `inside`.
    virtual void forget(connection& inside, const std::vector<job_need_over>& over) = 0;
    // Makes those of these jobs available that need none, in the open transaction or by itself. It
    // passes over locked jobs: left_waiting() finds them later. Returns the number of freed jobs.
    virtual std::int64_t free(connection& on, const std::vector<job_id>& ids) = 0;
    // The queues of those of these jobs that are available. A plain read.
    virtual std::vector<std::string> queues_of(connection& on, const std::vector<job_id>& ids) = 0;
    // Jobs of the queue that need none and were not freed, of `max_passed` waiting ones behind the
    // position. Moves it on; to the beginning if there are no more. A plain read.
    virtual std::vector<job_id> left_waiting(
        connection& on, std::string_view queue, job_id& place
    ) = 0;

    // Writes into a waiting job's row why it is given up.
    enum class note_outcome { noted, gone, locked };
    virtual note_outcome note_reason(connection& on, job_id id, const std::string& words) = 0;

    // The jobs that it waits for, by their numbers; at most `limit`.
    virtual std::vector<job_id> needs_of(connection& on, job_id id, int limit) = 0;
    // The jobs that wait for it, likewise.
    virtual std::vector<job_id> needed_by(connection& on, job_id id, int limit) = 0;
    // True as long as a need for it is kept, also of a job that does not wait any more.
    virtual bool is_needed(connection& on, job_id id) = 0;
};

}  // namespace leasehold
