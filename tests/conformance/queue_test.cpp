// The queue of a key: order, hand-over, and every way out of it.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <limits>
#include <mutex>
#include <random>
#include <vector>

#include "conformance/queue_suite.hpp"
#include "leasehold/reaper.hpp"
#include "support/clean_up.hpp"
#include "support/granted.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

// Each waiter is behind those that came before it, whatever thread or session it is of.
TEST_F(queue_suite, sixty_four_waiters_get_the_key_in_the_order_in_which_they_came) {
    session holder{first_, calm("holder")}, one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{holder, name}.try_acquire();
    ASSERT_TRUE(held);
    constexpr int number = 64;
    std::mutex guard_of_order;
    std::vector<int> order;
    std::int64_t last_token = token_of(held);
    {
        std::vector<thread> threads;
        for (int each = 0; each < number; ++each) {
            threads.emplace_back([&, each] {
                auto got = mutex{each % 2 == 0 ? one : two, name, keen()}.acquire_for(120s);
                if (!got) return;
                const std::lock_guard guard{guard_of_order};
                EXPECT_GT(token_of(got), last_token);
                last_token = token_of(got);
                order.push_back(each);
            });
            ASSERT_TRUE(has_waiters(name, each + 1)) << each;
        }
        EXPECT_EQ(held->release(), release_outcome::released);
    }
    EXPECT_EQ(order.size(), std::size_t{number});
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_FALSE(describe(first_, name)->is_held);
}

// Calls on connections until all have had the key and let go of it.
std::int64_t calls_to_drain(const database& db, gate& counted, const key& name, int number) {
    session_settings settings;
    settings.ttl = 1h;
    settings.reap_every = {};
    session mine{db, settings};
    mutex_settings deaf;
    deaf.min_poll = deaf.max_poll = 1h;
    auto held = mutex{mine, name}.try_acquire();
    std::atomic<int> had = 0;
    std::int64_t before = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < number; ++each) {
            threads.emplace_back([&] {
                if (auto got = mutex{mine, name, deaf}.acquire_for(60s)) ++had;
            });
        }
        EXPECT_TRUE(eventually([&] { return describe(db, name)->waiters == number; }));
        // The last to queue may not have its answer yet.
        EXPECT_TRUE(eventually([&] { return db.inner()->waits().queued() == number; }));
        before = counted.passed();
        held->release();
    }
    EXPECT_EQ(had, number);
    return counted.passed() - before;
}

TEST_F(queue_suite, a_hand_over_costs_the_same_with_2_and_with_64_waiters) {
    const auto counted = std::make_shared<gate>();
    const database db = current().open_through(counted);
    // The least of a few: a connection that is opened meanwhile is asked how it is.
    const auto least = [&](int waiters) {
        auto found = std::numeric_limits<std::int64_t>::max();
        for (int round = 0; round < 4; ++round) {
            found = std::min(found, calls_to_drain(db, *counted, fresh("k"), waiters));
        }
        return found;
    };
    const auto one = least(1), two = least(2), many = least(64);
    const auto each = two - one;
    EXPECT_GT(each, 0);
    if (current().has_concurrent_writers) {
        EXPECT_EQ(many - two, each * 62);
    } else {
        // The file notifies of every commit, also our own: a look for each, however many wait.
        EXPECT_LE(many - two, (each + 2) * 62);
    }
    RecordProperty("calls_per_hand_over", std::to_string(each));
    std::cout << "calls per hand-over: " << each << " (" << one << ", " << two << ", " << many
              << ")\n";
}

