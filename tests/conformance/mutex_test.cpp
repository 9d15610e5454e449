// leasehold::mutex: exclusion, ownership, expiry, token order, recursion, fixed terms.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <limits>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using mutex_suite = suite;

// Promise 1: the reason to have a lock at all.
TEST_F(mutex_suite, a_second_session_is_refused_while_the_lease_lives) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    auto refused = mutex{two, name}.try_acquire();
    EXPECT_FALSE(refused);
    ASSERT_TRUE(refused.holder().has_value());
    EXPECT_EQ(refused.holder()->session, one.id());
    EXPECT_EQ(refused.holder()->owner, held->owner());
    EXPECT_EQ(refused.holder()->token, held->token());
    EXPECT_EQ(refused.holder()->node_info.substr(0, 4), "one@");
    EXPECT_GT(refused.holder()->remaining, 59min);
    EXPECT_LE(refused.holder()->remaining, 1h);
}

TEST_F(mutex_suite, the_same_session_is_refused_too_because_ownership_is_per_acquisition) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    EXPECT_TRUE(held);
    auto refused = mutex{one, name}.try_acquire();
    EXPECT_FALSE(refused);
}

// Promise 2.
TEST_F(mutex_suite, every_grant_has_a_greater_token_across_release_expiry_and_force) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    std::int64_t last = 0;
    const auto expect_greater = [&](std::int64_t token) {
        EXPECT_GT(token, last);
        last = token;
    };
    for (int round = 0; round < 3; ++round) {
        auto held = mutex{one, name}.try_acquire();
        expect_greater(token_of(held));
        EXPECT_EQ(held->release(), release_outcome::released);
    }
    {
        session dying{second_, calm("dying")};
        auto held = mutex{dying, name}.try_acquire();
        expect_greater(token_of(held));
        expire(dying);
        auto next = mutex{one, name}.try_acquire();
        expect_greater(token_of(next));
        EXPECT_EQ(held->release(), release_outcome::not_held);
        EXPECT_TRUE(force_release(first_, name));
        auto after = mutex{one, name}.try_acquire();
        EXPECT_GE(token_of(after), token_of(next) + 2) << "force moves the token on by itself";
        expect_greater(token_of(after));
    }
}

TEST_F(mutex_suite, tokens_are_per_key_and_start_above_zero) {
    session one{first_, calm("one")};
    auto a = mutex{one, fresh("a")}.try_acquire();
    auto b = mutex{one, fresh("b")}.try_acquire();
    EXPECT_GT(token_of(a), 0);
    EXPECT_GT(token_of(b), 0);
}

// Promise 7: without any reaper.
TEST_F(mutex_suite, what_a_dead_session_held_is_free_when_it_expires) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    ASSERT_TRUE(held);
    current().age_session(dead.id(), 59min);
    EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire()));  // a minute to live is alive
    current().age_session(dead.id(), 2min);
    auto taken = mutex{heir, name}.try_acquire();
    ASSERT_TRUE(taken);
    EXPECT_GT(taken->token(), held->token());
    EXPECT_FALSE(held->verify());
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
}

TEST_F(mutex_suite, an_expired_session_is_granted_nothing) {
    session dead{first_, calm("dead")};
    expire(dead);
    mutex closing{dead, fresh("k")};
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    EXPECT_FALSE(
        describe(first_, closing.key()).has_value() && describe(first_, closing.key())->is_held
    );
}

// A missing row is no proof of death: the reaper frees what a session held before it removes it.
TEST_F(mutex_suite, a_holder_whose_session_row_is_missing_counts_as_alive) {
    session gone{first_, calm("gone")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{gone, name}.try_acquire();
    ASSERT_TRUE(held);
    current().remove_session_row(gone.id());
    EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
}

// Promise 8 of the README. In ShedLock's issues 74 and 1986 an expired holder freed its successor.
TEST_F(mutex_suite, a_late_release_does_not_free_the_successor) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    expire(dead);
    auto taken = mutex{heir, name}.try_acquire();
    ASSERT_TRUE(taken);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    EXPECT_TRUE(taken->verify());
    EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire()));
}

TEST_F(mutex_suite, a_release_after_expiry_that_nobody_followed_frees_the_key) {
    for (const bool is_told : {false, true}) {
        session dead{first_, calm("dead")};
        const key name = fresh("k");
        auto held = mutex{dead, name}.try_acquire();
        ASSERT_TRUE(held);
        expire(dead);
        const auto failure = thrown_by([&] {
            if (is_told) (void)mutex(dead, fresh("k")).try_acquire();
        });
        EXPECT_EQ(failure.has_value(), is_told);
        ASSERT_EQ(held->lost().stop_requested(), is_told);
        const auto expected = is_told ? release_outcome::not_held : release_outcome::released;
        EXPECT_EQ(held->release(), expected);
        EXPECT_FALSE(describe(second_, name)->is_held);
    }
}

