// The costs of a key for which many wait: messages to waiters, and statements that nobody needs.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "conformance/queue_suite.hpp"
#include "database/notifier.hpp"
#include "locks/hold_store.hpp"
#include "locks/waiter_store.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class hot_key_suite : public queue_suite {};

// If the database itself can notify waiters in other processes, they need not ask it.
TEST_F(hot_key_suite, each_hand_over_to_another_process_notifies_once_and_nothing_else_does) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    for (int each = 0; each < 5; ++each) EXPECT_TRUE(mutex(one, name).try_acquire());
    EXPECT_EQ(first_.inner()->waits().notifications(), 0) << "nobody was waiting";
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
    EXPECT_EQ(first_.inner()->waits().notifications(), rounds);
    EXPECT_EQ(second_.inner()->waits().notifications(), 0);
}

// This waiter never asks by itself here: only the notification can wake it, and then it asks once.
TEST_F(hot_key_suite, a_notification_wakes_a_waiter_of_another_process_for_one_look) {
    if (!current().has_notifications) GTEST_SKIP() << "a feature of some engines, never a promise";
    const auto counted = std::make_shared<gate>();
    const database far = current().open_through(counted);
    session one{first_, calm("one")}, two{far, calm("two")};
    const key name = fresh("k");
    // A file notifies of every commit: also for the release before, for the grant and
    // for the waiter's own entry in the queue, if these are heard late.
    const int max_looks = current().has_concurrent_writers ? 1 : 4;
    std::vector<std::chrono::microseconds> latencies;
    for (int round = 0; round < 20; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held) << round;
        const int first_look = far.inner()->waits().is_listening() ? 0 : 1;  // when it begins to
        std::optional<acquisition> got;
        local_clock::time_point had;
        thread waiting{[&] {
            got = mutex{two, name, deaf()}.acquire_for(60s);
            had = local_clock::now();
        }};
        // It has asked all it asks before it waits.
        ASSERT_TRUE(eventually([&] { return far.inner()->waits().queued() == 1; }));
        ASSERT_TRUE(eventually([&] { return far.inner()->waits().is_listening(); }));
        const auto released = local_clock::now();
        const auto before = counted->passed();
        held->release();
        waiting.join();
        ASSERT_TRUE(got && *got) << round;
        EXPECT_LE(counted->passed() - before, max_looks + first_look) << round;
        latencies.push_back(std::chrono::duration_cast<std::chrono::microseconds>(had - released));
        (*got)->release();
    }
    std::sort(latencies.begin(), latencies.end());
    std::cout << "from release to the next holder: " << latencies[latencies.size() / 2].count()
              << " us, at most " << latencies.back().count() << " us\n";
}

// Nobody looks here, and no database notifies: so it is the datagram.
TEST_F(hot_key_suite, a_datagram_alone_wakes_a_waiter_of_another_process) {
    for (const database& each : {first_, second_}) {
        each.inner()->waits().suppress_database_notifications();
    }
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    constexpr int rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        std::optional<acquisition> got;
        thread waiting{[&] { got = mutex{two, name, deaf()}.acquire_for(60s); }};
        ASSERT_TRUE(eventually([&] { return second_.inner()->waits().queued() == 1; }));
        held->release();
        waiting.join();
        ASSERT_TRUE(got && *got) << round;
        (*got)->release();
    }
    EXPECT_EQ(first_.inner()->waits().datagrams(), rounds);
    EXPECT_EQ(second_.inner()->waits().looks(), rounds) << "each datagram is one look";
}

