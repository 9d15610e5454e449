// A worker that is idle hears of new jobs, and starts them long before its next look.
#include <atomic>
#include <string>

#include "conformance/job_notification_suite.hpp"
#include "jobs/job_notifier.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold::testing {
namespace {

TEST_F(job_notification_suite, a_job_is_started_when_it_is_enqueued) {
    idle_worker idle{second_, queue_};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    for (int number = 2; number <= 5; ++number) {
        queue.enqueue({});
        EXPECT_TRUE(eventually([&] { return idle.done == number; }));
    }
    queue.enqueue_many({{}, {}, {}});
    EXPECT_TRUE(eventually([&] { return idle.done == 8; }));
}

TEST_F(job_notification_suite, a_job_of_a_transaction_is_started_when_that_commits) {
    idle_worker idle{second_, queue_};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    {
        transaction tx = first_.begin();
        queue.enqueue_in(tx, {});
        tx.rollback();
    }
    transaction tx = first_.begin();
    queue.enqueue_in(tx, {});
    EXPECT_EQ(idle.done, 1);
    tx.commit();
    EXPECT_TRUE(eventually([&] { return idle.done == 2; }));
}

TEST_F(job_notification_suite, a_worker_is_notified_when_its_queue_is_resumed) {
    idle_worker idle{second_, queue_};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    queue.pause();
    queue.enqueue({});
    queue.resume();
    EXPECT_TRUE(eventually([&] { return idle.done == 2; }));
}

// The enqueuer has found a moment ago that nobody listens, and remembers that for a moment.
TEST_F(job_notification_suite, a_job_of_the_first_moments_of_a_worker_is_started) {
    for (const database* const of : {&first_, &second_}) {
        const job_queue queue{*of, queue_};
        queue.enqueue({});
        idle_worker idle{second_, queue_};
        ASSERT_TRUE(eventually([&] { return subscribers().size() == 1 && idle.done == 1; }));
        queue.enqueue({});
        EXPECT_TRUE(eventually([&] { return idle.done == 2; })) << (of == &first_);
    }
}

TEST_F(job_notification_suite, jobs_that_people_make_runnable_notify_a_worker) {
    new_job later;
    later.delay = 1h;
    later.unique_key = "u";
    idle_worker idle{second_, queue_};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    const auto delayed = queue.enqueue(later);
    EXPECT_EQ(retry_job(first_, delayed.id), retry_outcome::available);
    EXPECT_TRUE(eventually([&] { return idle.done == 2; })) << "by a retry";
    later.unique_key = "v";  // the other one may not have ended yet
    queue.enqueue(later);
    new_job now;
    now.unique_key = "v";
    now.conflict = on_conflict::replace;
    queue.enqueue(now);
    EXPECT_TRUE(eventually([&] { return idle.done == 3; })) << "by one that replaces it";
}

TEST_F(job_notification_suite, an_ended_job_that_is_tried_again_is_started) {
    idle_worker idle{second_, queue_};
    wait_until_calm(1);
    new_job later;
    later.delay = 1h;
    const job_id ended = job_queue{first_, queue_}.enqueue(later).id;
    ASSERT_EQ(cancel_job(first_, ended), cancel_outcome::cancelled);
    wait_until_quiet();
    EXPECT_EQ(retry_job(first_, ended), retry_outcome::redriven);
    EXPECT_TRUE(eventually([&] { return idle.done == 1; }));
}

TEST_F(job_notification_suite, a_job_is_started_when_one_that_it_needs_is_cancelled) {
    idle_worker idle{second_, queue_, 1, "here"};
    wait_until_calm(1);
    const job_queue queue{first_, queue_};
    new_job needed, needs;
    needed.kind = "of nobody";
    const job_id blocks = queue.enqueue(needed).id;
    needs.kind = "here";
    needs.depends_on = {blocks};
    needs.depends_until = dependency_until::ended;
    queue.enqueue(needs);
    wait_until_quiet();
    EXPECT_EQ(idle.done, 0);
    EXPECT_EQ(cancel_job(first_, blocks), cancel_outcome::cancelled);
    EXPECT_TRUE(eventually([&] { return idle.done == 1; }));
}

TEST_F(job_notification_suite, a_schedule_that_is_resumed_fires) {
    const std::string name = fresh("schedule");
    job_schedule what;
    what.name = name;
    what.queue = queue_;
    what.every = 1s;
    ASSERT_TRUE(set_job_schedule(first_, what));
    ASSERT_TRUE(pause_job_schedule(first_, name));
    idle_worker idle{second_, queue_};
    wait_until_calm(1);
    EXPECT_EQ(idle.done, 0);
    ASSERT_TRUE(resume_job_schedule(first_, name));
    EXPECT_TRUE(eventually([&] { return idle.done > 0; }));
    remove_job_schedule(first_, name);
}

TEST_F(job_notification_suite, the_next_of_a_key_is_started_when_the_one_before_it_has_ended) {
    idle_worker idle{second_, queue_, 4};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    queue.enqueue_many({keyed("k"), keyed("k"), keyed("k"), keyed("j"), keyed("j")});
    EXPECT_TRUE(eventually([&] { return idle.done == 6; }));
}

// The worker that ends the first job does not handle the second one.
TEST_F(job_notification_suite, the_next_of_a_key_is_started_by_a_worker_of_its_kind) {
    std::atomic<int> may_end = 0, begun = 0;
    const auto until_told = [&](leasehold::job&) {
        const int mine = ++begun;
        EXPECT_TRUE(eventually([&] { return may_end >= mine; }));
    };
    idle_worker one{second_, queue_, 1, "one", until_told};
    idle_worker other{second_, queue_, 1, "other"};
    ASSERT_TRUE(eventually([&] { return subscribers().size() == 2; }));
    const job_queue queue{first_, queue_};
    new_job first = keyed("k"), next = keyed("k"), beside;
    first.kind = "one";
    next.kind = beside.kind = "other";
    // Workers look once more when they are not new any more; from then on nothing but a
    // notification helps.
    const auto new_until = local_clock::now() + 2 * job_notifier::known_for;
    for (int round = 1; round < 4 || local_clock::now() < new_until; ++round) {
        const job_id last = queue.enqueue_many({first, next}).at(1).id;
        ASSERT_TRUE(eventually([&] { return begun == round; })) << "in round " << round;
        // When that job ends, the other worker looks for the next one, in vain.
        const job_id ends = queue.enqueue(beside).id;
        ASSERT_TRUE(eventually([&] { return !find(ends); }));
        wait_until_quiet();
        may_end = round;
        ASSERT_TRUE(eventually([&] { return !find(last); })) << "in round " << round;
    }
}

TEST_F(job_notification_suite, a_limit_that_is_raised_starts_the_next_of_each_key) {
    const job_queue queue{first_, queue_};
    for (const char* const each : {"k", "j"}) {
        queue.enqueue_many({keyed(each), keyed(each), keyed(each), keyed(each)});
    }
    ASSERT_EQ(one_.claim(10).size(), 2U) << "and they stay";
    idle_worker idle{second_, queue_, 4};
    wait_until_idle();
    EXPECT_EQ(idle.done, 1);
    queue_limits limits;
    limits.max_running_per_key = 2;
    queue.set_limits(limits);
    EXPECT_TRUE(eventually([&] { return idle.done == 7; })) << "one after the other beside that";
}

TEST_F(job_notification_suite, a_job_is_started_when_what_it_needs_has_ended) {
    idle_worker idle{second_, queue_, 4};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    queue.enqueue_batch({{}, {}, {}}, {});
    EXPECT_TRUE(eventually([&] { return idle.done == 5; }));
}

// More than one statement frees.
TEST_F(job_notification_suite, all_that_need_one_job_are_started_when_it_has_ended) {
    constexpr int count = 1'200;
    idle_worker idle{second_, queue_, 4};
    wait_until_idle();
    const job_queue queue{first_, queue_};
    queue.pause();
    const job_id needed = queue.enqueue({}).id;
    new_job waits;
    waits.depends_on = {needed};
    queue.enqueue_many(std::vector<new_job>(count, waits));
    queue.resume();
    EXPECT_TRUE(eventually([&] { return idle.done == count + 2; }, 60s)) << idle.done;
}

TEST_F(job_notification_suite, one_that_was_not_heard_of_is_found_by_a_look) {
    first_.inner()->part<job_notifier>().suppress();
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 50ms}};
    std::atomic<int> done = 0;
    does.handle_all([&](leasehold::job&) { ++done; });
    std::stop_source stop;
    thread runs{[&] { does.run(stop.get_token()); }};
    EXPECT_TRUE(eventually([&] { return subscribers().size() == 1; }));
    job_queue{first_, queue_}.enqueue({});
    EXPECT_TRUE(eventually([&] { return done == 1; }));
    EXPECT_EQ(first_.inner()->part<job_notifier>().notifications(), 0);
    stop.request_stop();
}

