#pragma once
// For tests of programs that enqueue jobs and handle them.
//
//   order(db, 42);  // the function under test enqueues a letter
//   const auto jobs = leasehold::enqueued_jobs(db, "mail");
//   EXPECT_EQ(jobs.at(0).payload, R"({"purchase":42})");
//
//   const auto report = leasehold::drain_inline(db, {.queues = {"mail"}}, add_handlers);
//   EXPECT_EQ(report.completed, 1);  // void add_handlers(leasehold::worker& to) is the program's
//
// Promises: drain_inline() has done, when it returns, all jobs of the queues that could run, also
// those that its handlers have enqueued; one at a time, in their order. `left` of the report has
// those of kinds without a handler, and of paused queues.
// Does not promise: to do a job before its time, or one that waits for its next attempt. Two tests
// that use one queue at once do each other's jobs: give each its own name, or its own database.
//
// Errors: those of worker::run() and list_jobs(). Threads: safe; handlers run on another thread.
#include <string>
#include <utility>
#include <vector>

#include "leasehold/callable.hpp"
#include "leasehold/database.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {

// The jobs of the queue, in the order of their ids, and of that kind alone if it is not empty:
// those that have not ended, and of the others those that are kept. The first 10,000 of them.
inline std::vector<job_info> enqueued_jobs(
    const database& db, std::string queue, std::string kind = {}
) {
    job_filter wanted;
    wanted.queue = std::move(queue);
    wanted.kind = std::move(kind);
    wanted.limit = 10'000;
    return list_jobs(db, wanted).items;
}

inline worker_report drain_inline(
    const database& db, worker_settings settings, const callable<void(worker&)>& add_handlers
) {
    settings.stop_when_idle = true;
    settings.concurrency = 1;
    settings.prefetch = 0;
    worker mine{db, std::move(settings)};
    add_handlers(mine);
    return mine.run();
}

}  // namespace leasehold
