#pragma once
// Schedules that enqueue jobs: a cron expression and a job, in a table; each fire time once in the
// whole cluster, by whichever worker of the queue comes first.
//
//   leasehold::set_job_schedule(db, {.name = "nightly",
//                                    .queue = "reports",
//                                    .cron = "30 2 * * *",
//                                    .zone = "Europe/Berlin",
//                                    .job = {.kind = "report", .payload = "for {fire_time}"}});
//
// Every host may call it when it starts: an existing schedule that is the same stays untouched.
//
// | a fire time is          | with skip | with fire_once               | with catch_up            |
// |-------------------------|-----------|------------------------------|--------------------------|
// | found within `max_late` | one job   | one job                      | one job                  |
// | missed: no worker ran   | nothing   | one job for all, of the      | a job for each of the    |
// |                         |           | latest; none where the next  | latest `max_catch_up`    |
// |                         |           | one is in time               |                          |
//
// A job of a schedule has the unique key "NAME@2026-11-25T01:30:00Z" of its fire time, unless it
// has one of its own: then a fire time whose predecessor has not ended brings no second job. In its
// payload each `{fire_time}` is replaced by that time.
//
// Promises: the jobs of a fire time and the mark that it has fired are one commit, so a fire time
// enqueues its job once, also if the clocks of hosts differ or a worker dies. The table has the
// time of the next one. The database's clock decides; those of hosts decide nothing. There is no
// leader: any worker of the queue fires what is due, when it looks (worker_settings::poll_every).
// Does not promise: to remember the fire times of a schedule that was removed and then set again.
// If the clock is set back, no fire time fires again.
//
// Cost: a look of an idle worker reads one row more; a fire time that is due costs a transaction.
// Errors: invalid_argument for a malformed schedule (schedule.hpp), a bad name or job, both `cron`
// and `every` or neither. If a worker's build has no time zones, it leaves schedules that need them
// to other workers, and tells the observer.
//
// Threads: safe.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/job.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold {

// The treatment of fire times that no worker has found in time. The numbers stand in the rows.
enum class misfire_policy { skip = 1, fire_once = 2, catch_up = 3 };

// "skip", "fire_once", "catch_up"
LEASEHOLD_EXPORT const char* name_of(misfire_policy policy) noexcept;

struct job_schedule {
    std::string name{};   // 1 to 200 bytes of UTF-8
    std::string queue{};  // the queue of its jobs
    // One of the two: see schedule::cron() and schedule::every().
    std::string cron{};
    std::string zone = "UTC";                          // of `cron`
    std::optional<std::chrono::microseconds> every{};  // 1 s to 366 days
    // Without run_at, delay and traceparent; on_conflict::fail is not for schedules.
    new_job job{};
    misfire_policy misfire = misfire_policy::fire_once;
    int max_catch_up = 10;              // 1 to 1,000
    std::chrono::seconds max_late{60};  // 1 s to 366 days
};

// A list of schedules has this of each of them.
struct job_schedule_info {
    job_schedule what{};
    bool is_paused = false;
    schedule::instant next{};                  // the first that has not fired
    std::chrono::microseconds next_in{0};      // 0: it is due
    std::optional<schedule::instant> last{};   // the latest that has fired; nothing: none yet
    std::optional<job_id> last_job{};          // that `last` enqueued
    std::chrono::microseconds overdue_for{0};  // 0 if it is paused
};

// Makes the schedule, or changes the one of this name; if that changes its times, fire times go on
// from now. False: it was there, and the same.
LEASEHOLD_EXPORT bool set_job_schedule(const database& db, const job_schedule& what);

// Removes the schedule; the jobs that it has enqueued stay. False: there was none.
LEASEHOLD_EXPORT bool remove_job_schedule(const database& db, std::string_view name);

// A paused schedule does not fire; a resumed one goes on with its next fire time after that. False
// if no such schedule exists.
LEASEHOLD_EXPORT bool pause_job_schedule(const database& db, std::string_view name);
LEASEHOLD_EXPORT bool resume_job_schedule(const database& db, std::string_view name);
// As a pause that ends by itself after `length`, by the database's clock; 1 s to 366 days. The
// schedule is not `is_paused`: its `next` is the first fire time behind the pause.
LEASEHOLD_EXPORT bool pause_job_schedule_for(
    const database& db, std::string_view name, std::chrono::microseconds length
);

// Enqueues the job of a schedule at once, as if now were a fire time, also if it is paused. The
// schedule's own fire times stay. Nothing if no such schedule exists.
LEASEHOLD_EXPORT std::optional<enqueued_job> run_job_schedule(
    const database& db, std::string_view name
);

LEASEHOLD_EXPORT std::optional<job_schedule_info> find_job_schedule(
    const database& db, std::string_view name
);
// All schedules, in byte order of names.
LEASEHOLD_EXPORT std::vector<job_schedule_info> list_job_schedules(const database& db);

}  // namespace leasehold
