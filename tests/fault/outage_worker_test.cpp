// A worker of a database goes on behind outages of any length: one that it begins in, and one that
// takes its session and what it was doing. CTest gives these a server of their own, as
// fault_outage.<backend>.
#include <atomic>
#include <future>
#include <stdexcept>

#include "fault/impatient.hpp"
#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

class outage_worker : public server_suite {
protected:
    outage_worker() {
        auto settings = impatient(1s);
        settings.observer = told_;
        cut_off_ = current().open(settings);
        settings_.queues = {queue_.name()};
        settings_.concurrency = 1;
        settings_.poll_every = 50ms;
        timing_.ttl = 3s;
        timing_.heartbeat_every = 500ms;
        timing_.margin = 1s;
    }
    bool waits() const {
        return eventually([&] {
            return std::ranges::any_of(told_->all(), [](const told_event& each) {
                return each.detail.starts_with("a worker waits");
            });
        });
    }

    server_control control_{current().name};
    const std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
    const job_queue queue_{first_, fresh("queue")};
    std::optional<database> cut_off_;
    worker_settings settings_;
    session_settings timing_ = calm("worker");
};

TEST_F(outage_worker, begun_in_it_works_when_it_is_over) {
    queue_.enqueue({});
    worker does{*cut_off_, settings_, timing_};
    std::atomic<int> done = 0;
    does.handle_all([&](job&) { ++done; });
    std::stop_source stop;
    control_.kill();
    auto report = std::async(std::launch::async, [&] { return does.run(stop.get_token()); });
    EXPECT_TRUE(waits());
    control_.start();
    EXPECT_TRUE(eventually([&] { return done == 1; }));
    stop.request_stop();
    EXPECT_EQ(report.get().completed, 1);
}

TEST_F(outage_worker, one_that_outlasts_the_ttl_ends_no_worker) {
    queue_.enqueue({});
    worker does{*cut_off_, settings_, timing_};
    std::atomic<int> begun = 0, lost = 0, done = 0;
    does.handle_all([&](job& mine) {
        if (++begun > 1) {
            ++done;
            return;
        }
        EXPECT_TRUE(stopped(mine.stop(), 20s));
        EXPECT_EQ(mine.why_stopped(), job_stop_reason::claim_lost);
        ++lost;
        throw std::runtime_error("stopped");
    });
    std::stop_source stop;
    auto report = std::async(std::launch::async, [&] { return does.run(stop.get_token()); });
    ASSERT_TRUE(eventually([&] { return begun == 1; }));
    control_.pause();
    EXPECT_TRUE(eventually([&] { return lost == 1; }));
    EXPECT_TRUE(waits());
    control_.resume();
    EXPECT_TRUE(eventually([&] { return done == 1; }, 60s)) << "what was lost is rescued and done";
    stop.request_stop();
    EXPECT_EQ(report.get().completed, 1);
}

TEST_F(outage_worker, asked_to_stop_it_ends_while_it_waits) {
    worker does{*cut_off_, settings_, timing_};
    does.handle_all([](job&) {});
    std::stop_source stop;
    control_.kill();
    auto report = std::async(std::launch::async, [&] { return does.run(stop.get_token()); });
    EXPECT_TRUE(waits());
    const auto asked = local_clock::now();
    stop.request_stop();
    EXPECT_EQ(report.get().completed, 0);
    EXPECT_LT(local_clock::now() - asked, 5s);
    control_.start();
}

// Nobody waits for a drain that cron has started.
TEST_F(outage_worker, one_that_drains_does_not_wait_for_its_beginning) {
    settings_.stop_when_idle = true;
    worker does{*cut_off_, settings_, timing_};
    does.handle_all([](job&) {});
    control_.kill();
    const auto thrown = thrown_by([&] { does.run(); });
    control_.start();
    ASSERT_TRUE(thrown);
    EXPECT_TRUE(thrown->is_transient()) << thrown->what();
}

}  // namespace
}  // namespace leasehold::testing
