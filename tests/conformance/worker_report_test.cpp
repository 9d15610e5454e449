// The report of a worker's run, and the time for which the jobs that it has ended are kept.
#include <atomic>
#include <future>
#include <optional>

#include "conformance/worker_suite.hpp"
#include "leasehold/inspect.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

TEST_F(worker_suite, a_report_is_of_one_run) {
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, settings()};
    does.handle_all([](leasehold::job&) {});
    queue_.enqueue_many({{}, {}, {}});
    EXPECT_EQ(does.run().completed, 3);
    queue_.enqueue({});
    EXPECT_EQ(does.run().completed, 1);
    EXPECT_EQ(does.progress().completed, 1);
}

// The worker lives for its first jobs only.
TEST_F(worker_suite, the_first_jobs_of_a_worker_are_kept_as_its_queue_says) {
    queue_limits limits;
    limits.keep_completed = 1h;
    queue_.set_limits(limits);
    const auto made = queue_.enqueue_many({{}, {}, {}});
    EXPECT_EQ(
        drain([&](leasehold::job& mine) {
            transaction tx = second_.begin();
            mine.complete_in(tx);
            tx.commit();
        }).completed,
        3
    );
    for (const enqueued_job& each : made) EXPECT_EQ(state_of(each.id), job_state::completed);
}

TEST_F(worker_suite, a_discarded_job_is_kept_for_those_that_wait_for_it_alone) {
    queue_limits limits;
    limits.keep_discarded = 0s;
    queue_.set_limits(limits);
    const job_queue others{first_, fresh("others")};
    const auto before = others.enqueue({});
    others.enqueue({.depends_on = {before.id}});
    const auto job = queue_.enqueue({});
    EXPECT_EQ(drain([&](leasehold::job& mine) { mine.discard("no use"); }).discarded, 1);
    EXPECT_FALSE(find_job(first_, job.id)) << "nobody waits for this one";
}

// A limit may keep a job back for now; no worker here does jobs of this kind.
TEST_F(worker_suite, a_drain_ends_beside_jobs_that_nobody_handles) {
    queue_limits one_at_a_time;
    one_at_a_time.max_running = 1;
    for (const bool is_limited : {true, false}) {
        queue_.set_limits(is_limited ? one_at_a_time : queue_limits{});
        std::vector<new_job> jobs(5);
        for (std::size_t at = 0; at < jobs.size(); ++at) jobs[at].kind = at < 3 ? "mine" : "other";
        const auto made = queue_.enqueue_many(jobs);
        session mine{second_, calm("worker")};
        leasehold::worker does{mine, settings(2)};
        does.handle("mine", [](leasehold::job&) {});
        const auto report = does.run();
        EXPECT_EQ(report.completed, 3);
        ASSERT_EQ(report.left.size(), 1U);
        EXPECT_EQ(report.left[0].queue, name_);
        EXPECT_EQ(report.left[0].kind, "other");
        EXPECT_EQ(report.left[0].jobs, 2);
        EXPECT_TRUE(does.run().left.size() == 1U && does.progress().completed == 0);
        const auto rest = drain([](leasehold::job&) {});
        EXPECT_EQ(rest.completed, 2);
        EXPECT_TRUE(rest.left.empty());
    }
}

TEST_F(worker_suite, a_drain_names_what_is_paused) {
    queue_.enqueue({});
    queue_.pause();
    const auto report = drain([](leasehold::job&) {});
    EXPECT_EQ(report.completed, 0);
    ASSERT_EQ(report.left.size(), 1U);
    EXPECT_EQ(report.left[0].jobs, 1);
    queue_.resume();
    EXPECT_EQ(drain([](leasehold::job&) {}).completed, 1);
}

// A worker of a database goes on under another session where the one that it had is lost.
TEST_F(worker_suite, a_worker_of_a_database_outlives_its_session) {
    auto by = settings(1);
    by.stop_when_idle = false;
    auto timing = calm("own");
    timing.name = fresh("own");
    timing.ttl = 30s;
    timing.heartbeat_every = 100ms;
    const auto mine = [&] {
        std::vector<session_id> ids;
        for (const session_info& each : list_sessions(first_)) {
            if (each.is_live && each.node_info.starts_with(timing.name)) ids.push_back(each.id);
        }
        return ids;
    };
    std::atomic<int> stopped_jobs = 0, done = 0;
    std::atomic<bool> is_first = true;
    leasehold::worker does{second_, by, timing};
    does.handle_all([&](leasehold::job& job) {
        EXPECT_GT(job.deadline(), local_clock::now());
        if (is_first) {
            transaction rolled_back = second_.begin();
            job.complete_in(rolled_back);
            rolled_back.rollback();
            is_first = false;
            EXPECT_TRUE(stopped(job.stop(), 20s));
            EXPECT_EQ(job.why_stopped(), job_stop_reason::claim_lost);
            ++stopped_jobs;
            return;
        }
        ++done;
    });
    std::stop_source stop;
    auto report = std::async(std::launch::async, [&] { return does.run(stop.get_token()); });
    queue_.enqueue({});
    ASSERT_TRUE(eventually([&] { return !is_first; }));
    const auto before = mine();
    ASSERT_EQ(before.size(), 1U);
    current().age_session(before.front(), 2h);
    EXPECT_TRUE(eventually([&] { return stopped_jobs == 1 && done == 1; }))
        << "the job that was lost is done under another session";
    const auto after = mine();
    ASSERT_EQ(after.size(), 1U);
    EXPECT_NE(after.front(), before.front());
    stop.request_stop();
    const auto counts = report.get();
    EXPECT_EQ(counts.completed, 1);
    EXPECT_EQ(counts.unknown, 1) << "nobody could say that complete_in() was rolled back";
    EXPECT_TRUE(mine().empty()) << "its session ends with run()";
}

TEST_F(worker_suite, a_run_goes_on_when_another_thread_destroys_its_worker) {
    session mine{second_, calm("worker")};
    auto does = std::make_optional<leasehold::worker>(mine, settings());
    std::promise<void> begins, may_end;
    does->handle_all([&](leasehold::job&) {
        begins.set_value();
        may_end.get_future().wait();
    });
    queue_.enqueue({});
    auto report = std::async(std::launch::async, [&] { return does->run(); });
    begins.get_future().wait();
    does.reset();
    may_end.set_value();
    EXPECT_EQ(report.get().completed, 1);
}

}  // namespace
}  // namespace leasehold::testing
