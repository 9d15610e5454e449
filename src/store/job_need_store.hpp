#pragma once
// What any database must be able to do with jobs that wait until others have ended. The general
// MUSTs: hold_store.hpp.
//
// A job that waits is one whose due time never comes, and rows say for whom: they are there from
// the transaction that enqueues it on. The job that it waits for has ended where, in a snapshot
// that has the row, there is no job of that number any more. So nobody needs to be told when a job
// ends; and who ends one by a statement that knows nothing of this has done nothing wrong. What has
// completed may leave nothing behind: no row of the history says so, too.
//
// A job goes on when there are no rows of it any more: in the transaction that takes the last of
// them away, and by a statement behind its commit, since two who take rows away at once do not see
// that the other does. What was left by who died in between is found by left_waiting().
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/job.hpp"

namespace leasehold {

struct job_need {
    job_id job = 0;    // waits
    job_id needs = 0;  // for this one
    need_until until = need_until::completed;
};

// One that is over.
struct job_need_over {
    job_need what;
    job_state became = job_state::completed;  // the one that was waited for
};

// The next row to be looked at is behind this one.
struct need_place {
    job_id needs = 0;
    job_id job = 0;
};

class job_need_store {
public:
    static constexpr std::size_t rows_max = 1000;
    // A pass over all looks at so many: a job that comes meanwhile does not wait for long.
    static constexpr std::size_t passed_max = 100;

    // When a job is due that waits: 9999-01-01.
    static constexpr schedule::instant never =
        std::chrono::sys_days{std::chrono::year{9999} / std::chrono::January / std::chrono::day{1}};

    virtual ~job_need_store() = default;

    // In the transaction open on `inside`, in which the jobs that wait are enqueued.
    virtual void add(connection& inside, const std::vector<job_need>& what) = 0;

    // Of these jobs, those that have ended, with who waits for them: some `rows_max` at most. A
    // plain read.
    virtual std::vector<job_need_over> over(connection& on, const std::vector<job_id>& ids) = 0;
    // The same of `passed_max` rows behind the place, which is moved on; to the beginning where
    // there are no more.
    virtual std::vector<job_need_over> over_behind(connection& on, need_place& place) = 0;

    // In the transaction open on `inside`: takes the rows of these away, and of no others.
    virtual void forget(connection& inside, const std::vector<job_need_over>& over) = 0;
    // In the transaction that is open, or by itself. Of these jobs, those that wait for nobody are
    // available, but for those that somebody has locked: left_waiting() finds them later. How many.
    virtual std::int64_t free(connection& on, const std::vector<job_id>& ids) = 0;
    // In which queues those of these jobs are that are available. A plain read.
    virtual std::vector<std::string> queues_of(connection& on, const std::vector<job_id>& ids) = 0;
    // Jobs of the queue that wait for nobody and were not freed, of `passed_max` behind the place,
    // which is moved on; to the beginning where there are no more. A plain read.
    virtual std::vector<job_id> left_waiting(
        connection& on, std::string_view queue, job_id& place
    ) = 0;

    // Why a job that waits is given up.
    enum class note_outcome { noted, gone, locked };
    virtual note_outcome note_reason(connection& on, job_id id, const std::string& words) = 0;

    // For whom it waits, by their numbers; at most `limit`.
    virtual std::vector<job_id> needs_of(connection& on, job_id id, int limit) = 0;
    virtual bool is_needed(connection& on, job_id id) = 0;
};

}  // namespace leasehold
