// Schedules of jobs: each fire time enqueues its job once, whichever worker finds it, and the
// policy decides about missed ones.
#include "leasehold/job_schedule.hpp"

#include <atomic>
#include <set>
#include <string>

#include "conformance/job_schedule_suite.hpp"
#include "leasehold/worker.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

class job_fire_suite : public job_schedule_suite {
protected:
    void expect_as_set(const job_schedule& what) const {
        const auto found = find_job_schedule(second_, name_).value();
        EXPECT_EQ(found.what.cron, what.cron);
        EXPECT_EQ(found.what.zone, "UTC");
        EXPECT_FALSE(found.what.every);
        EXPECT_EQ(found.what.queue, queue_);
        EXPECT_EQ(found.what.misfire, what.misfire);
        EXPECT_EQ(found.what.max_catch_up, what.max_catch_up);
        EXPECT_EQ(found.what.max_late, what.max_late);
        EXPECT_EQ(found.what.job.kind, what.job.kind);
        EXPECT_EQ(found.what.job.payload, what.job.payload);
        EXPECT_EQ(found.what.job.priority, what.job.priority);
        EXPECT_EQ(found.what.job.unique_key, what.job.unique_key);
        EXPECT_EQ(found.what.job.unique, what.job.unique);
        EXPECT_EQ(found.what.job.conflict, what.job.conflict);
        EXPECT_EQ(found.what.job.ordering_key, what.job.ordering_key);
        EXPECT_EQ(found.what.job.retry.max_attempts, what.job.retry.max_attempts);
        EXPECT_EQ(found.what.job.retry.delay, what.job.retry.delay);
        EXPECT_EQ(found.what.job.retry.max_delay, what.job.retry.max_delay);
        EXPECT_EQ(found.what.job.attempt_timeout, what.job.attempt_timeout);
        EXPECT_EQ(found.what.job.max_rescues, what.job.max_rescues);
        EXPECT_FALSE(found.is_paused);
        EXPECT_FALSE(found.last);
        EXPECT_FALSE(found.last_job);
        EXPECT_GT(found.next_in, 0s);
        EXPECT_EQ(found.overdue_for, 0s);
    }
    // Puts schedules that cannot fire on this host, and have been due for longest.
    void put_broken(job_schedule_row like, int count) const {
        like.what.every.reset();
        like.what.cron = "* * * * *";
        like.what.zone = "Europe/Nowhere";
        like.next = schedule::instant{};
        like.version = 0;
        with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
            for (int each = 0; each < count; ++each) {
                like.what.name = name_ + "/" + std::to_string(each);
                EXPECT_TRUE(schedules.put(on, like));
            }
            return true;
        });
    }
    // The jobs of a schedule with this policy that has missed five fire times.
    std::int64_t fired_after_five(misfire_policy policy) const {
        job_schedule what = rare();
        what.misfire = policy;
        what.max_catch_up = 3;
        what.max_late = 1s;
        set_job_schedule(first_, what);
        miss(5);
        return fire(first_);
    }
};

TEST_F(job_fire_suite, it_is_as_it_was_set) {
    job_schedule what = rare();
    what.cron = "30 2 * * MON-FRI";
    what.every.reset();
    what.misfire = misfire_policy::catch_up;
    what.max_catch_up = 7;
    what.max_late = 90s;
    what.job.kind = "letter";
    what.job.payload = "of {fire_time}";
    what.job.priority = -3;
    what.job.unique_key = "one";
    what.job.unique = unique_until::started;
    what.job.conflict = on_conflict::replace;
    what.job.ordering_key = "in order";
    what.job.retry = {7, 3s, 4min};
    what.job.attempt_timeout = 20s;
    what.job.max_rescues = 9;
    EXPECT_TRUE(set_job_schedule(first_, rare()));
    EXPECT_TRUE(set_job_schedule(first_, what)) << "each value changes";
    expect_as_set(what);
    EXPECT_TRUE(remove_job_schedule(first_, name_));
    EXPECT_TRUE(set_job_schedule(first_, what));
    EXPECT_FALSE(set_job_schedule(second_, what)) << "it is the same";
    expect_as_set(what);
}