// Neither transaction sees the other: a job that has ended blocks the enqueued one, and its end has
// found nobody to free.
TEST_F(
    job_notification_suite,
    a_job_is_started_whose_transaction_commits_behind_the_end_of_what_it_awaits
) {
    // With one writer the end waits for the transaction, and sees its job.
    if (!current().has_concurrent_writers) return;
    idle_worker idle{second_, queue_, 1, "next"};
    ASSERT_TRUE(eventually([&] { return subscribers().size() == 1; }));
    const job_queue queue{first_, queue_};
    for (int round = 0; round < 4; ++round) {
        for (const bool is_keyed : {true, false}) {
            new_job first = keyed(is_keyed ? "k" : ""), next = first;
            first.kind = "first";
            next.kind = "next";
            const job_id awaited = queue.enqueue(first).id;
            std::vector<claimed_job> running;
            ASSERT_TRUE(eventually([&] {
                running = one_.claim(1, {"first"});
                return ids_of(running) == std::vector{awaited};
            })) << "the idle one may look at it";
            if (!is_keyed) next.depends_on = {awaited};
            transaction tx = first_.begin();
            const job_id last = queue.enqueue_in(tx, next).id;
            EXPECT_TRUE(one_.complete(running.at(0)));
            tx.commit();
            ASSERT_TRUE(eventually([&] { return !find(last); }))
                << (is_keyed ? "behind a key" : "behind a need") << ", round " << round;
        }
    }
}

