// The doctor's findings about work that is not done, on each engine: each finding is provoked.
#include <gtest/gtest.h>

#include <algorithm>

#include "admin/health_store.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/migrate.hpp"
#include "runs/run_store.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class work_doctor_test : public ::testing::Test {
protected:
    work_doctor_test() { migrate(db_); }

    // A run of a tick so long ago, without a lease.
    run_claim begin(const std::string& name, std::chrono::hours ago, const std::string& when) {
        run_claim wanted{
            key{name},
            {1},
            identity::random(),
            "runner@host:1",
            std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()) - ago,
            0us,
            true,
            when};
        db_.inner()->use([&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<run_store>().claim(on, wanted));
        });
        return wanted;
    }
    void end(const run_claim& of, run_result how) {
        db_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<run_store>().finish(on, {of.name, of.token, of.owner, std::move(how)});
        });
    }
    // A column of times, so much earlier.
    std::string earlier(const std::string& column, std::chrono::minutes by) const {
        if (db_.server().engine == engine::postgres) {
            return column + " = " + column + " - interval '" + std::to_string(by.count()) +
                   " minutes'";
        }
        const auto microseconds = std::chrono::microseconds{by}.count();
        return column + " = " + column + " - " + std::to_string(microseconds);
    }
    // Jobs that are there have ended as soon as they were enqueued.
    void end_all(const char* state) const {
        const std::string columns =
            "id, queue, kind, priority, attempts, rescues, token, payload, enqueued_at";
        run_in(
            db_,
            {"INSERT INTO leasehold_job_history (" + columns +
                 ", state, ended_at, prune_at) SELECT " + columns + ", " + state +
                 ", enqueued_at, enqueued_at FROM leasehold_job",
             "DELETE FROM leasehold_job"}
        );
    }
    std::vector<std::string> told(std::string_view name) const {
        std::vector<std::string> all;
        for (const finding& each : diagnose(db_)) {
            if (each.name == name) all.push_back(each.what);
        }
        return all;
    }

    const place here_;
    const database db_ = here_.open();
};

TEST_F(work_doctor_test, runs_that_failed_or_were_abandoned_or_are_overdue_are_told) {
    const std::string hourly = schedule::every(1h).text();
    end(begin("good", 0h, ""), {});
    end(begin("bad", 0h, ""), {.has_succeeded = false, .exit_status = 3, .message = "no disk\nx"});
    begin("cut off", 0h, "");
    end(begin("late", 5h, hourly), {});
    const auto all = diagnose(db_);
    const auto failed = find(all, "failed_run");
    ASSERT_TRUE(failed) << names_of(all);
    EXPECT_EQ(failed->severity, severity::warning);
    EXPECT_TRUE(failed->what.starts_with("the last run of 'bad' began ")) << failed->what;
    EXPECT_TRUE(failed->what.ends_with(" and has failed with status 3: no disk")) << failed->what;
    const auto abandoned = find(all, "abandoned_run");
    ASSERT_TRUE(abandoned) << names_of(all);
    EXPECT_TRUE(abandoned->what.starts_with("the last run of 'cut off'")) << abandoned->what;
    const auto overdue = find(all, "overdue_run");
    ASSERT_TRUE(overdue) << names_of(all);
    EXPECT_TRUE(overdue->what.starts_with("'late' should have run ")) << overdue->what;
    for (const char* each : {"failed_run", "abandoned_run", "overdue_run"}) {
        EXPECT_EQ(told(each).size(), 1u) << names_of(all);
    }
}

// The fire time before now is less than a minute old; those before it were missed too.
TEST_F(work_doctor_test, a_task_of_each_minute_that_nobody_starts_is_overdue) {
    end(begin("each minute", 2h, schedule::every(1min).text()), {});
    const auto found = told("overdue_run");
    ASSERT_EQ(found.size(), 1u);
    // The first of them came less than a minute after the run, and the doctor looks a moment later.
    const bool is_first = found[0].starts_with("'each minute' should have run 119 min ago") ||
                          found[0].starts_with("'each minute' should have run 2 h ago");
    EXPECT_TRUE(is_first) << found[0];
}

// A tick is overdue when a starter that looks once a minute should have started it.
TEST_F(work_doctor_test, a_run_whose_time_has_just_come_is_not_overdue) {
    end(begin("each second", 0h, schedule::every(1s).text()), {});
    EXPECT_TRUE(told("overdue_run").empty());
}