TEST_F(job_fire_suite, what_is_due_enqueues_one_job) {
    set_job_schedule(first_, rare());
    EXPECT_EQ(fire(first_), 0) << "its time has not come";
    miss(1);
    EXPECT_EQ(look().next_fire_in, 0s);
    const auto due = row().next;
    EXPECT_EQ(fire(first_), 1);
    EXPECT_EQ(fire(second_), 0);
    const auto made = jobs();
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].kind, "report");
    EXPECT_EQ(made[0].payload, "for " + text_of(due));
    EXPECT_EQ(made[0].unique_key, name_ + "@" + text_of(due));
    EXPECT_EQ(made[0].state, job_state::available);
    const auto after = find_job_schedule(first_, name_).value();
    EXPECT_EQ(after.last, due);
    EXPECT_EQ(after.last_job, made[0].id);
    EXPECT_EQ(after.next, due + period_);
    EXPECT_GT(look().next_fire_in, 0s);
}

TEST_F(job_fire_suite, of_many_who_find_it_due_one_enqueues) {
    set_job_schedule(first_, rare());
    for (int round = 0; round < 5; ++round) {
        miss(1);
        const auto before = jobs().size();
        std::atomic<std::int64_t> fired = 0;
        {
            std::vector<thread> threads;
            for (int number = 0; number < 4; ++number) {
                threads.emplace_back([&] { fired += fire(open()); });
            }
        }
        EXPECT_LE(fired, 1);
        EXPECT_LE(jobs().size(), before + 1);
        EXPECT_EQ(fire(first_), 0);
    }
    EXPECT_EQ(jobs().size(), 1U) << "the fire time was the same each time, and its job waits";
}

TEST_F(job_fire_suite, who_read_it_before_somebody_fired_enqueues_nothing) {
    set_job_schedule(first_, rare());
    miss(1);
    job_schedule_row read = row();
    EXPECT_EQ(fire(second_), 1);
    transaction tx = first_.begin();
    EXPECT_FALSE(with_stores_in(first_, tx, [&](connection& on, store_set& stores) {
        return stores.get<job_schedule_store>().advance(on, read);
    }));
    tx.rollback();
    EXPECT_FALSE(with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
        return schedules.put(on, read);
    })) << "nor changes it";
}

TEST_F(job_fire_suite, a_transaction_that_fails_leaves_it_due) {
    set_job_schedule(first_, rare());
    miss(1);
    {
        transaction tx = first_.begin();
        with_stores_in(first_, tx, [&](connection& on, store_set& stores) {
            job_schedule_row to = stores.get<job_schedule_store>().find(on, name_).rows.at(0);
            EXPECT_TRUE(stores.get<job_schedule_store>().advance(on, to));
            stores.get<job_store>().enqueue(on, queue_, {job_at(to.what, to.next)});
            return true;
        });
        tx.rollback();
    }
    EXPECT_TRUE(jobs().empty());
    EXPECT_EQ(fire(second_), 1);
}

TEST_F(job_fire_suite, missed_ones_bring_one_job_with_fire_once) {
    EXPECT_EQ(fired_after_five(misfire_policy::fire_once), 1);
    ASSERT_EQ(jobs().size(), 1U);
    EXPECT_EQ(jobs()[0].payload, "for " + text_of(row().next - period_)) << "of the latest";
}

TEST_F(job_fire_suite, missed_ones_bring_nothing_with_skip) {
    EXPECT_EQ(fired_after_five(misfire_policy::skip), 0);
    EXPECT_TRUE(jobs().empty());
    EXPECT_GT(look().next_fire_in, 0s) << "they are passed by";
}

