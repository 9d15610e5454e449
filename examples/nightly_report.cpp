// A report each night at half past two in Berlin, whichever host is up then: written in parts, sent
// when all of them are there.
//
//   nightly_report sqlite:reports.db schedule       sets the schedule; every host may, at its start
//   nightly_report sqlite:reports.db schedule 2     one every two seconds instead, to see it work
//   nightly_report sqlite:reports.db work 1         does what there is, until a report was sent
//
// The job of a night enqueues the parts and the job that sends, and ends, in one commit: a worker
// that dies in between leaves nothing of it behind, and the night begins again.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

#include "leasehold/leasehold.hpp"

namespace {

void set_schedule(const leasehold::database& db, int period_seconds) {
    leasehold::job_schedule nightly;
    nightly.name = "nightly report";
    nightly.queue = "reports";
    nightly.job = {.kind = "night", .payload = "{fire_time}", .unique_key = "night"};
    // Fire times that were missed while nobody was up are made up for once, whenever somebody is.
    nightly.misfire = leasehold::misfire_policy::fire_once;
    if (period_seconds > 0) {
        nightly.every = std::chrono::seconds{period_seconds};
    } else {
        nightly.cron = "30 2 * * *";
        nightly.zone = "Europe/Berlin";
    }
    leasehold::set_job_schedule(db, nightly);
}

void work(const leasehold::database& db, int max_reports) {
    std::stop_source stop;
    std::atomic<int> reports = 0;
    std::mutex printing;
    const auto say = [&](const std::string& line) {
        const std::lock_guard guard{printing};
        std::cout << line << std::endl;
    };
    leasehold::worker reporter{db, {.queues = {"reports"}, .concurrency = 3}, {.name = "reporter"}};
    reporter.handle("night", [&](leasehold::job& job) {
        const leasehold::job_queue queue{db, "reports"};
        std::vector<leasehold::new_job> parts;
        for (const std::string each : {"north", "south", "west"}) {
            parts.push_back({.kind = "part", .payload = each + " of " + job.payload()});
        }
        leasehold::transaction tx = db.begin();
        queue.enqueue_batch_in(tx, parts, {.kind = "send", .payload = job.payload()});
        job.complete_in(tx);
        tx.commit();
    });
    reporter.handle("part", [&](leasehold::job& job) { say("wrote " + job.payload()); });
    reporter.handle("send", [&](leasehold::job& job) {
        say("sent the report of " + job.payload());
        if (++reports == max_reports) stop.request_stop();
    });
    reporter.run(stop.get_token());
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count >= 3 ? arguments[2] : "";
    const int number = count == 4 ? std::atoi(arguments[3]) : 0;
    if (count > 4 || (what != "schedule" && what != "work")) {
        std::cerr << "usage: nightly_report URL (schedule [SECONDS] | work [REPORTS])\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::open(arguments[1]);
        leasehold::migrate(db);
        what == "work" ? work(db, number) : set_schedule(db, number);
        return 0;
    } catch (const leasehold::error& failure) {
        std::cerr << "nightly_report: " << failure.what() << '\n';
        return 1;
    }
}
