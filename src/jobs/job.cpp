#include "leasehold/job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "leasehold/error.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {
namespace {

constexpr std::array states{
    job_state::scheduled,
    job_state::available,
    job_state::running,
    job_state::retryable,
    job_state::blocked,
    job_state::completed,
    job_state::discarded,
    job_state::cancelled};

}  // namespace

const char* name_of(job_state state) noexcept {
    switch (state) {
        case job_state::scheduled:
            return "scheduled";
        case job_state::available:
            return "available";
        case job_state::running:
            return "running";
        case job_state::retryable:
            return "retryable";
        case job_state::blocked:
            return "blocked";
        case job_state::completed:
            return "completed";
        case job_state::discarded:
            return "discarded";
        case job_state::cancelled:
            return "cancelled";
    }
    return "unknown";
}

job_state job_state_of(std::string_view name) {
    std::string known;
    for (const job_state each : states) {
        if (name == name_of(each)) return each;
        known += (known.empty() ? "" : ", ") + std::string{name_of(each)};
    }
    throw error(
        errc::invalid_argument,
        "'" + std::string{name} + "' is no state of a job; there are " + known
    );
}

const char* name_of(job_stop_reason reason) noexcept {
    switch (reason) {
        case job_stop_reason::none:
            return "none";
        case job_stop_reason::attempt_timeout:
            return "attempt_timeout";
        case job_stop_reason::cancel_requested:
            return "cancel_requested";
        case job_stop_reason::worker_ends:
            return "worker_ends";
        case job_stop_reason::claim_lost:
            return "claim_lost";
    }
    return "unknown";
}

std::chrono::microseconds delay_after(
    const retry_policy& policy, int attempts, double jitter
) noexcept {
    std::chrono::microseconds delay = policy.delay;
    for (int each = 1; each < attempts && delay < policy.max_delay; ++each) delay *= 2;
    delay = std::min<std::chrono::microseconds>(delay, policy.max_delay);
    const double kept = 1 - std::clamp(jitter, 0.0, 1.0) / 2;
    return std::chrono::microseconds{
        static_cast<std::int64_t>(static_cast<double>(delay.count()) * kept)};
}

}  // namespace leasehold