TEST_F(job_fire_suite, the_last_one_stays_while_others_are_passed_by) {
    set_job_schedule(first_, rare());
    miss(1);
    const auto due = row().next;
    EXPECT_EQ(fire(first_), 1);
    EXPECT_EQ(find_job_schedule(second_, name_)->last, due);
    EXPECT_EQ(fired_after_five(misfire_policy::skip), 0);
    EXPECT_EQ(find_job_schedule(second_, name_)->last, due);
}

TEST_F(job_fire_suite, missed_ones_bring_the_latest_jobs_with_catch_up) {
    EXPECT_EQ(fired_after_five(misfire_policy::catch_up), 3);
    const auto made = jobs();
    ASSERT_EQ(made.size(), 3U);
    const auto next = row().next;
    EXPECT_EQ(made[0].payload, "for " + text_of(next - 3 * period_));
    EXPECT_EQ(made[2].payload, "for " + text_of(next - period_));
}

TEST_F(job_fire_suite, while_the_last_job_has_not_ended_a_unique_key_brings_no_second) {
    job_schedule what = rare();
    what.job.unique_key = "nightly";
    set_job_schedule(first_, what);
    miss(1);
    fire(first_);
    miss(1);
    fire(first_);
    ASSERT_EQ(jobs().size(), 1U);
    EXPECT_EQ(jobs()[0].unique_key, "nightly");
    EXPECT_TRUE(one_.complete(one_.claim_one()));
    miss(1);
    fire(first_);
    EXPECT_EQ(jobs().size(), 1U);
}

TEST_F(job_fire_suite, nothing_fires_while_it_is_paused) {
    set_job_schedule(first_, rare());
    EXPECT_TRUE(pause_job_schedule(first_, name_));
    EXPECT_TRUE(pause_job_schedule(second_, name_)) << "again";
    EXPECT_TRUE(find_job_schedule(second_, name_)->is_paused);
    miss(3);
    EXPECT_EQ(fire(first_), 0);
    EXPECT_EQ(look().next_fire_in, std::nullopt);
    EXPECT_TRUE(resume_job_schedule(second_, name_));
    EXPECT_EQ(fire(first_), 0) << "what came while it was paused is over";
    EXPECT_GT(look().next_fire_in, 0s);
    EXPECT_FALSE(pause_job_schedule(first_, name_ + "?"));
    EXPECT_FALSE(resume_job_schedule(first_, name_ + "?"));
}

TEST_F(job_fire_suite, another_payload_leaves_its_times_as_they_are) {
    set_job_schedule(first_, rare());
    miss(1);
    job_schedule what = row().what;
    what.job.payload = "new";
    EXPECT_TRUE(set_job_schedule(second_, what));
    EXPECT_EQ(fire(first_), 1) << "its time had come";
    EXPECT_EQ(jobs().at(0).payload, "new");
}

TEST_F(job_fire_suite, other_times_count_from_now_on) {
    set_job_schedule(first_, rare());
    miss(3);
    job_schedule what = rare();
    what.every = period_ / 2;
    EXPECT_TRUE(set_job_schedule(second_, what));
    EXPECT_EQ(fire(first_), 0);
    EXPECT_LE(find_job_schedule(first_, name_)->next_in, period_ / 2);
}

TEST_F(job_fire_suite, a_removed_one_is_gone_and_its_jobs_stay) {
    set_job_schedule(first_, rare());
    miss(1);
    fire(first_);
    EXPECT_TRUE(remove_job_schedule(second_, name_));
    EXPECT_FALSE(remove_job_schedule(first_, name_));
    EXPECT_FALSE(find_job_schedule(first_, name_));
    EXPECT_EQ(jobs().size(), 1U);
    EXPECT_EQ(look().next_fire_in, std::nullopt);
}

TEST_F(job_fire_suite, all_are_listed_by_their_names) {
    job_schedule what = rare();
    const std::string prefix = fresh("listed");
    for (int number = 0; number < 130; ++number) {
        what.name = prefix + std::to_string(1000 + number);
        set_job_schedule(first_, what);
    }
    const auto all = list_job_schedules(second_);
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, [](const auto& each) { return each.what.name; }));
    EXPECT_EQ(
        std::ranges::count_if(
            all, [&](const auto& each) { return each.what.name.starts_with(prefix); }
        ),
        130
    );
    for (const auto& each : all) {
        if (each.what.name.starts_with(prefix)) remove_job_schedule(first_, each.what.name);
    }
}

