#pragma once
// Fires schedules of jobs: says which fire times that have come bring a job, and enqueues the jobs.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_schedule_store.hpp"
#include "leasehold/job_schedule.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class connection;

// Throws invalid_argument, which says why `what` is no schedule.
schedule times_of(const job_schedule& what);

struct fires {
    std::vector<schedule::instant> times{};   // each brings a job; in order, at most 1,000
    schedule::instant next{};                 // the first that is left
    std::optional<schedule::instant> last{};  // the latest that has come; nullopt: none has
    bool has_missed = false;                  // some times bring no job
};

// The times from `next` on. Of more than 1,000 that bring a job the later ones are left for the
// next call.
fires fires_of(
    const job_schedule& what, const schedule& when, schedule::instant next, schedule::instant now
);

new_job job_at(const job_schedule& what, schedule::instant when);

// "2026-11-25T01:30:00Z"; with microseconds unless they are 0.
std::string text_of(schedule::instant when);

// The position at which the next call goes on; and whether somebody had locked a schedule before
// it.
struct fire_place {
    job_schedule_place behind{};
    bool some_locked = false;
};
struct fire_result {
    std::int64_t jobs = 0;
    schedule::instant last = schedule::instant::min();  // the fire time of the last one looked at
    bool are_more = false;                              // to be looked at: call again
    bool some_locked = false;                           // call again in a while
};

// Hears of the jobs of each schedule that fired, when they are committed.
using on_fired =
    std::function<void(const std::vector<new_job>& what, const std::vector<enqueued_job>& made)>;

// Enqueues the due jobs of the queue's schedules, each schedule in a transaction of its own on
// `on`. It skips a faulty schedule, and tells `complain` what is wrong with it. If one throws, the
// next call goes on behind it.
fire_result fire_schedules(
    connection& on,
    store_set& stores,
    const std::string& queue,
    fire_place& place,
    const std::function<void(const std::string& name, const std::string& what)>& complain,
    const on_fired& tell = {}
);

}  // namespace leasehold
