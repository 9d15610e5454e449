// The jobs that a worker claims beyond those that run.
#include <algorithm>
#include <atomic>
#include <future>
#include <optional>

#include "conformance/worker_suite.hpp"
#include "database/database.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_store.hpp"

namespace leasehold::testing {
namespace {

TEST_F(worker_suite, measured_quick_jobs_are_claimed_ahead_and_go_back_behind_a_slow_one) {
    constexpr int quick = 50, behind = 20;
    for (int each = 0; each < quick; ++each) queue_.enqueue({.kind = "quick"});
    queue_.enqueue({.kind = "slow"});
    for (int each = 0; each < behind; ++each) queue_.enqueue({.kind = "quick"});
    const auto claimed = [&] { return queue_.describe().jobs[job_state::running]; };
    auto by = settings(1);
    by.prefetch = std::nullopt;
    by.stop_when_idle = false;
    std::atomic<int> begun = 0;
    std::int64_t claimed_early = 0;
    std::promise<void> started, go_on;
    shift alone{second_, by, [&](leasehold::job& mine) {
                    if (++begun == 10) claimed_early = claimed();
                    if (mine.kind() != "slow") return;
                    started.set_value();
                    go_on.get_future().wait();
                }};
    started.get_future().wait();
    EXPECT_GT(claimed_early, 1) << "each job is claimed by itself";
    EXPECT_TRUE(eventually([&] { return claimed() == 1; })) << "jobs wait behind a slow one";
    const auto elsewhere = drain([](leasehold::job&) {});
    EXPECT_GT(elsewhere.completed, 0);
    go_on.set_value();
    EXPECT_EQ(alone.end().completed + elsewhere.completed, quick + 1 + behind);
}

TEST_F(worker_suite, a_job_that_is_cancelled_before_it_begins_counts_as_cancelled) {
    queue_.enqueue({});
    const job_id waits = queue_.enqueue({}).id;
    std::promise<void> started;
    auto by = settings(1);
    by.prefetch = 1;
    by.stop_when_idle = false;
    by.drain_timeout = 0ms;
    shift holds{second_, by, [&](leasehold::job& mine) {
                    started.set_value();
                    EXPECT_TRUE(stopped(mine.stop(), 20s));
                }};
    started.get_future().wait();
    ASSERT_TRUE(eventually([&] { return state_of(waits) == job_state::running; }));
    EXPECT_EQ(cancel_job(first_, waits), cancel_outcome::requested);
    const auto report = holds.end();
    EXPECT_EQ(report.cancelled, 1);
    EXPECT_EQ(report.completed, 1);
}

class worker_prefetch_suite : public worker_suite {
protected:
    // Enqueues so many jobs, which are rescued from a session that has claimed them all.
    void leave_by_a_dead_worker(int jobs) {
        for (int each = 0; each < jobs; ++each) queue_.enqueue({.kind = "left"});
        const session dead{second_, calm("dead")};
        first_.inner()->use([&](connection& on, store_set& stores) {
            const auto got =
                stores.get<job_store>().claim(on, {name_, {}, jobs, dead.id(), "dead@here"});
            ASSERT_EQ(std::ssize(got.jobs), jobs);
            expire(dead);
            EXPECT_EQ(stores.get<job_queue_store>().rescue(on, name_, jobs, {}).rescued, jobs);
        });
    }
    void expect_none_beside_rescued(std::optional<int> prefetch) {
        constexpr int left = 30, quick = 50;
        leave_by_a_dead_worker(left);
        for (int each = 0; each < quick; ++each) queue_.enqueue({.kind = "quick", .priority = 1});
        auto by = settings(1);
        by.prefetch = prefetch;
        std::int64_t most = 0, most_beside_rescued = 0, rescued = 0, quick_ones = 0;
        const auto report = drain(
            [&](leasehold::job& mine) {
                const bool is_rescued = mine.rescues() > 0;
                ++(is_rescued ? rescued : quick_ones);
                if (!is_rescued && quick_ones % 10 != 0) return;  // these are to be quick
                auto& seen = is_rescued ? most_beside_rescued : most;
                seen = std::max(seen, claimed());
            },
            by
        );
        EXPECT_EQ(report.completed, left + quick);
        EXPECT_EQ(rescued, left);
        EXPECT_EQ(report.returned, 0) << "the neighbours that go back have not begun";
        if (prefetch) {
            EXPECT_GT(most, 1) << "each job is claimed by itself";
        }
        EXPECT_EQ(most_beside_rescued, 1);
    }
    std::int64_t claimed() const { return queue_.describe().jobs[job_state::running]; }
};

TEST_F(worker_prefetch_suite, beside_a_job_of_a_dead_worker_none_is_claimed_ahead_by_measure) {
    expect_none_beside_rescued(std::nullopt);
}

TEST_F(
    worker_prefetch_suite, beside_a_job_of_a_dead_worker_none_of_a_fixed_number_is_claimed_ahead
) {
    expect_none_beside_rescued(20);
}

}  // namespace
}  // namespace leasehold::testing
