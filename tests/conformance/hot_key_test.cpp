// What a hot key costs: bells, and statements that nobody needs.
#include <algorithm>
#include <iostream>
#include <vector>

#include "conformance/queue_suite.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class hot_key_suite : public queue_suite {};

// Where the database has bells, its waiters in other processes need no look of their own accord.
TEST_F(hot_key_suite, a_bell_is_rung_once_for_each_hand_over_to_another_process_and_never_else) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    for (int each = 0; each < 5; ++each) EXPECT_TRUE(mutex(one, name).try_acquire());
    EXPECT_EQ(first_.inner()->room().rings(), 0) << "nobody was waiting";
    constexpr int rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        auto held = mutex{one, name}.try_acquire();
        std::optional<acquisition> got;
        thread waiting{[&] {
            // The first waiter's connection begins to listen when it is there.
            got = mutex{two, name, keen()}.acquire_for(60s);
        }};
        ASSERT_TRUE(has_waiters(name, 1));
        held->release();
        waiting.join();
        ASSERT_TRUE(got && *got);
        (*got)->release();
    }
    EXPECT_EQ(first_.inner()->room().rings(), rounds);
    EXPECT_EQ(second_.inner()->room().rings(), 0);
}

// It never looks by itself here: only the bell can wake it, and then it asks once.
TEST_F(hot_key_suite, a_bell_wakes_a_waiter_of_another_process_for_one_look) {
    if (!current().has_bells) GTEST_SKIP() << "a feature of some engines, never a promise";
    const auto counted = std::make_shared<gate>();
    const database far = current().open_through(counted);
    session one{first_, calm("one")}, two{far, calm("two")};
    const key name = fresh("k");
    // A file's bell rings for every commit: also for the release before, the taking and the
    // queueing, where they are still to be heard.
    const int looks_max = current().has_concurrent_writers ? 1 : 4;
    std::vector<std::chrono::microseconds> latencies;
    for (int round = 0; round < 20; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held) << round;
        const int first_look = far.inner()->room().is_listening() ? 0 : 1;  // when it begins to
        std::optional<acquisition> got;
        local_clock::time_point had;
        thread waiting{[&] {
            got = mutex{two, name, deaf()}.acquire_for(60s);
            had = local_clock::now();
        }};
        // It has asked all it asks before it waits.
        ASSERT_TRUE(eventually([&] { return far.inner()->room().seated() == 1; }));
        ASSERT_TRUE(eventually([&] { return far.inner()->room().is_listening(); }));
        const auto released = local_clock::now();
        const auto before = counted->passed();
        held->release();
        waiting.join();
        ASSERT_TRUE(got && *got) << round;
        EXPECT_LE(counted->passed() - before, looks_max + first_look) << round;
        latencies.push_back(std::chrono::duration_cast<std::chrono::microseconds>(had - released));
        (*got)->release();
    }
    std::sort(latencies.begin(), latencies.end());
    std::cout << "from release to the next holder: " << latencies[latencies.size() / 2].count()
              << " us, at most " << latencies.back().count() << " us\n";
}

// The first time costs a statement that changes nothing: nobody has seen the queue yet.
TEST_F(hot_key_suite, a_key_that_is_sought_is_handed_over_and_queued_for_without_a_try) {
    const auto counted = std::make_shared<gate>();
    const database db = current().open_through(counted);
    db.inner()->room().suppress_hints();  // which are statements, too
    const auto& sought = db.inner()->room().sought();
    session one{db, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    mutex_settings deaf;
    deaf.poll_min = deaf.poll_max = 1h;
    const auto calls_to_queue = [&] {
        std::stop_source cancel;
        const auto before = counted->passed();
        thread queueing{[&] { EXPECT_FALSE(mutex(one, name, deaf).acquire(cancel.get_token())); }};
        EXPECT_TRUE(eventually([&] { return db.inner()->room().seated() == 1; }));
        const auto calls = counted->passed() - before;
        cancel.request_stop();
        return calls;
    };
    std::vector<int> queueings, releases;
    for (int round = 0; round < 2; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(sought.has(name), round > 0);
        std::optional<acquisition> theirs;
        thread waiting{[&] { theirs = mutex{two, name, keen()}.acquire_for(60s); }};
        ASSERT_TRUE(has_waiters(name, 1));
        const auto before = counted->passed();
        EXPECT_EQ(held->release(), release_outcome::released);
        releases.push_back(counted->passed() - before);
        waiting.join();
        ASSERT_TRUE(theirs && *theirs);
        EXPECT_TRUE(db.inner()->room().sought().has(name));
        queueings.push_back(calls_to_queue());
    }
    EXPECT_LT(releases.at(1), releases.at(0));
    if (current().has_concurrent_writers) {
        EXPECT_EQ(releases, (std::vector{2, 1}));
        EXPECT_EQ(queueings.at(1), 1) << "the room has a connection by now";
    }
    auto held = mutex{one, name}.try_acquire();
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_FALSE(sought.has(name)) << "nobody waited";
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

}  // namespace
}  // namespace leasehold::testing
