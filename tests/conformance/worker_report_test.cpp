// What a run of a worker says that it has done, and how long the jobs are kept that it has ended.
#include "conformance/worker_suite.hpp"

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
    EXPECT_EQ(does.so_far().completed, 1);
}

// As in a worker that lives for its first jobs only.
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
    others.enqueue({.needs = {before.id}});
    const auto job = queue_.enqueue({});
    EXPECT_EQ(drain([&](leasehold::job& mine) { mine.discard("no use"); }).discarded, 1);
    EXPECT_FALSE(find_job(first_, job.id)) << "nobody waits for this one";
}

}  // namespace
}  // namespace leasehold::testing
