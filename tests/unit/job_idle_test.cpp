// The requests of a worker while there is nothing to do.
#include <atomic>
#include <map>

#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class job_idle_test : public model_test {
protected:
    // Counts the requests of each kind from now on.
    void count_requests() {
        plan_->fail_when([this](std::string_view statement, int) {
            const std::lock_guard guard{mutex_};
            ++counts_[std::string{statement}];
            return std::nullopt;
        });
    }
    int count_of(const std::string& name) const {
        const std::lock_guard guard{mutex_};
        const auto found = counts_.find(name);
        return found == counts_.end() ? 0 : found->second;
    }
    std::map<std::string, int> counts() const {
        const std::lock_guard guard{mutex_};
        return counts_;
    }

    // The queues of the tests of a session.
    const std::vector<std::string> queues_{"one", "two", "three"};

private:
    mutable std::mutex mutex_;
    std::map<std::string, int> counts_;
};

TEST_F(job_idle_test, it_looks_once_in_each_interval_for_all_its_queues) {
    session mine{patient(), calm("idle")};
    leasehold::worker idle{
        mine, {.queues = queues_, .concurrency = 4, .prefetch = 100, .poll_every = 10ms}};
    idle.handle_all([](leasehold::job&) {});
    std::stop_source stop;
    {
        thread works{[&] { idle.run(stop.get_token()); }};
        // Behind its first claims.
        count_requests();
        ASSERT_TRUE(eventually([&] { return count_of("look") >= 20; }));
        count_requests();
        ASSERT_TRUE(eventually([&] { return count_of("look") >= 100; }));
        stop.request_stop();
    }
    int others = 0;
    for (const auto& [name, count] : counts()) {
        if (name == "look" || name == "heartbeat") continue;
        others += count;
    }
    // One of all workers maintains the queue, each two seconds at most; and it says good-bye.
    EXPECT_LE(others, 40) << "beside " << count_of("look") << " looks";
}

// Its time is beyond what a clock of nanoseconds can count from now on.
TEST_F(job_idle_test, a_job_that_is_due_in_another_century_keeps_nobody_busy) {
    const job_queue queue{patient(), "one"};
    new_job later;
    later.run_at = std::chrono::sys_days{std::chrono::year{2999} / 12 / 31};
    queue.enqueue(later);
    session mine{patient(), calm("idle")};
    leasehold::worker idle{mine, {.queues = queues_, .concurrency = 1, .poll_every = 10ms}};
    std::atomic<int> done = 0;
    idle.handle_all([&](leasehold::job&) { ++done; });
    std::stop_source stop;
    count_requests();
    thread works{[&] { idle.run(stop.get_token()); }};
    for (int number = 1; number <= 3; ++number) {
        queue.enqueue({});
        ASSERT_TRUE(eventually([&] { return done == number; }));
    }
    stop.request_stop();
    works.join();
    EXPECT_LE(count_of("look"), 1'000);
    EXPECT_GE(count_of("look"), 1);
}

// The worker cannot ask which jobs waited for others: it loses no claimed job by that.
TEST_F(job_idle_test, what_was_claimed_is_done_where_needs_cannot_be_settled) {
    const job_queue queue{patient(), "one"};
    std::vector<new_job> jobs(20);
    const auto batch = queue.enqueue_batch(jobs, {.kind = "then"});
    session mine{patient(), calm("worker")};
    leasehold::worker works{
        mine, {.queues = {"one"}, .concurrency = 2, .prefetch = 4, .poll_every = 10ms}};
    std::atomic<int> done = 0;
    std::atomic<bool> has_ended = false;
    works.handle_all([&](leasehold::job& each) {
        ++done;
        if (each.kind() == "then") has_ended = true;
    });
    plan_->fail_every("needs_over", fault::refused);
    std::stop_source stop;
    thread runs{[&] { works.run(stop.get_token()); }};
    EXPECT_TRUE(eventually([&] { return done == 20; }));
    plan_->heal();
    EXPECT_TRUE(eventually([&] { return has_ended.load(); }));
    EXPECT_EQ(done, 21);
    stop.request_stop();
}

}  // namespace
}  // namespace leasehold::testing