TEST_F(job_fire_suite, a_worker_of_its_queue_fires_it_and_does_the_job) {
    set_job_schedule(first_, rare());
    miss(1);
    std::atomic<int> done = 0;
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 20ms}};
    does.handle("report", [&](leasehold::job&) { ++done; });
    std::stop_source stop;
    thread beside{[&] { does.run(stop.get_token()); }};
    EXPECT_TRUE(eventually([&] { return done == 1; }));
    stop.request_stop();
}

// It looks once an hour, but knows when the next one fires.
TEST_F(job_fire_suite, a_worker_that_looks_rarely_fires_each_time) {
    std::atomic<int> done = 0;
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 1h}};
    does.handle("report", [&](leasehold::job&) { ++done; });
    std::stop_source stop;
    thread beside{[&] { does.run(stop.get_token()); }};
    job_schedule what = rare();
    what.every = 1s;
    set_job_schedule(first_, what);
    // A worker looks when it is notified; here, where no notification may come, a job tells it.
    EXPECT_TRUE(eventually([&] {
        job_queue{first_, queue_}.notify();
        return done >= 1;
    }));
    const int before = done;
    EXPECT_TRUE(eventually([&] { return done >= before + 2; }));
    stop.request_stop();
}

// More than a server takes in one statement.
TEST_F(job_fire_suite, many_long_payloads_are_sent_in_parts) {
    job_schedule what = rare();
    what.misfire = misfire_policy::catch_up;
    what.max_catch_up = 45;
    what.max_late = 1s;
    what.job.payload.assign(400'000, 'x');
    set_job_schedule(first_, what);
    miss(45);
    EXPECT_EQ(fire(first_), 45);
    EXPECT_EQ(jobs().size(), 45U);
}

TEST_F(job_fire_suite, a_worker_passes_by_one_that_it_cannot_read) {
    set_job_schedule(first_, rare());
    job_schedule_row broken = row();
    broken.what.every.reset();
    broken.what.cron = "no expression";
    broken.next = schedule::instant{};
    with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
        return schedules.put(on, broken);
    });
    std::vector<std::string> complaints;
    with_stores(first_, [&](connection& on, store_set& stores) {
        fire_place place;
        return fire_schedules(on, stores, queue_, place, [&](const auto& name, const auto& what) {
            complaints.push_back(name + ": " + what);
        });
    });
    ASSERT_EQ(complaints.size(), 1U);
    EXPECT_NE(complaints[0].find(name_ + ": "), std::string::npos);
    EXPECT_TRUE(remove_job_schedule(first_, name_));
}

// As on a host without zones: a schedule that cannot fire is due longest, and in nobody's way.
TEST_F(job_fire_suite, one_that_can_fire_does_behind_any_number_that_cannot) {
    set_job_schedule(first_, rare());
    const job_schedule_row good = row();
    constexpr int broken_ones = 1150;  // one call looks at a thousand
    put_broken(good, broken_ones);
    miss(1);
    fire_place place;
    std::set<std::string> complained_of;
    const auto fire_some = [&] {
        return with_stores(first_, [&](connection& on, store_set& stores) {
            return fire_schedules(on, stores, queue_, place, [&](const auto& name, const auto&) {
                complained_of.insert(name);
            });
        });
    };
    EXPECT_TRUE(fire_some().are_more);
    EXPECT_EQ(fire_some().jobs, 1);
    EXPECT_TRUE(place.behind.is_beginning()) << "from the beginning the next time";
    EXPECT_EQ(complained_of.size(), broken_ones);
    with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
        for (const std::string& each : complained_of) EXPECT_TRUE(schedules.remove(on, each));
        return true;
    });
}

