// The limits of a queue: how many jobs run, how many start in a time, and whether any may.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

class job_limits_suite : public job_suite {
protected:
    void allow_running(std::optional<int> max_running) const {
        queue_limits limits;
        limits.max_running = max_running;
        set_limits(limits);
    }
    void allow_starts(int max_starts, std::chrono::milliseconds starts_per) const {
        queue_limits limits;
        limits.max_starts = max_starts;
        limits.starts_per = starts_per;
        set_limits(limits);
    }
    std::optional<job_queue_store::queue_row> row() const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.find_queue(on, queue_);
        });
    }
    static bool begin_maintenance(
        const database& by, const std::string& queue, std::chrono::microseconds every
    ) {
        return with_stores(by, [&](connection& on, store_set& stores) {
            return stores.get<job_queue_store>().begin_maintenance(on, queue, every);
        });
    }
};

TEST_F(job_limits_suite, no_more_run_than_may) {
    allow_running(3);
    enqueue_many(10);
    const auto first = one_.claim(2), second = two_.claim(10);
    EXPECT_EQ(first.size(), 2U);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.complete(second[0]));
    EXPECT_TRUE(one_.finish(end_of(first[0], job_step::release)));
    EXPECT_EQ(one_.claim(10).size(), 2U);
    EXPECT_TRUE(two_.claim(10).empty());
}

TEST_F(job_limits_suite, a_limit_holds_from_when_it_is_set_and_until_it_is_lifted) {
    enqueue_many(10);
    const auto before = one_.claim(4);
    EXPECT_EQ(before.size(), 4U);
    allow_running(3);
    EXPECT_TRUE(one_.claim(1).empty());
    EXPECT_TRUE(two_.claim(1).empty());
    EXPECT_TRUE(one_.complete(before[0]));
    EXPECT_TRUE(one_.claim(1).empty());
    EXPECT_TRUE(one_.complete(before[1]));
    EXPECT_EQ(one_.claim(10).size(), 1U);
    allow_running(std::nullopt);
    EXPECT_EQ(two_.claim(2).size(), 2U);
    EXPECT_EQ(one_.claim(10).size(), 3U);
}

TEST_F(job_limits_suite, what_the_dead_have_counts_until_it_is_rescued) {
    allow_running(2);
    enqueue_many(3);
    one_.claim(2);
    expire(one_.mine);
    EXPECT_TRUE(two_.claim(10).empty());
    EXPECT_EQ(rescue().rescued, 2);
    EXPECT_EQ(two_.claim(10).size(), 2U);
}

TEST_F(job_limits_suite, who_ends_a_job_makes_room_for_his_next) {
    allow_running(1);
    const auto ids = enqueue_many(3);
    auto got = one_.claim(10);
    for (const job_id each : ids) {
        ASSERT_EQ(ids_of(got), std::vector{each});
        auto both = one_.finish_and_claim({end_of(got[0], job_step::complete)}, 10);
        EXPECT_EQ(stood(both.finished), std::vector{true});
        got = std::move(both.claimed.jobs);
    }
    EXPECT_TRUE(got.empty());
}

TEST_F(job_limits_suite, whoever_claims_at_once_no_more_run_than_may) {
    constexpr int workers = 6, max_running = 3, jobs = 90;
    allow_running(max_running);
    enqueue_many(jobs);
    std::atomic<int> running = 0, ended = 0, max_seen = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < workers; ++each) {
            threads.emplace_back([&, each] {
                const worker mine{open(), queue_};
                const auto step = [&] {
                    const auto got = mine.claim(1 + each % 3);
                    running += static_cast<int>(got.size());
                    int seen = max_seen;
                    while (seen < running && !max_seen.compare_exchange_weak(seen, running)) {
                    }
                    for (const claimed_job& job : got) {
                        --running;  // before the end is sent: nobody can count it after that
                        EXPECT_TRUE(mine.complete(job));
                        ++ended;
                    }
                    return ended == jobs;
                };
                EXPECT_TRUE(eventually(step, 60s));
            });
        }
    }
    EXPECT_LE(max_seen, max_running);
    EXPECT_EQ(ended, jobs);
}

// ------------------------------------------------------------------------------ starts in a time

TEST_F(job_limits_suite, no_more_start_than_may_in_a_time) {
    allow_starts(4, 1h);
    enqueue_many(20);
    EXPECT_EQ(one_.claim(3).size(), 3U);
    for (const auto& job : two_.claim(10)) EXPECT_TRUE(two_.complete(job)) << "a start is a start";
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.claim(10).empty());
    current().age_queue(queue_, 31min);
    EXPECT_EQ(one_.claim(10).size(), 2U) << "evenly: half the time, half of them";
    EXPECT_TRUE(two_.claim(10).empty());
    current().age_queue(queue_, 24h);
    EXPECT_EQ(two_.claim(10).size(), 4U) << "no more at once for a pause";
    EXPECT_TRUE(one_.claim(10).empty());
}