TEST_F(queue_suite, a_dead_waiter_is_passed_over) {
    session holder{first_, calm("holder")}, dying{second_, calm("dying")};
    session heir{first_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{holder, name}.try_acquire();
    std::optional<error> dead_end;
    thread dead{[&] {
        dead_end = thrown_by([&] { (void)mutex{dying, name, keen()}.acquire_for(60s); });
    }};
    ASSERT_TRUE(has_waiters(name, 1));
    std::optional<acquisition> got;
    thread alive{[&] { got = mutex{heir, name, keen()}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 2));
    expire(dying);
    EXPECT_EQ(held->release(), release_outcome::released);
    alive.join();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(describe(first_, name)->session, heir.id());
    EXPECT_EQ(waiters_of(name), 0);
    dead.join();
    ASSERT_TRUE(dead_end);
    EXPECT_EQ(dead_end->code(), errc::session_lost);
}

TEST_F(queue_suite, who_runs_out_of_time_or_is_cancelled_leaves_nothing_behind) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    auto late = mutex{two, name}.acquire_for(60ms);
    EXPECT_FALSE(late);
    EXPECT_EQ(late.holder()->owner, held->owner());
    EXPECT_EQ(waiters_of(name), 0);
    std::stop_source cancel;
    thread waiting{[&] { EXPECT_FALSE(is_granted(mutex(two, name).acquire(cancel.get_token()))); }};
    EXPECT_TRUE(has_waiters(name, 1));
    cancel.request_stop();
    waiting.join();
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

// Time-outs and cancellations at about the moment of the hand-over. After each race the key is
// somebody's or free, and the queue empty.
TEST_F(queue_suite, no_hand_over_is_lost_to_a_waiter_that_gives_up_at_that_moment) {
    session one{first_, calm("one")}, two{second_, calm("two")}, heir{first_, calm("heir")};
    const key name = fresh("k");
    std::mt19937_64 random{seed()};
    int had = 0, gave_up = 0;
    for (int round = 0; round < 60; ++round) {
        auto held = mutex{one, name}.acquire_for(20s);
        ASSERT_TRUE(held) << "round " << round << ": nobody could have had it";
        const auto timeout = std::chrono::microseconds{random() % 12'000};
        const bool is_cancelled = random() % 2 == 0;
        std::stop_source cancel;
        std::atomic<bool> is_done = false;
        thread giving_up{[&] {
            auto got = is_cancelled ? mutex{two, name, keen()}.acquire(cancel.get_token())
                                    : mutex{two, name, keen()}.acquire_for(timeout);
            ++(got ? had : gave_up);
            is_done = true;
        }};
        thread canceller{[&] {
            eventually(
                [&] { return is_done.load(); },
                std::chrono::ceil<std::chrono::milliseconds>(timeout)
            );
            cancel.request_stop();
        }};
        eventually([&] { return is_done.load(); }, std::chrono::milliseconds{random() % 10});
        held->release();
        giving_up.join();
        ASSERT_EQ(waiters_of(name), 0);
        auto next = mutex{heir, name, keen()}.acquire_for(20s);
        ASSERT_TRUE(next) << "round " << round << " left the key to nobody";
    }
    std::cout << had << " had it, " << gave_up << " gave up\n";
}

// The lost wake-up: a release that reads the queue as it was before it waited for the row. Nobody
// looks here, so one that is overlooked waits for ever.
TEST_F(queue_suite, a_release_that_races_with_a_waiter_does_not_overlook_it) {
    session one{first_, calm("one")}, two{first_, calm("two")};
    const key name = fresh("k");
    for (int round = 0; round < 60; ++round) {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held) << round;
        thread releasing{[&] { held->release(); }};
        auto got = mutex{two, name, deaf()}.acquire_for(20s);
        ASSERT_TRUE(got) << "overlooked in round " << round;
        releasing.join();
    }
}

TEST_F(queue_suite, with_every_hint_suppressed_a_waiter_finds_out_by_itself) {
    const database deaf_db = current().open({}), dumb_db = current().open({});
    deaf_db.inner()->waits().suppress_hints();
    dumb_db.inner()->waits().suppress_hints();
    session one{dumb_db, calm("one")}, two{deaf_db, calm("two")};
    const key name = fresh("k");
    for (int round = 0; round < 3; ++round) {
        auto held = mutex{one, name}.try_acquire();
        std::optional<acquisition> got;
        thread waiting{[&] { got = mutex{two, name}.acquire_for(60s); }};
        ASSERT_TRUE(has_waiters(name, 1));
        EXPECT_EQ(held->release(), release_outcome::released);
        const auto released = local_clock::now();
        waiting.join();
        ASSERT_TRUE(got && *got);
        EXPECT_LT(local_clock::now() - released, 30s);
        EXPECT_EQ(dumb_db.inner()->waits().notifications(), 0);
    }
}

TEST_F(queue_suite, a_waiter_for_a_fixed_term_gets_all_of_it_from_the_hand_over_on) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    mutex_settings settings = keen();
    settings.fixed_term = 10min;
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{two, name, settings}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 1));
    held->release();
    waiting.join();
    ASSERT_TRUE(got && *got);
    const auto seen = describe(first_, name);
    EXPECT_FALSE(seen->session.has_value());
    EXPECT_GT(seen->remaining, 9min);
    EXPECT_GT((*got)->deadline() - local_clock::now(), 9min);
    EXPECT_LT((*got)->deadline() - local_clock::now(), 10min);
    current().age_lock(name, 11min);
    EXPECT_FALSE((*got)->verify());
}

TEST_F(queue_suite, only_the_last_level_of_a_recursive_hold_is_handed_over) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    mutex closing{one, fresh("k"), {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{two, closing.key(), keen()}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(closing.key(), 1));
    EXPECT_EQ(inner->release(), release_outcome::still_held);
    EXPECT_TRUE(outer->verify());
    EXPECT_EQ(outer->release(), release_outcome::released);
    waiting.join();
    ASSERT_TRUE(got && *got);
    EXPECT_GT((*got)->token(), outer->token());
}

TEST_F(queue_suite, another_thread_of_a_recursive_mutex_enters_instead_of_waiting_for_itself) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    mutex_settings settings = keen();
    settings.recursive = true;
    mutex shared{two, name, settings};
    std::optional<acquisition> left, right;
    thread first{[&] { left = shared.acquire_for(60s); }};
    thread second{[&] { right = shared.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 2));
    held->release();
    first.join();
    second.join();
    ASSERT_TRUE(left && *left && right && *right);
    EXPECT_EQ((*left)->token(), (*right)->token());
    EXPECT_EQ(waiters_of(name), 0);
}

