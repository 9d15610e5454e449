#pragma once
// The state of a job after an attempt. It is decided here alone. A store changes it for one reason,
// under the lock of the row: a request to cancel the job, as under_request() says.
//
//   step      the job becomes
//   complete  completed
//   fail      discarded by its last attempt, otherwise retryable
//   snooze    scheduled; available if the delay is 0
//   release   available
//   discard   discarded
//   cancel    cancelled
#include <chrono>
#include <string>
#include <utility>

#include "jobs/job_store.hpp"

namespace leasehold {

// The way an attempt ends.
enum class job_step { complete, fail, snooze, release, discard, cancel };

constexpr job_state state_after(
    job_step step, std::chrono::microseconds delay, int attempts, int max_attempts
) noexcept {
    switch (step) {
        case job_step::complete:
            return job_state::completed;
        case job_step::fail:
            return attempts >= max_attempts ? job_state::discarded : job_state::retryable;
        case job_step::snooze:
            return delay > delay.zero() ? job_state::scheduled : job_state::available;
        case job_step::release:
            return job_state::available;
        case job_step::discard:
            return job_state::discarded;
        case job_step::cancel:
            return job_state::cancelled;
    }
    return job_state::available;
}

inline job_end end_after(
    const claimed_job& job, job_step step, std::chrono::microseconds delay, std::string words
) {
    const job_state to = state_after(step, delay, job.attempts, job.retry.max_attempts);
    // A result that was set before: no error, if somebody asks to cancel the job.
    if (step == job_step::snooze || step == job_step::release) words.clear();
    return {job.id, job.token, to, delay, std::move(words)};
}

}  // namespace leasehold
