#pragma once
// Says how many jobs a worker claims at once, and how long the ends of jobs wait for each other.
//
// A worker that measures claims as many jobs ahead as its threads begin within the horizon. It
// claims none ahead in queues with limits, where others would wait for the places of these jobs,
// and none beside a job of a dead worker or one that would not be rescued: the first may kill this
// worker, too, and both are discarded with it sooner than others.
//
// Threads: for the thread of run() alone; the calls with a tally are safe.
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "jobs/job_executor.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {

class claim_plan {
public:
    using tally = job_executor::tally;

    explicit claim_plan(const worker_settings& asked LEASEHOLD_LIFETIMEBOUND) : asked_(asked) {}

    // A job that the settings did not ask to claim ahead may wait here for so long.
    static constexpr std::chrono::milliseconds max_wait{100};
    bool measures() const noexcept { return !asked_.prefetch.has_value(); }

    void note_limits(bool has_limits) noexcept { has_limits_ = has_limits; }
    void note_claims(const std::vector<job_executor::task>& jobs);
    // True while such a job is here, and until as many jobs were claimed as came with the last one:
    // those that went back are claimed again one by one, and not all at once with that job.
    bool is_careful(const tally& now) const noexcept { return careful_for_ > 0 || now.fragile > 0; }

    // The number of jobs that may be claimed now.
    std::size_t room(const tally& now) const noexcept;
    // Claims many jobs at once: not before half of those claimed ahead are done.
    bool may_claim(const tally& now) const noexcept;
    // The time until which the ends may wait for more ends; nullopt: they do not wait.
    std::optional<local_clock::time_point> ends_wait(const tally& now) const noexcept;

private:
    std::size_t ahead(const tally& now) const noexcept;

    const worker_settings& asked_;
    bool has_limits_ = false;
    std::size_t careful_for_ = 0;  // jobs to be claimed
};

// The number of jobs that these threads begin within the horizon, beyond those that run. `mean`:
// the time of the handlers; nullopt: not known.
std::size_t jobs_ahead(std::size_t threads, std::optional<std::chrono::nanoseconds> mean) noexcept;

}  // namespace leasehold