// Notifications of one key do not put off the look at all others, which alone finds a holder's end.
TEST_F(hot_key_suite, a_busy_key_keeps_nobody_elses_turn_away) {
    session one{first_, calm("one")}, two{second_, calm("two")}, third{second_, calm("third")};
    const key hot = fresh("hot"), other = fresh("other");
    mutex_settings for_a_second;
    for_a_second.fixed_term = 1s;
    auto held = mutex{one, other, for_a_second}.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<bool> is_over = false;
    const auto bounce = [&](session& within) {
        mutex key{within, hot};
        while (!is_over) {
            if (auto got = key.acquire_for(1s)) got->release();
        }
    };
    std::optional<acquisition> got;
    {
        thread here{[&] { bounce(one); }}, there{[&] { bounce(two); }};
        got = mutex{third, other}.acquire_for(20s);
        is_over = true;
    }
    EXPECT_TRUE(got && *got) << "nobody looked while others were told of their turns";
}

// Each row names a socket of which nobody is at the other end.
TEST_F(hot_key_suite, where_the_socket_of_a_waiter_is_gone_the_database_notifies) {
    if (!current().has_notifications) GTEST_SKIP() << "a feature of some engines, never a promise";
    std::string gone;
    {
        notifier closed{""};
        std::string complaint;
        gone = closed.address(complaint);
        ASSERT_EQ(complaint, "");
    }
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto& room = second_.inner()->waits();
    acquire_request wanted{name, owner_id::random(), two.id(), "two", std::nullopt};
    wanted.wakeup_address = gone;
    for (int round = 0; round < 3; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        wanted.owner = owner_id::random();
        const auto waiter = room.expect(name, wanted.owner, {1h, 1h});
        const auto queued = second_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<waiter_store>().enqueue(on, wanted);
        });
        ASSERT_EQ(queued.status, enqueue_status::waiting);
        room.enter(*waiter, queued.ticket);
        ASSERT_TRUE(eventually([&] { return room.is_listening(); }));
        held->release();
        const auto heard = room.wait(*waiter, local_clock::now() + 60s, {}, {});
        room.leave(*waiter);
        ASSERT_TRUE(heard);
        EXPECT_EQ(heard->status, look_status::granted);
        second_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<hold_store>().release_owner(on, name, wanted.owner);
        });
    }
    EXPECT_EQ(first_.inner()->waits().datagrams(), 0);
    EXPECT_EQ(first_.inner()->waits().notifications(), 3);
}

// A forger, or a mistake in a hand-over, would send this.
TEST_F(hot_key_suite, a_datagram_for_somebody_elses_turn_costs_looks_and_grants_nothing) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    for (const database& each : {first_, second_}) {
        each.inner()->waits().suppress_database_notifications();
    }
    auto& room = second_.inner()->waits();
    const std::string address = room.address();
    ASSERT_NE(address, "");
    acquire_request wanted{name, owner_id::random(), two.id(), "two", std::nullopt};
    wanted.wakeup_address = address;
    const auto waiter = room.expect(name, wanted.owner, {1h, 1h});
    const auto queued = second_.inner()->use([&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().enqueue(on, wanted);
    });
    room.enter(*waiter, queued.ticket);
    const auto notify_wrongly = [&](const owner_id& whom) {
        first_.inner()->use([&](connection& on, store_set& stores) {
            const successor wrong{name, whom, two.id(), {held->token().number + 1}, {}, address};
            first_.inner()->waits().announce(on, stores, wrong, local_clock::now());
        });
    };
    for (int each = 0; each < 100; ++each) notify_wrongly(owner_id::random());
    EXPECT_EQ(room.looks(), 0) << "nobody of that name sits here";
    const auto began = local_clock::now();
    ASSERT_TRUE(eventually([&] {
        notify_wrongly(wanted.owner);  // again, where the socket is full still of the others
        return room.looks() >= 1;
    }));
    // A process that knows the owner id and sends without a pause causes a look every few ms.
    for (int each = 0; each < 2000; ++each) notify_wrongly(wanted.owner);
    const int looks = room.looks();
    EXPECT_LE(looks, (local_clock::now() - began) / 5ms + 2);
    EXPECT_FALSE(room.wait(*waiter, local_clock::now() + 20ms, {}, {})) << "it is not its turn";
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(held->release(), release_outcome::released);
    const auto heard = room.wait(*waiter, local_clock::now() + 60s, {}, {});
    room.leave(*waiter);
    ASSERT_TRUE(heard) << "and now it is";
    EXPECT_EQ(heard->token.number, held->token().number + 1);
    second_.inner()->use([&](connection& on, store_set& stores) {
        stores.get<hold_store>().release_owner(on, name, wanted.owner);
    });
}