TEST_F(mutex_suite, releasing_twice_is_harmless) {
    session one{first_, calm("one")};
    mutex closing{one, fresh("k")};
    auto held = closing.try_acquire();
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    auto next = closing.try_acquire();
    EXPECT_TRUE(next);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    EXPECT_TRUE(next->verify());
}

TEST_F(mutex_suite, a_lease_that_goes_out_of_scope_is_released_and_signals_it) {
    session one{first_, calm("one")};
    mutex closing{one, fresh("k")};
    std::stop_token lost;
    {
        auto held = closing.try_acquire();
        lost = held->lost();
        EXPECT_FALSE(lost.stop_requested());
        EXPECT_TRUE(held->held_locally());
    }
    EXPECT_TRUE(lost.stop_requested());
    auto again = closing.try_acquire();
    EXPECT_TRUE(again);
}

// Keys are bytes: the default collations of MySQL make these one.
TEST_F(mutex_suite, keys_that_differ_in_case_accent_or_trailing_space_are_different) {
    session one{first_, calm("one")};
    const std::string stem = fresh("Job");
    std::vector<acquisition> held;
    for (const char* tail :
         {"",         " ", "  ", "\t", "a", "A", "\xc3\xa4", "\xc3\x84", "a ", "ss",
          "\xc3\x9f", "'", "\"", "\\", "%", "_", ";--",      "?",        "$1", ":x"}) {
        held.push_back(mutex{one, stem + tail}.try_acquire());
        EXPECT_TRUE(held.back()) << tail;
    }
    auto longest = mutex{one, std::string(223, 'x') + identity::random().text()}.try_acquire();
    EXPECT_TRUE(longest);
    EXPECT_EQ(list_locks(first_, stem).size(), held.size());
}

TEST_F(mutex_suite, a_recursive_mutex_counts_in_the_row_and_keeps_its_token) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    mutex closing{one, fresh("k"), {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    ASSERT_TRUE(outer && inner);
    EXPECT_EQ(outer->token(), inner->token());
    EXPECT_EQ(describe(second_, closing.key())->reentrant_count, 2);
    EXPECT_EQ(inner->release(), release_outcome::still_held);
    EXPECT_TRUE(inner->lost().stop_requested());
    EXPECT_FALSE(outer->lost().stop_requested());
    EXPECT_FALSE(is_granted(mutex(two, closing.key()).try_acquire()));
    EXPECT_EQ(outer->release(), release_outcome::released);
    auto other = mutex{two, closing.key()}.try_acquire();
    EXPECT_TRUE(other);
}

TEST_F(mutex_suite, another_recursive_mutex_of_the_same_session_is_not_the_owner) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    mutex mine{one, name, {.recursive = true}}, another{one, name, {.recursive = true}};
    auto held = mine.try_acquire();
    EXPECT_TRUE(held);
    EXPECT_FALSE(is_granted(another.try_acquire()));
}

TEST_F(mutex_suite, a_recursive_try_after_loss_is_a_new_grant_with_a_new_token) {
    session one{first_, calm("one")};
    mutex closing{one, fresh("k"), {.recursive = true}};
    auto lost = closing.try_acquire();
    ASSERT_TRUE(force_release(second_, closing.key()));
    auto again = closing.try_acquire();
    ASSERT_TRUE(again);
    EXPECT_GT(again->token(), lost->token());
    EXPECT_EQ(lost->why_lost(), loss_reason::taken_over);
    EXPECT_EQ(describe(first_, closing.key())->reentrant_count, 1);
}

TEST_F(mutex_suite, a_bounded_wait_ends_with_who_holds_the_key) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto start = local_clock::now();
    auto refused = mutex{two, name}.acquire_for(120ms);
    EXPECT_FALSE(refused);
    EXPECT_TRUE(refused.holder().has_value());
    EXPECT_GE(local_clock::now() - start, 120ms);
    EXPECT_FALSE(is_granted(mutex(two, name).acquire_for(-1h)));
    EXPECT_FALSE(is_granted(mutex(two, name).acquire_until(local_clock::now() - 1h)));
}

TEST_F(mutex_suite, a_waiter_gets_the_key_when_it_is_released) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto token = token_of(held);
    thread releaser{[&] { held->release(); }};
    auto got = mutex{two, name}.acquire_for(20s);
    EXPECT_GT(token_of(got), token);
}

TEST_F(mutex_suite, a_wait_can_be_cancelled) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    std::stop_source cancel;
    thread canceller{[&] { cancel.request_stop(); }};
    auto refused = mutex{two, name}.acquire(cancel.get_token());
    EXPECT_FALSE(refused);
    EXPECT_TRUE(held->verify());
}

