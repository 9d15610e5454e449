// An idle worker starts a job that becomes runnable in any way, long before the worker's next look.
// The ways of people and enqueuers: job_notification_test.cpp.
#include <stdexcept>

#include "conformance/job_notification_suite.hpp"

namespace leasehold::testing {
namespace {

class job_runnable_suite : public job_notification_suite {
protected:
    ~job_runnable_suite() override { may_go_on_ = true; }

    // The first attempt of all waits until it may go on, and then does this. Later ones complete.
    auto first_does(const std::function<void(leasehold::job&)>& what) {
        return [this, what](leasehold::job& attempt) {
            if (begun_++ > 0) return;
            ASSERT_TRUE(eventually([&] { return may_go_on_.load(); }, 60s));
            what(attempt);
        };
    }
    void wait_until_begun() const {
        ASSERT_TRUE(eventually([&] { return begun_ > 0; }));
    }
    static new_job of_kind(const std::string& kind) {
        new_job made;
        made.kind = kind;
        return made;
    }

    const job_queue jobs_{first_, queue_};
    std::atomic<int> begun_ = 0;
    std::atomic<bool> may_go_on_ = false;
};

TEST_F(job_runnable_suite, one_that_a_worker_releases_is_started_by_another) {
    const auto work = first_does([](leasehold::job& attempt) { attempt.release_and_rest(1h); });
    idle_worker one{second_, queue_, 1, "", work}, other{second_, queue_, 1, "", work};
    wait_until_calm(2);
    jobs_.enqueue({});
    wait_until_begun();
    wait_until_quiet();
    may_go_on_ = true;
    EXPECT_TRUE(eventually([&] { return begun_ == 2; }));
}

TEST_F(job_runnable_suite, one_that_a_worker_gives_back_at_its_end_is_started_by_another) {
    const auto work = first_does([](leasehold::job&) {});
    idle_worker ends{second_, queue_, 1, "", work, {.prefetch = 1, .poll_every = 1h}};
    wait_until_calm(1);
    jobs_.enqueue_many({{}, {}});
    wait_until_begun();
    idle_worker stays{second_, queue_};
    wait_until_calm(2);
    EXPECT_EQ(stays.done, 0);
    ends.stop.request_stop();
    EXPECT_TRUE(eventually([&] { return stays.done == 1; })) << "what was claimed ahead";
    may_go_on_ = true;
}

TEST_F(job_runnable_suite, one_that_has_failed_or_sleeps_is_started_when_it_is_due) {
    std::atomic<int> attempts = 0;
    const auto work = [&](leasehold::job& attempt) {
        const int number = ++attempts;
        if (number == 1) throw std::runtime_error("not yet");
        if (number == 2) attempt.snooze_for(100ms);
    };
    idle_worker idle{second_, queue_, 1, "", work};
    wait_until_calm(1);
    new_job fails;
    fails.retry.delay = 100ms;
    jobs_.enqueue(fails);
    EXPECT_TRUE(eventually([&] { return attempts == 3; })) << attempts;
}

TEST_F(job_runnable_suite, one_that_has_failed_where_the_worker_ends_is_started_by_another) {
    const auto fails = first_does([](leasehold::job&) { throw std::runtime_error("not here"); });
    auto ends = std::make_unique<idle_worker>(second_, queue_, 1, "", fails);
    wait_until_calm(1);
    new_job again;
    again.retry.delay = 1s;
    jobs_.enqueue(again);
    wait_until_begun();
    idle_worker stays{second_, queue_};
    wait_until_calm(2);
    may_go_on_ = true;
    ends.reset();
    EXPECT_TRUE(eventually([&] { return stays.done == 1; }));
}

TEST_F(job_runnable_suite, one_behind_a_job_of_its_key_that_is_cancelled_is_started) {
    idle_worker idle{second_, queue_, 1, "other"};
    wait_until_calm(1);
    new_job first = keyed("k"), next = keyed("k");
    first.kind = "of nobody";
    next.kind = "other";
    const job_id blocks = jobs_.enqueue(first).id;
    jobs_.enqueue(next);
    wait_until_quiet();
    EXPECT_EQ(cancel_job(first_, blocks), cancel_outcome::cancelled);
    EXPECT_TRUE(eventually([&] { return idle.done == 1; }));
}

TEST_F(job_runnable_suite, one_that_a_limit_held_back_is_started_when_there_is_room) {
    queue_limits limits;
    limits.max_running = 1;
    jobs_.set_limits(limits);
    const auto work = first_does([](leasehold::job&) {});
    idle_worker one{second_, queue_, 2, "one", work}, other{second_, queue_, 2, "other"};
    wait_until_calm(2);
    jobs_.enqueue(of_kind("one"));
    wait_until_begun();
    jobs_.enqueue_many({of_kind("one"), of_kind("other")});
    wait_until_quiet();
    EXPECT_EQ(one.done + other.done, 0);
    may_go_on_ = true;
    EXPECT_TRUE(eventually([&] { return one.done == 2 && other.done == 1; }))
        << one.done << " and " << other.done;
}

TEST_F(job_runnable_suite, one_that_a_limit_held_back_is_started_when_that_is_raised) {
    queue_limits limits;
    limits.max_running = 1;
    jobs_.set_limits(limits);
    const auto work = first_does([](leasehold::job&) {});
    idle_worker idle{second_, queue_, 3, "", work};
    wait_until_calm(1);
    jobs_.enqueue_many({{}, {}});
    wait_until_begun();
    wait_until_quiet();
    EXPECT_EQ(begun_, 1);
    limits.max_running = 2;
    limits.max_starts = 2;
    limits.starts_per = 1h;
    jobs_.set_limits(limits);
    EXPECT_TRUE(eventually([&] { return idle.done == 1; })) << "how many may run";
    jobs_.enqueue_many({{}, {}, {}});
    wait_until_quiet();
    limits.max_starts = 100;
    jobs_.set_limits(limits);
    EXPECT_TRUE(eventually([&] { return idle.done == 4; })) << "how many may start";
    may_go_on_ = true;
}

TEST_F(job_runnable_suite, those_that_a_rate_held_back_are_started_as_it_allows) {
    queue_limits limits;
    limits.max_starts = 2;
    limits.starts_per = 200ms;
    jobs_.set_limits(limits);
    idle_worker idle{second_, queue_, 2};
    wait_until_calm(1);
    jobs_.enqueue_many({{}, {}, {}, {}, {}, {}});
    EXPECT_TRUE(eventually([&] { return idle.done == 6; })) << idle.done;
}

TEST_F(job_runnable_suite, one_that_was_rescued_is_started_by_a_worker_of_its_kind) {
    session dead{second_, calm("dead")};
    const job_id lost = enqueue(of_kind("other"));
    const auto claimed = with_stores(second_, [&](connection& on, store_set& stores) {
        return stores.get<job_store>().claim(on, {queue_, {}, 1, dead.id(), "dead@here"});
    });
    ASSERT_EQ(claimed.jobs.size(), 1U);
    idle_worker other{second_, queue_, 1, "other"};
    idle_worker looks{second_, queue_, 1, "one", [](leasehold::job&) {}, {.poll_every = 50ms}};
    wait_until_calm(2);
    current().age_session(dead.id(), 2h);
    EXPECT_TRUE(eventually([&] { return other.done == 1 && !find(lost); }));
}

}  // namespace
}  // namespace leasehold::testing
