#pragma once
// The common parts of the suites about workers: their queue, and a worker that does what is there.
#include <future>
#include <string>
#include <utility>

#include "conformance/suite.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::testing {

class worker_suite : public suite {
protected:
    worker_settings settings(int threads = 2) const {
        worker_settings made;
        made.queues = {name_};
        made.concurrency = threads;
        made.poll_every = 20ms;
        made.stop_when_idle = true;
        return made;
    }
    job_info info_of(job_id id) const {
        const auto found = find_job(first_, id);
        EXPECT_TRUE(found) << "job " << id;
        return found.value_or(job_info{});
    }
    job_state state_of(job_id id) const { return info_of(id).state; }
    // Does what is there by one handler for all, on a session of its own.
    worker_report drain(const job_handler& with, worker_settings by) {
        session mine{second_, calm("worker")};
        leasehold::worker does{mine, std::move(by)};
        does.handle_all(with);
        return does.run();
    }
    worker_report drain(const job_handler& with) { return drain(with, settings()); }

    // Runs beside the test until it is told to stop.
    struct shift {
        session mine;
        leasehold::worker does;
        std::stop_source stop;
        std::future<worker_report> report;

        shift(const database& db, worker_settings by, const job_handler& with)
            : mine(db, calm("worker")), does(mine, std::move(by)) {
            does.handle_all(with);
            report = std::async(std::launch::async, [this] { return does.run(stop.get_token()); });
        }
        ~shift() {
            stop.request_stop();
            if (report.valid()) report.wait();
        }
        worker_report end() {
            stop.request_stop();
            return report.get();
        }
    };

    const std::string name_ = fresh("queue");
    const job_queue queue_{first_, name_};
};

}  // namespace leasehold::testing
