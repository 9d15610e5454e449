// The state of a job after an attempt, as the table in job_attempt.hpp has it.
#include "jobs/job_attempt.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

struct line {
    job_step step;
    std::chrono::microseconds delay;
    int attempts;
    job_state to;
};

TEST(job_attempt, each_step_has_its_state) {
    constexpr int max_attempts = 3;
    for (const auto& [step, delay, attempts, to] : std::vector<line>{
             {job_step::complete, 0us, 3, job_state::completed},
             {job_step::fail, 1h, 1, job_state::retryable},
             {job_step::fail, 0us, 2, job_state::retryable},
             {job_step::fail, 1h, 3, job_state::discarded},
             {job_step::fail, 1h, 4, job_state::discarded},
             {job_step::snooze, 1us, 3, job_state::scheduled},
             {job_step::snooze, 0us, 1, job_state::available},
             {job_step::release, 1h, 3, job_state::available},
             {job_step::discard, 0us, 1, job_state::discarded},
             {job_step::cancel, 0us, 1, job_state::cancelled}}) {
        EXPECT_EQ(state_after(step, delay, attempts, max_attempts), to)
            << static_cast<int>(step) << " after attempt " << attempts;
    }
}

TEST(job_attempt, a_delay_doubles_up_to_its_maximum_whatever_the_policy_says) {
    const retry_policy policy{.delay = 5s, .max_delay = 1min};
    EXPECT_EQ(delay_after(policy, 1, 0), 5s);
    EXPECT_EQ(delay_after(policy, 2, 0), 10s);
    EXPECT_EQ(delay_after(policy, 2, 1), 5s);
    EXPECT_EQ(delay_after(policy, 2, std::numeric_limits<double>::quiet_NaN()), 10s);
    constexpr int most = std::numeric_limits<int>::max();
    EXPECT_EQ(delay_after(policy, most, -1), 1min);
    EXPECT_EQ(delay_after({.delay = 0s}, most, 0), 0s);
    EXPECT_EQ(delay_after({.delay = -5s, .max_delay = 1h}, most, 0), 0s);
    EXPECT_EQ(
        delay_after({.delay = 5s, .max_delay = std::chrono::milliseconds::max()}, most, 0),
        366 * 24h
    );
}

TEST(job_attempt, an_end_is_of_the_claim_and_carries_the_words) {
    claimed_job job;
    job.id = 7;
    job.token.number = 8;
    job.attempts = job.retry.max_attempts;
    const job_end end = end_after(job, job_step::fail, 5s, "no disk");
    EXPECT_EQ(end.id, 7);
    EXPECT_EQ(end.token.number, 8);
    EXPECT_EQ(end.becomes, job_state::discarded);
    EXPECT_EQ(end.delay, 5s);
    EXPECT_EQ(end.words, "no disk");
}

}  // namespace
}  // namespace leasehold::testing