TEST_F(job_limits_suite, a_time_that_is_short_for_so_many_is_a_limit_too) {
    allow_starts(7'000, 1ms);
    enqueue_many(5);
    EXPECT_EQ(one_.claim(10).size(), 5U);
    allow_starts(7, 24h);
    enqueue_many(20);
    EXPECT_EQ(one_.claim(100).size(), 7U);
    EXPECT_TRUE(two_.claim(100).empty());
    current().age_queue(queue_, 24h + 1min);
    EXPECT_EQ(two_.claim(100).size(), 7U) << "what seven starts cost is no more than the time";
}

TEST_F(job_limits_suite, who_starts_nothing_pays_nothing) {
    allow_starts(2, 1h);
    for (int each = 0; each < 5; ++each) EXPECT_TRUE(one_.claim(10).empty());
    enqueue_many(5);
    EXPECT_EQ(two_.claim(10).size(), 2U);
}

// ------------------------------------------------------------------------------------- pauses

TEST_F(job_limits_suite, nothing_of_a_paused_queue_is_claimed) {
    enqueue_many(4);
    const auto before = one_.claim(1);
    set_paused(true);
    EXPECT_TRUE(look().is_paused);
    EXPECT_TRUE(row().value().is_paused);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.claim(10).empty());
    EXPECT_TRUE(
        one_.finish_and_claim({end_of(before[0], job_step::complete)}, 10).claimed.jobs.empty()
    );
    EXPECT_FALSE(find(before[0].id)) << "what runs goes on";
    enqueue(keyed("k"));
    EXPECT_TRUE(two_.claim(10).empty());
    set_paused(false);
    EXPECT_FALSE(look().is_paused);
    EXPECT_EQ(two_.claim(10).size(), 4U);
}

TEST_F(job_limits_suite, a_pause_holds_in_queues_with_limits) {
    allow_running(5);
    enqueue_many(4);
    EXPECT_EQ(one_.claim(1).size(), 1U);
    set_paused(true);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.claim(10).empty());
    EXPECT_EQ(row().value().limits.max_running, 5);
    set_paused(false);
    EXPECT_EQ(one_.claim(10).size(), 3U);
}

// ----------------------------------------------------------------------------------- the row

TEST_F(job_limits_suite, a_queue_without_a_row_has_no_limits) {
    EXPECT_FALSE(row());
    EXPECT_TRUE(one_.claim(10).empty());
    const queue_look seen = look();
    EXPECT_FALSE(seen.has_available || seen.next_due_in || seen.is_paused);
    EXPECT_EQ(promote() + rescue().rescued + unblock(), 0);
    enqueue_many(3);
    EXPECT_EQ(one_.claim(10).size(), 3U);
    const worker elsewhere{second_, fresh("elsewhere")};
    EXPECT_TRUE(elsewhere.claim(10).empty());
}

TEST_F(job_limits_suite, limits_are_replaced_all_and_read_as_they_were_set) {
    queue_limits all;
    all.max_running = 1'000'000;
    all.max_running_per_key = 1'000;
    all.max_starts = 7;
    all.starts_per = 1'500ms;
    all.keep_completed = 90s;
    all.keep_discarded = std::chrono::hours{24} * 36'500;
    all.keep_cancelled = 0s;
    set_limits(all);
    EXPECT_EQ(row().value().limits, all);
    EXPECT_FALSE(row().value().is_paused);
    set_paused(true);
    EXPECT_EQ(row().value().limits, all);
    set_limits({});
    EXPECT_EQ(row().value().limits, queue_limits{});
    EXPECT_TRUE(row().value().is_paused) << "that is no limit";
}

TEST_F(job_limits_suite, a_row_that_a_pause_made_has_no_limits) {
    set_paused(true);
    EXPECT_EQ(row().value().limits, queue_limits{});
}

TEST_F(job_limits_suite, of_all_who_ask_one_looks_after_a_queue_in_each_time) {
    EXPECT_TRUE(begin_maintenance(first_, queue_, 1h));
    EXPECT_FALSE(begin_maintenance(first_, queue_, 1h));
    EXPECT_FALSE(begin_maintenance(second_, queue_, 1h));
    EXPECT_TRUE(begin_maintenance(second_, fresh("elsewhere"), 1h));
    current().age_queue(queue_, 59min);
    EXPECT_FALSE(begin_maintenance(second_, queue_, 1h));
    EXPECT_TRUE(begin_maintenance(second_, queue_, 50min)) << "for who asks more often";
    current().age_queue(queue_, 2h);
    std::atomic<int> turns = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < 6; ++each) {
            threads.emplace_back([&] { turns += begin_maintenance(open(), queue_, 1h) ? 1 : 0; });
        }
    }
    EXPECT_EQ(turns, 1);
    EXPECT_EQ(row().value().limits, queue_limits{});
}

}  // namespace
}  // namespace leasehold::testing
