#include "leasehold/job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "jobs/job_check.hpp"
#include "jobs/job_executor.hpp"
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

void require_delay(std::chrono::milliseconds delay, const char* rule) {
    if (delay < delay.zero() || delay > std::chrono::hours{24 * 366}) refuse_input(rule);
}

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
    refuse_input("'" + std::string{name} + "' is no state of a job; there are " + known);
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
    using std::chrono::microseconds;
    constexpr std::chrono::milliseconds none{0}, longest = std::chrono::hours{24 * 366};
    microseconds delay = std::clamp(policy.delay, none, longest);
    const microseconds most = std::clamp(policy.max_delay, none, longest);
    for (int each = 1; each < attempts && delay > none && delay < most; ++each) delay *= 2;
    delay = std::min(delay, most);
    const double left_out = jitter > 0 ? std::min(jitter, 1.0) / 2 : 0.0;  // also if no number
    const double cut = static_cast<double>(delay.count()) * left_out;
    return delay - microseconds{static_cast<std::int64_t>(cut)};
}

// ------------------------------------------------------------------------- what handlers see

job_id job::id() const noexcept {
    return inner_.what().id;
}
const std::string& job::queue() const noexcept {
    return inner_.queue();
}
const std::string& job::kind() const noexcept {
    return inner_.what().kind;
}
const std::string& job::payload() const noexcept {
    return inner_.what().payload;
}
int job::attempt() const noexcept {
    return inner_.what().attempts;
}
int job::max_attempts() const noexcept {
    return inner_.what().retry.max_attempts;
}
int job::rescues() const noexcept {
    return inner_.what().rescues;
}
fencing_token job::token() const noexcept {
    return inner_.what().token;
}
const std::string& job::traceparent() const noexcept {
    return inner_.what().traceparent;
}
const std::string& job::checkpoint() const noexcept {
    return inner_.what().checkpoint;
}
std::chrono::microseconds job::retry_delay() const {
    return delay_after(inner_.what().retry, attempt(), 0.5);
}
std::stop_token job::stop() const noexcept {
    return inner_.stop();
}
job_stop_reason job::why_stopped() const noexcept {
    return inner_.why_stopped();
}
local_clock::time_point job::deadline() const noexcept {
    return inner_.deadline();
}
void job::progress(std::string_view words) {
    inner_.progress(words);
}
void job::save_checkpoint(std::string_view state) {
    inner_.save_checkpoint({}, state);
}
void job::save_checkpoint_in(transaction_ref tx, std::string_view state) {
    inner_.save_checkpoint(tx, state);
}
void job::set_result(std::string_view words) {
    inner_.set_result(words);
}
void job::snooze_for(std::chrono::milliseconds delay) {
    require_delay(delay, "a job is snoozed for 0 to 366 days");
    inner_.decide(job_step::snooze, delay, {});
}
void job::set_retry_delay(std::chrono::milliseconds delay) {
    require_delay(delay, "the next attempt of a job comes after 0 to 366 days");
    inner_.retry_after(delay);
}
void job::release() {
    inner_.decide(job_step::release, {}, {});
}
void job::release_and_rest(std::chrono::milliseconds rest) {
    if (rest < rest.zero() || rest > std::chrono::hours{24}) {
        refuse_input("a worker rests for 0 to 24 h");
    }
    release();
    inner_.rest_for(rest);
}
void job::discard(std::string_view why) {
    inner_.decide(job_step::discard, {}, why);
}
void job::complete_in(transaction_ref tx) {
    inner_.complete_in(tx);
}

}  // namespace leasehold