// A look finds the good one not due yet. The next read must not pass it by: the worker would wait.
TEST_F(job_fire_suite, one_whose_time_comes_between_two_reads_counts) {
    set_job_schedule(first_, rare());
    put_broken(row(), 1);
    fire_result done;
    with_stores(first_, [&](connection& on, store_set& stores) {
        fire_place place;
        done = fire_schedules(on, stores, queue_, place, [](const auto&, const auto&) {});
        return true;
    });
    EXPECT_EQ(done.jobs, 0);
    const auto next_in = [&] {
        return with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
            return schedules.next_in(on, queue_, done.last);
        });
    };
    EXPECT_GT(next_in().value(), 0s);
    miss(1);
    EXPECT_LE(next_in().value(), 0s);
    with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
        return schedules.remove(on, name_ + "/0");
    });
}

// The worker looks again when the good one fires: with these alone it would not for an hour.
TEST_F(job_fire_suite, one_that_can_fire_does_in_time_behind_those_that_cannot) {
    for (const int broken_ones : {1, 1100}) {
        job_schedule often = rare();
        often.every = 1s;
        set_job_schedule(first_, often);
        put_broken(row(), broken_ones);
        session mine{second_, calm("worker")};
        leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 1h}};
        std::atomic<int> done = 0;
        does.handle_all([&](job&) { ++done; });
        std::stop_source stop;
        thread runs{[&] { does.run(stop.get_token()); }};
        EXPECT_TRUE(eventually([&] { return done >= 2; })) << broken_ones;
        stop.request_stop();
        runs.join();
        with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
            for (int each = 0; each < broken_ones; ++each) {
                EXPECT_TRUE(schedules.remove(on, name_ + "/" + std::to_string(each)));
            }
            return schedules.remove(on, name_);
        });
    }
}

TEST_F(job_fire_suite, what_is_no_schedule_is_refused) {
    const auto refused = [&](auto change, const std::string& words) {
        job_schedule what = rare();
        change(what);
        SCOPED_TRACE(words);
        const auto failure = thrown_by([&] { set_job_schedule(first_, what); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
        EXPECT_FALSE(find_job_schedule(first_, name_));
    };
    refused([](job_schedule& what) { what.cron = "* * * * *"; }, "both");
    refused([](job_schedule& what) { what.every.reset(); }, "neither");
    refused([](job_schedule& what) { what.every = 500ms; }, "too often");
    refused(
        [](job_schedule& what) {
            what.every.reset();
            what.cron = "0 0 31 2 *";
        },
        "never"
    );
    refused([](job_schedule& what) { what.queue.clear(); }, "no queue");
    refused([](job_schedule& what) { what.name.clear(); }, "no name");
    refused([](job_schedule& what) { what.name.assign(201, 'n'); }, "a long name");
    refused([](job_schedule& what) { what.job.delay = 1s; }, "a delay");
    refused([](job_schedule& what) { what.job.run_at = schedule::instant{}; }, "run_at");
    refused([](job_schedule& what) { what.job.conflict = on_conflict::fail; }, "fail");
    refused([](job_schedule& what) { what.job.retry.max_attempts = 0; }, "attempts");
    const std::string full(job_queue_settings{}.max_payload_bytes - 11, ' ');
    refused([&](job_schedule& what) { what.job.payload = full + "{fire_time}"; }, "its times");
    refused([](job_schedule& what) { what.max_catch_up = 0; }, "max_catch_up");
    refused([](job_schedule& what) { what.max_catch_up = 1001; }, "max_catch_up");
    refused([](job_schedule& what) { what.max_late = 0s; }, "max_late");
    refused([](job_schedule& what) { what.zone.assign(256, 'z'); }, "a long zone");
    refused([](job_schedule& what) { what.cron.assign(1001, ' '); }, "a long expression");
    refused([](job_schedule& what) { what.job.payload = "\xff"; }, "payload");
}

}  // namespace
}  // namespace leasehold::testing