TEST_F(hot_key_suite, a_flood_of_forged_datagrams_starves_nobody) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    const std::string address = second_.inner()->waits().address();
    ASSERT_NE(address, "");
    std::atomic<bool> is_over = false;
    std::atomic<int> sent = 0;
    thread flood{[&] {
        notifier forger{""};
        while (!is_over) {
            if (forger.send(address, owner_id::random())) {
                ++sent;
            } else {
                std::this_thread::yield();
            }
        }
    }};
    for (int round = 0; round < 20; ++round) {
        auto held = mutex{one, name}.acquire_for(60s);
        ASSERT_TRUE(held);
        std::optional<acquisition> got;
        thread waiting{[&] { got = mutex{two, name, keen()}.acquire_for(60s); }};
        EXPECT_TRUE(has_waiters(name, 1));
        held->release();
        waiting.join();
        EXPECT_TRUE(got && *got) << round;
    }
    is_over = true;
    flood.join();
    EXPECT_GT(sent, 64) << "more than are read at once";
}

// The first time costs a statement that changes nothing: nobody has seen the queue yet.
TEST_F(hot_key_suite, a_key_that_is_sought_is_handed_over_and_queued_for_without_a_try) {
    const auto counted = std::make_shared<gate>();
    const database db = current().open_through(counted);
    db.inner()->waits().suppress_hints();  // which are statements, too
    const auto& contended = db.inner()->waits().contended();
    session one{db, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    mutex_settings deaf;
    deaf.min_poll = deaf.max_poll = 1h;
    const auto calls_to_queue = [&] {
        std::stop_source cancel;
        const auto before = counted->passed();
        thread queueing{
            [&] { EXPECT_FALSE(is_granted(mutex(one, name, deaf).acquire(cancel.get_token()))); }};
        EXPECT_TRUE(eventually([&] { return db.inner()->waits().queued() == 1; }));
        const auto calls = counted->passed() - before;
        cancel.request_stop();
        return calls;
    };
    std::vector<int> queueings, releases;
    // The least of some: on a busy machine a call of the handle's other threads is counted, too.
    constexpr int max_rounds = 6;
    for (int round = 0; round < 2 || (releases.back() > 1 && round < max_rounds); ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(contended.has(name), round > 0);
        std::optional<acquisition> theirs;
        thread waiting{[&] { theirs = mutex{two, name, keen()}.acquire_for(60s); }};
        ASSERT_TRUE(has_waiters(name, 1));
        const auto before = counted->passed();
        EXPECT_EQ(held->release(), release_outcome::released);
        releases.push_back(counted->passed() - before);
        waiting.join();
        ASSERT_TRUE(theirs && *theirs);
        EXPECT_TRUE(db.inner()->waits().contended().has(name));
        // The least of some: a slow machine's room may have closed its connection meanwhile.
        int calls = calls_to_queue();
        for (int more = 0; round > 0 && calls > 1 && more < 5; ++more) {
            calls = std::min(calls, calls_to_queue());
        }
        queueings.push_back(calls);
    }
    EXPECT_LT(releases.back(), releases.front());
    if (current().has_concurrent_writers) {
        EXPECT_EQ(releases.front(), 2);
        EXPECT_EQ(releases.back(), 1);
        EXPECT_EQ(queueings.back(), 1) << "the room has a connection by now";
    }
    auto held = mutex{one, name}.try_acquire();
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_FALSE(contended.has(name)) << "nobody waited";
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

}  // namespace
}  // namespace leasehold::testing