TEST_F(mutex_suite, standard_guards_work_through_the_adapter) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key a = fresh("a"), b = fresh("b");
    lockable_mutex first_a{one, a}, first_b{one, b}, second_a{two, a};
    {
        const std::scoped_lock both{first_a, first_b};
        EXPECT_FALSE(second_a.try_lock());
        EXPECT_FALSE(second_a.try_lock_for(30ms));
        EXPECT_TRUE(first_a.held_locally());
        EXPECT_GT(first_a.with_lease([](lease& held) { return held.token().number; }), 0);
    }
    std::unique_lock guard{second_a, 20s};
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(first_a.held_locally());
    // Until a point in time, of whatever clock.
    EXPECT_FALSE(first_a.try_lock_until(std::chrono::steady_clock::now() + 30ms));
    EXPECT_FALSE(first_a.try_lock_until(std::chrono::system_clock::now() - 1h)) << "one try";
    guard.unlock();
    EXPECT_TRUE(first_a.try_lock_until(std::chrono::system_clock::now() + 20s));
    first_a.unlock();
}

TEST_F(mutex_suite, bad_settings_are_refused_before_anything_is_sent) {
    session one{first_, calm("one")};
    const auto code_of = [&](mutex_settings settings) {
        const auto failure = thrown_by([&] { mutex{one, "k", settings}; });
        return failure ? failure->code() : errc{};
    };
    EXPECT_EQ(code_of({.fixed_term = 0us}), errc::invalid_argument);
    EXPECT_EQ(code_of({.fixed_term = -1s}), errc::invalid_argument);
    EXPECT_EQ(code_of({.fixed_term = 24h * 367}), errc::invalid_argument);
    EXPECT_EQ(code_of({.min_poll = 0ms}), errc::invalid_argument);
    EXPECT_EQ(code_of({.min_poll = 20ms, .max_poll = 10ms}), errc::invalid_argument);
}

// Promise 1 again, by brute force: eight threads with sessions of their own over one counter that
// is read, and written one higher, without any transaction around it.
TEST_F(mutex_suite, eight_contenders_lose_no_update_of_an_unprotected_counter) {
    const key name = fresh("k");
    constexpr int contenders = 8, rounds = 20;
    int unprotected = 0;
    std::vector<std::int64_t> tokens;
    {
        std::vector<thread> threads;
        for (int each = 0; each < contenders; ++each) {
            threads.emplace_back([&] {
                database own = current().open({});
                session mine{own, calm("contender")};
                mutex closing{mine, name, {.min_poll = 1ms, .max_poll = 20ms}};
                for (int round = 0; round < rounds; ++round) {
                    auto held = closing.acquire();
                    const int seen = unprotected;
                    std::this_thread::yield();
                    unprotected = seen + 1;
                    tokens.push_back(held->token().number);
                }
            });
        }
    }
    EXPECT_EQ(unprotected, contenders * rounds);
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end());
}

// Creating the row of a key nobody has used yet is where insert races live.
TEST_F(mutex_suite, fresh_keys_raced_by_many_are_granted_once_each) {
    constexpr int contenders = 8, keys = 25;
    const std::string stem = fresh("race");
    std::atomic<int> grants = 0;
    std::barrier all_have_tried{contenders};
    {
        std::vector<thread> threads;
        for (int each = 0; each < contenders; ++each) {
            threads.emplace_back([&] {
                database own = current().open({});
                session mine{own, calm("racer")};
                std::vector<acquisition> held;
                for (int number = 0; number < keys; ++number) {
                    try {
                        held.push_back(mutex{mine, stem + std::to_string(number)}.try_acquire());
                        if (held.back()) ++grants;
                    } catch (const error& failure) {
                        ADD_FAILURE() << failure.what() << ": " << failure.server_message();
                    }
                }
                all_have_tried.arrive_and_wait();  // nothing is released before
            });
        }
    }
    EXPECT_EQ(grants, keys);
}

// Promise 10. The counter of writes is the server's own; the server's own writes are tolerated.
TEST_F(mutex_suite, a_refused_try_writes_nothing) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    mutex contended{two, name};
    EXPECT_FALSE(is_granted(contended.try_acquire()));
    if (!current().writes_so_far) GTEST_SKIP() << "not every backend can be asked";
    // Others may use the same server: a try that writes does so in every round, they do not.
    constexpr int rounds = 40, tries = 200;
    const auto tolerated = current().writes_tolerated_per_1000 * tries / 1000;
    auto least = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < rounds && least > tolerated; ++round) {
        const auto before = current().writes_so_far();
        for (int each = 0; each < tries; ++each) EXPECT_FALSE(is_granted(contended.try_acquire()));
        least = std::min(least, current().writes_so_far() - before);
    }
    EXPECT_LE(least, tolerated);
}

}  // namespace
}  // namespace leasehold::testing