TEST_F(work_doctor_test, jobs_discarded_within_a_day_are_counted_by_queue) {
    for (const char* name : {"calls", "mail"}) {
        const job_queue queue{db_, name};
        for (int at = 0; at < 3; ++at) queue.enqueue({.kind = "k"});
    }
    end_all("7");
    run_in(
        db_,
        {"UPDATE leasehold_job_history SET " + earlier("ended_at", 25h) +
         " WHERE id = (SELECT n.id FROM (SELECT MIN(h.id) AS id FROM leasehold_job_history h) n)"}
    );
    const auto all = told("discarded_jobs");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_TRUE(all[0].starts_with("2 jobs of queue 'calls' were given up")) << all[0];
    EXPECT_TRUE(all[1].starts_with("3 jobs of queue 'mail' were given up")) << all[1];
    run_in(db_, {"UPDATE leasehold_job_history SET state = 6"});
    EXPECT_TRUE(told("discarded_jobs").empty());
}

TEST_F(work_doctor_test, a_wait_that_is_unusual_for_its_queue_is_told) {
    const job_queue queue{db_, "mail"};
    queue.enqueue({.kind = "k"});
    end_all("6");
    run_in(db_, {"UPDATE leasehold_job_history SET " + earlier("enqueued_at", 1h)});
    queue.enqueue({.kind = "k"});
    run_in(db_, {"UPDATE leasehold_job SET " + earlier("enqueued_at", 2min)});
    EXPECT_TRUE(told("slower_than_usual").empty()) << "an hour is usual there";
    run_in(db_, {"UPDATE leasehold_job_history SET enqueued_at = ended_at"});
    ASSERT_EQ(told("slower_than_usual").size(), 1u);
    EXPECT_TRUE(told("slow_queue").empty());
}

TEST_F(work_doctor_test, schedules_that_cannot_fire_or_should_have_are_told) {
    for (const char* name : {"due", "in order", "on Mars", "paused"}) {
        set_job_schedule(db_, {.name = name, .queue = "mail", .cron = "0 0 1 1 *"});
    }
    for (const char* each : {"schedule_cannot_fire", "overdue_schedule"}) {
        EXPECT_TRUE(told(each).empty()) << each;
    }
    pause_job_schedule(db_, "paused");
    run_in(
        db_,
        {"UPDATE leasehold_job_schedule SET zone = 'Mars/Olympus' WHERE name = 'on Mars'",
         "UPDATE leasehold_job_schedule SET next_at = 1000000 WHERE name IN ('due', 'paused')"}
    );
    const auto strange = told("schedule_cannot_fire");
    ASSERT_EQ(strange.size(), 1u);
    EXPECT_TRUE(strange[0].starts_with("schedule 'on Mars' has no fire times")) << strange[0];
    EXPECT_NE(strange[0].find("Mars/Olympus"), std::string::npos) << strange[0];
    const auto overdue = told("overdue_schedule");
    ASSERT_EQ(overdue.size(), 1u);
    EXPECT_TRUE(overdue[0].starts_with("schedule 'due' should have fired ")) << overdue[0];
    begin("strange", 0h, "0 0 * * * (Mars/Olympus)");
    EXPECT_EQ(told("schedule_cannot_fire").size(), 2u);
}

TEST_F(work_doctor_test, a_missing_index_is_named_with_what_makes_it) {
    std::vector<index_maker> known;
    std::vector<std::string> shape;
    db_.inner()->use_unchecked([&](connection&, store_set& stores) {
        known = stores.get<health_store>().known_indexes();
        shape = stores.get<health_store>().known_shape();
    });
    for (const std::string& line : shape) {
        if (line.find(" index (") == std::string::npos || line.find(" unique ") < line.find('(')) {
            continue;
        }
        EXPECT_EQ(
            std::count_if(
                known.begin(), known.end(), [&](const auto& e) { return e.line == line; }
            ),
            1
        ) << line;
    }
    const auto which = db_.server().engine;
    const bool names_table = which == engine::mysql || which == engine::mariadb;
    for (const index_maker& each : known) {
        EXPECT_EQ(std::count(shape.begin(), shape.end(), each.line), 1) << each.line;
        const std::string table = "leasehold_" + each.line.substr(0, each.line.find(' '));
        run_in(db_, {"DROP INDEX " + each.name + (names_table ? " ON " + table : "")});
        const auto found = find(diagnose(db_), "schema_drift");
        ASSERT_TRUE(found) << each.name;
        EXPECT_EQ(found->what, "index " + each.name + " is missing");
        EXPECT_EQ(found->severity, severity::error);
        run_in(db_, {found->remedy});
        EXPECT_FALSE(find(diagnose(db_), "schema_drift")) << found->remedy;
    }
}

}  // namespace
}  // namespace leasehold::testing
