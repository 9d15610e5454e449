// The number of jobs that a worker claims at once.
#include "jobs/claim_plan.hpp"

#include <gtest/gtest.h>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

claim_plan::tally busy_with(std::size_t waiting, std::size_t running) {
    claim_plan::tally now;
    now.waiting = waiting;
    now.running = running;
    now.mean = 1ms;
    return now;
}

std::vector<job_executor::task> jobs(std::size_t count, int rescues, bool may_be_rescued = true) {
    claimed_job what;
    what.rescues = rescues;
    what.may_not_be_rescued = !may_be_rescued;
    const auto one = std::make_shared<job::implementation>(what, "q", std::weak_ptr<job_desk>{});
    return std::vector<job_executor::task>(count, one);
}

TEST(claim_plan, as_many_jobs_are_claimed_ahead_as_begin_within_50_ms) {
    EXPECT_EQ(jobs_ahead(4, std::nullopt), 0U) << "no job has ended";
    EXPECT_EQ(jobs_ahead(4, 1s), 0U);
    EXPECT_EQ(jobs_ahead(4, 26ms), 0U);
    EXPECT_EQ(jobs_ahead(4, 25ms), 4U);
    EXPECT_EQ(jobs_ahead(24, 10ms), 96U);
    EXPECT_EQ(jobs_ahead(1, 2ms), 24U);
    EXPECT_EQ(jobs_ahead(1000, 0ns), 200U) << "more would fill no statement better";
    EXPECT_EQ(jobs_ahead(0, 0ns), 0U) << "all threads are busy with slow ones";
}

TEST(claim_plan, jobs_are_claimed_when_half_of_those_ahead_have_begun) {
    const worker_settings asked{.concurrency = 4, .prefetch = 10};
    const claim_plan plan{asked};
    EXPECT_EQ(plan.room(busy_with(0, 0)), 14U);
    EXPECT_EQ(plan.room(busy_with(5, 4)), 5U);
    EXPECT_TRUE(plan.may_claim(busy_with(5, 4)));
    EXPECT_FALSE(plan.may_claim(busy_with(6, 4)));
    auto rests = busy_with(0, 0);
    rests.rests_until = local_clock::now() + 1h;
    EXPECT_FALSE(plan.may_claim(rests));
}

TEST(claim_plan, nothing_is_claimed_ahead_by_measure_in_queues_with_limits) {
    const worker_settings asked{.concurrency = 4, .prefetch = std::nullopt};
    claim_plan plan{asked};
    EXPECT_EQ(plan.room(busy_with(0, 4)), 196U);
    plan.note_limits(true);
    EXPECT_EQ(plan.room(busy_with(0, 4)), 0U);
    EXPECT_EQ(plan.room(busy_with(0, 1)), 3U);
    plan.note_limits(false);
    EXPECT_EQ(plan.room(busy_with(0, 4)), 196U);
}

TEST(claim_plan, nothing_is_claimed_ahead_beside_a_job_of_a_dead_worker) {
    for (const std::optional<int> prefetch : {std::optional<int>{}, std::optional<int>{10}}) {
        const worker_settings asked{.concurrency = 4, .prefetch = prefetch};
        claim_plan plan{asked};
        EXPECT_GT(plan.room(busy_with(0, 4)), 0U);
        auto runs = busy_with(0, 4);
        runs.fragile = 1;
        EXPECT_EQ(plan.room(runs), 0U) << "while one is here";
        plan.note_claims(jobs(3, 1));
        EXPECT_EQ(plan.room(busy_with(0, 4)), 0U) << "its neighbours went back";
        plan.note_claims({});
        plan.note_claims(jobs(2, 0));
        EXPECT_EQ(plan.room(busy_with(0, 4)), 0U) << "one is claimed later";
        plan.note_claims(jobs(1, 0));
        EXPECT_GT(plan.room(busy_with(0, 4)), 0U);
        plan.note_claims(jobs(1, 0, false));
        EXPECT_EQ(plan.room(busy_with(0, 4)), 0U) << "it would be discarded";
    }
}

TEST(claim_plan, ends_wait_for_others_while_jobs_are_left_to_do) {
    worker_settings asked{.concurrency = 4, .prefetch = 10};
    const claim_plan plan{asked};
    auto now = busy_with(6, 4);
    now.ended = 5;
    now.oldest_end = local_clock::now();
    EXPECT_EQ(plan.ends_wait(now), now.oldest_end + asked.max_ends_wait);
    now.ended = 6;
    EXPECT_FALSE(plan.ends_wait(now)) << "these are enough";
    now.ended = 5;
    now.waiting = 5;
    EXPECT_FALSE(plan.ends_wait(now)) << "the next claim is due";
    now.waiting = 6;
    asked.batches_ends = false;
    EXPECT_FALSE(plan.ends_wait(now));
}

}  // namespace
}  // namespace leasehold::testing