// The worker seems to be on a machine that cannot be sent to.
TEST_F(job_notification_suite, where_no_datagram_arrives_the_database_notifies) {
    // The others have none that names a queue, and behind a pooler nothing can be heard.
    const bool can_hear = first_.inner()->use([](connection& on, store_set&) {
        return on.server().engine == engine::postgres && on.can_notify();
    });
    if (!can_hear) return;
    idle_worker idle{second_, queue_};
    wait_until_idle();
    add(idle.mine, subscribers().at(0).id, "");
    const database third = open();
    const job_queue queue{third, queue_};
    for (int number = 2; number <= 20; ++number) queue.enqueue({});
    EXPECT_TRUE(eventually([&] { return idle.done == 20; }))
        << "also those that did not notify, since somebody just had";
    EXPECT_GE(third.inner()->part<job_notifier>().notifications(), 19);
}

TEST_F(job_notification_suite, its_row_goes_when_the_worker_ends) {
    {
        idle_worker idle{second_, queue_};
        EXPECT_TRUE(eventually([&] { return subscribers().size() == 1; }));
    }
    EXPECT_TRUE(subscribers().empty());
}

TEST_F(job_notification_suite, some_of_many_are_listed_and_none_twice) {
    std::set<owner_id> all;
    for (int number = 0; number < 20; ++number) {
        const auto id = identity::random();
        all.insert(id);
        add(one_.mine, id);
    }
    std::set<owner_id> seen;
    for (int round = 0; round < 1000 && seen != all; ++round) {
        const auto some = subscribers(16);
        EXPECT_EQ(some.size(), 16U);
        std::set<owner_id> now;
        for (const job_subscriber& each : some) {
            EXPECT_EQ(each.address, "here");
            EXPECT_TRUE(now.insert(each.id).second);
        }
        seen.merge(now);
    }
    EXPECT_EQ(seen, all) << "each has its turn";
    EXPECT_EQ(subscribers(100).size(), 20U);
}

TEST_F(job_notification_suite, those_of_dead_sessions_are_left_out_and_pruned_when_those_are_gone) {
    const auto lives = identity::random(), dead = identity::random();
    add(one_.mine, lives);
    add(one_.mine, lives, "elsewhere");
    session gone{second_, calm("gone")};
    add(gone, dead);
    EXPECT_EQ(subscribers().size(), 2U);
    current().age_session(gone.id(), 2h);
    ASSERT_EQ(subscribers().size(), 1U);
    EXPECT_EQ(subscribers()[0].id, lives);
    EXPECT_EQ(subscribers()[0].address, "elsewhere") << "the later one counts";
    current().age_session(gone.id(), -2h);
    EXPECT_EQ(subscribers().size(), 2U) << "it is there still";
    gone.end();
    const auto prune = [&] {
        with_subscribers([&](connection& on, job_subscriber_store& all) {
            all.prune(on, queue_);
            return true;
        });
    };
    prune();
    EXPECT_EQ(subscribers().size(), 1U);
    with_subscribers([&](connection& on, job_subscriber_store& all) {
        all.remove(on, {queue_}, lives);
        return true;
    });
    EXPECT_TRUE(subscribers().empty());
}

}  // namespace
}  // namespace leasehold::testing