TEST_F(queue_suite, what_a_dead_holder_had_goes_to_the_first_waiter_without_any_reaper) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{heir, name, keen()}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 1));
    expire(dead);
    waiting.join();
    ASSERT_TRUE(got && *got);
    EXPECT_GT(token_of(*got), token_of(held));
    EXPECT_EQ(waiters_of(name), 0);
}

TEST_F(queue_suite, the_reaper_hands_over_what_the_dead_held_and_removes_dead_waiters) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")}, gone{first_, calm("gone")};
    const key name = fresh("k"), other = fresh("other");
    auto held = mutex{dead, name}.try_acquire();
    auto kept = mutex{heir, other}.try_acquire();
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{heir, name, deaf()}.acquire_for(60s); }};
    std::stop_source cancel;
    thread dying{[&] {
        // Cancelled, or told before that its row is gone.
        const auto failure = thrown_by([&] {
            EXPECT_FALSE(is_granted(mutex{gone, other, deaf()}.acquire_for(60s, cancel.get_token()))
            );
        });
        EXPECT_TRUE(!failure || failure->code() == errc::session_lost) << failure->what();
    }};
    ASSERT_TRUE(has_waiters(name, 1));
    ASSERT_TRUE(has_waiters(other, 1));
    expire(dead);
    expire(gone);
    EXPECT_EQ(waiters_of(other), 0) << "the dead do not count";
    reap(second_, {.session_retention = 60s});  // of the handle on which the heir waits
    waiting.join();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(waiters_of(other), 0);
    EXPECT_TRUE(kept->verify());
    cancel.request_stop();
    dying.join();
}

TEST_F(queue_suite, a_row_with_waiters_is_never_removed_and_a_mark_without_any_is) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    const auto is_marked_and_open = [&] {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return std::ranges::count(unserved_keys(on, stores), name) > 0;
        });
    };
    auto held = mutex{one, name}.try_acquire();
    std::stop_source cancel;
    thread waiting{[&] {
        EXPECT_FALSE(is_granted(mutex(two, name, deaf()).acquire_for(60s, cancel.get_token())));
    }};
    ASSERT_TRUE(has_waiters(name, 1));
    current().age_lock(name, 240h);
    reap(second_);
    EXPECT_TRUE(describe(first_, name).has_value());
    EXPECT_EQ(waiters_of(name), 1);
    cancel.request_stop();
    waiting.join();
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_FALSE(is_marked_and_open()) << "it is held";
    expire(one);
    EXPECT_TRUE(is_marked_and_open()) << "who leaves lets the mark stay, and so does a death";
    reap(second_);
    EXPECT_FALSE(is_marked_and_open());
    EXPECT_TRUE(describe(first_, name).has_value()) << "it was in use a moment ago";
    current().age_lock(name, 240h);
    reap(second_);
    EXPECT_FALSE(describe(first_, name).has_value());
}

TEST_F(queue_suite, a_key_that_is_freed_by_force_or_by_the_end_of_a_session_goes_to_who_waits) {
    const key name = fresh("k");
    session two{second_, calm("two")};
    for (const bool by_force : {true, false}) {
        session one{first_, calm("one")};
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        std::optional<acquisition> got;
        thread waiting{[&] { got = mutex{two, name, keen()}.acquire_for(60s); }};
        ASSERT_TRUE(has_waiters(name, 1));
        if (by_force) {
            EXPECT_TRUE(force_release(first_, name));
        } else {
            one.end();
        }
        waiting.join();
        ASSERT_TRUE(got && *got);
        EXPECT_GT(token_of(*got), token_of(held));
    }
}

TEST_F(queue_suite, a_session_that_ends_while_it_waits_leaves_nothing_behind) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    std::optional<error> failure;
    thread waiting{[&] {
        failure = thrown_by([&] { (void)mutex{two, name, deaf()}.acquire_for(60s); });
    }};
    ASSERT_TRUE(has_waiters(name, 1));
    two.end();
    waiting.join();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_FALSE(describe(first_, name)->is_held);
}

// A row that is made to wait behind the proof of its holder waits until that is over, and nobody
// waits for it with a connection in the hand.
TEST_F(queue_suite, queueing_does_not_wait_for_a_proof) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    {
        transaction tx = first_.begin();
        held->verify_in(tx);
        if (current().has_concurrent_writers) {
            const auto start = local_clock::now();
            EXPECT_FALSE(is_granted(mutex(two, name).acquire_for(200ms)));
            EXPECT_LT(local_clock::now() - start, 9s);
        }
        tx.commit();
    }
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{two, name, keen()}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 1));
    held->release();
    waiting.join();
    EXPECT_TRUE(got && *got);
}

}  // namespace
}  // namespace leasehold::testing
