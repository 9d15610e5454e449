// The figures of metrics equal what the tables count, and the worker's report.
#include <stdexcept>

#include "conformance/worker_suite.hpp"
#include "jobs/job_store.hpp"
#include "leasehold/metrics.hpp"
#include "support/exposition_reader.hpp"

namespace leasehold::testing {
namespace {

class worker_metrics_suite : public worker_suite {
protected:
    database counted_database() const {
        database_settings settings;
        settings.observer = counts_;
        return current().open(settings);
    }
    // The sum of a metric over all kinds, of those with this label.
    std::int64_t sum(const std::string& name, const exposition_reader::labels& with = {}) const {
        const exposition_reader page{counts_->text()};
        double all = 0;
        for (const auto& each : page.samples()) {
            const bool is_of_queue = !each.by.contains("queue") || each.by.at("queue") == name_;
            const bool has_all = std::ranges::all_of(with, [&](const auto& one) {
                return each.by.contains(one.first) && each.by.at(one.first) == one.second;
            });
            if (each.name == "leasehold_" + name && is_of_queue && has_all) all += each.value;
        }
        return static_cast<std::int64_t>(all);
    }
    std::int64_t ended(const char* outcome) const {
        return sum("jobs_ended_total", {{"outcome", outcome}});
    }
    void enqueue_one_of_each() const {
        queue_limits limits;
        limits.keep_completed = 1h;
        counted_.set_limits(limits);
        counted_.enqueue_many({{.kind = "good"}, {.kind = "good"}});
        counted_.enqueue_many(
            {{.kind = "again", .retry = {.delay = 1ms}},
             {.kind = "bad", .retry = {.max_attempts = 1}},
             {.kind = "give_up"},
             {.kind = "later"},
             {.kind = "cancel"},
             {.kind = "slow", .retry = {.max_attempts = 1}, .attempt_timeout = 50ms}}
        );
        transaction tx = db_.begin();
        counted_.enqueue_in(tx, {.kind = "good"});
        tx.commit();
        transaction other = db_.begin();
        counted_.enqueue_in(other, {.kind = "good"});
        other.rollback();
    }
    // A worker of another process has claimed this one and died.
    void leave_behind() {
        counted_.enqueue({.kind = "left"});
        const auto dead = std::make_unique<session>(first_, calm("dead"));
        first_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<job_store>().claim(on, {name_, {"left"}, 1, dead->id(), "dead"});
        });
        expire(*dead);
    }
    void handle(leasehold::job& mine) const {
        const std::string& kind = mine.kind();
        if (kind == "give_up") mine.discard("no use");
        if (kind == "later") mine.snooze_for(1h);
        if (kind == "cancel") cancel_job(first_, mine.id());
        if (kind == "slow" && !stopped(mine.stop(), 20s)) return;
        const bool fails =
            kind == "bad" || kind == "cancel" || (kind == "again" && mine.attempt() == 1);
        if (fails) throw std::runtime_error("no paper");
    }

    const std::shared_ptr<metrics> counts_ = std::make_shared<metrics>();
    const database db_ = counted_database();
    const job_queue counted_{db_, name_};
};

TEST_F(worker_metrics_suite, figures_equal_the_counts_of_the_tables_and_of_the_report) {
    enqueue_one_of_each();
    leave_behind();
    auto by = settings(2);
    by.prefetch = 0;
    by.stop_when_idle = false;
    shift works{db_, by, [&](leasehold::job& mine) { handle(mine); }};
    const auto are_done = [&] {
        const auto seen = works.does.progress();
        return seen.completed == 5 && seen.failed == 3 && seen.discarded + seen.returned == 2 &&
               seen.cancelled == 1;
    };
    EXPECT_TRUE(eventually(are_done, 60s));
    const auto report = works.end();
    // The tables.
    auto jobs = counted_.describe().jobs;
    EXPECT_EQ(ended("completed"), jobs[job_state::completed]);
    EXPECT_EQ(ended("discarded"), jobs[job_state::discarded]);
    EXPECT_EQ(ended("cancelled"), jobs[job_state::cancelled]);
    EXPECT_EQ(ended("snoozed"), jobs[job_state::scheduled]);
    std::int64_t all = 0, attempts = 0;
    for (const job_info& each : list_jobs(first_, {.queue = name_})) {
        ++all;
        if (each.state >= job_state::completed) attempts += each.attempts;
    }
    EXPECT_EQ(all, 10);
    EXPECT_EQ(sum("jobs_enqueued_total"), all);
    EXPECT_EQ(sum("job_attempts_count"), all - 1) << "one is to run later";
    EXPECT_EQ(sum("job_attempts_sum"), attempts);
    // The report.
    EXPECT_EQ(ended("completed"), report.completed);
    EXPECT_EQ(ended("cancelled"), report.cancelled);
    EXPECT_EQ(ended("snoozed") + ended("released"), report.returned);
    EXPECT_EQ(ended("retried") + ended("discarded"), report.failed + report.discarded);
    EXPECT_EQ(ended("lost") + ended("unknown"), report.lost + report.unknown);
    EXPECT_EQ(sum("jobs_rescued_total", {{"reason", "released"}}), report.rescued);
    EXPECT_EQ(report.rescued, 1);
    // Each other.
    const auto starts = sum("jobs_started_total");
    EXPECT_EQ(starts, 11);
    EXPECT_EQ(sum("jobs_claimed_total"), starts);
    EXPECT_EQ(sum("jobs_ended_total"), starts);
    EXPECT_EQ(sum("job_wait_seconds_count"), starts);
    EXPECT_EQ(sum("job_run_seconds_count"), starts);
    EXPECT_EQ(sum("jobs_timed_out_total"), 1);
    EXPECT_EQ(sum("jobs_in_flight"), 0);
}

}  // namespace
}  // namespace leasehold::testing
