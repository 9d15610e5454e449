#pragma once
// The contract of all engines for the schedules of jobs. The general MUSTs: hold_store.hpp.
//
// Fire times are data, as ticks are (run_store.hpp): the schedule computes them from the time that
// the database gave, and the database compares them with its clock. A row's version changes with
// each change of the row, and no other row of its name ever had it: the first version is the clock,
// in microseconds.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold {

class sql_dialect;

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

// A position in the schedules: the next look begins behind it.
struct job_schedule_place {
    schedule::instant next = schedule::instant::min();
    std::string name{};
    bool is_beginning() const noexcept { return name.empty(); }
};

class job_schedule_store {
public:
    static constexpr int max_rows = 100;

    virtual ~job_schedule_store() = default;
    static std::unique_ptr<job_schedule_store> make(const std::shared_ptr<const sql_dialect>& how);

    // The schedules of a queue that are not paused and whose next fire time has come, the longest
    // due first: at most max_rows behind the position; and the time. One plain read.
    virtual job_schedule_look due(
        connection& on, std::string_view queue, const job_schedule_place& behind
    ) = 0;
    // The time until the queue's first fire time after `behind`; not positive if it came meanwhile.
    // `behind` is the fire time of the last schedule that the caller looked at, so that a schedule
    // that cannot fire does not count, and one whose time comes between two reads does. One plain
    // read of one row.
    virtual std::optional<std::chrono::microseconds> next_in(
        connection& on, std::string_view queue, schedule::instant behind
    ) = 0;

    // Moves the row on from the fire time of this version, in the transaction open on `inside`.
    // False if the committed row (not a snapshot's) has another version, or somebody has locked
    // it: the caller enqueues nothing. MUST keep others from the row until that transaction ends.
    virtual bool advance(connection& inside, const job_schedule_row& to) = 0;

    // Notes the last job that the schedule enqueued, in the same transaction.
    virtual void note_job(connection& inside, std::string_view name, job_id id) = 0;

    // The time, and the row of this name.
    virtual job_schedule_look find(connection& on, std::string_view name) = 0;
    // The schedules of names greater than `after`, at most max_rows.
    virtual job_schedule_look list(connection& on, std::string_view after) = 0;

    // Makes the row (version 0), or changes the row of this version. False if a row of this name
    // exists already, or its version is another one now.
    virtual bool put(connection& on, const job_schedule_row& row) = 0;
    virtual bool remove(connection& on, std::string_view name) = 0;
};

}  // namespace leasehold
