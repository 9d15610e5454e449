// The jobs that a worker claims beyond those that run.
#include <atomic>
#include <future>

#include "conformance/worker_suite.hpp"

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

}  // namespace
}  // namespace leasehold::testing
