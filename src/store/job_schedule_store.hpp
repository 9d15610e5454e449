#pragma once
// What any database must be able to do with the schedules of jobs. The general MUSTs:
// hold_store.hpp.
//
// Fire times are data, as ticks are (run_store.hpp): computed by the schedule from the time that
// the database gave, and compared with its clock by the database. A row's version changes with each
// change of it, and no other row of its name ever had it: it begins at the clock, in microseconds.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold {

struct job_schedule_row {
    job_schedule what;
    bool is_paused = false;
    std::int64_t version = 0;
    schedule::instant next{};
    std::optional<schedule::instant> last{};
    std::optional<job_id> last_job{};
};

struct job_schedule_look {
    schedule::instant now;
    std::vector<job_schedule_row> rows;
};

// The next schedule to be looked at is behind this one.
struct job_schedule_place {
    schedule::instant next = schedule::instant::min();
    std::string name{};
    bool is_beginning() const noexcept { return name.empty(); }
};

class job_schedule_store {
public:
    static constexpr int rows_max = 100;

    virtual ~job_schedule_store() = default;

    // Of a queue those that are not paused and whose next fire time has come, the longest due
    // first: at most rows_max behind the place; and the time. One plain read.
    virtual job_schedule_look due(
        connection& on, std::string_view queue, const job_schedule_place& behind
    ) = 0;
    // Until the next fire time of the queue that has not come: those that are due and do not fire
    // tell nothing of it. One plain read of one row.
    virtual std::optional<std::chrono::microseconds> next_in(
        connection& on, std::string_view queue
    ) = 0;

    // In the transaction open on `inside`: goes on from the fire time of this version. False where
    // it is not of this version any more, by what is committed and not by a snapshot, or somebody
    // has it locked: the caller enqueues nothing. MUST keep others from the row until that
    // transaction ends.
    virtual bool advance(connection& inside, const job_schedule_row& to) = 0;

    // The first job that it enqueued, in the same transaction.
    virtual void note_job(connection& inside, std::string_view name, job_id id) = 0;

    // The time, and the row of this name.
    virtual job_schedule_look find(connection& on, std::string_view name) = 0;
    // By names greater than `after`, at most rows_max.
    virtual job_schedule_look list(connection& on, std::string_view after) = 0;

    // Makes the row (version 0), or changes the one of this version. False where there is one of
    // this name, or none of this version any more.
    virtual bool put(connection& on, const job_schedule_row& row) = 0;
    virtual bool remove(connection& on, std::string_view name) = 0;
};

}  // namespace leasehold
