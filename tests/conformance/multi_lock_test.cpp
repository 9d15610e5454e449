// leasehold::multi_lock: all or nothing, order, tokens per key, proof and release of all at once.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <limits>
#include <random>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/multi_lock.hpp"
#include "locks/holder_store.hpp"
#include "support/granted.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class multi_suite : public suite {
protected:
    // `count` keys nobody else uses, in an order that is not theirs.
    std::vector<key> some(int count) {
        const std::string stem = fresh("m");
        std::vector<key> keys;
        for (int each = count; each > 0; --each) keys.emplace_back(stem + std::to_string(each));
        return keys;
    }
    bool is_free(const key& name) {
        const auto seen = describe(second_, name);
        return !seen || !seen->is_held;
    }
};

TEST_F(multi_suite, all_keys_are_held_and_all_are_released) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(3);
    auto held = multi_lock{one, {keys[0], keys[1], keys[2], keys[0]}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->keys().size(), 3U);
    EXPECT_TRUE(std::is_sorted(held->keys().begin(), held->keys().end()));
    for (const key& each : keys) {
        EXPECT_GT(held->token(each).number, 0);
        const auto refused = mutex{two, each}.try_acquire();
        ASSERT_TRUE(refused.holder());
        EXPECT_EQ(refused.holder()->owner, held->owner());
        EXPECT_EQ(refused.holder()->token, held->token(each));
        EXPECT_EQ(refused.holder()->session, one.id());
    }
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(held->release(), release_outcome::not_held);
    for (const key& each : keys) EXPECT_TRUE((mutex{two, each}.try_acquire()));
}

TEST_F(multi_suite, nothing_is_held_of_a_set_that_is_refused) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(4);
    for (const key& busy : keys) {
        auto held = mutex{one, busy}.try_acquire();
        auto refused = multi_lock{two, keys}.try_acquire();
        EXPECT_FALSE(refused);
        ASSERT_TRUE(refused.holder());
        EXPECT_EQ(refused.holder()->key, busy.name());
        EXPECT_EQ(refused.holder()->node_info.substr(0, 4), "one@");
        for (const key& each : keys) EXPECT_EQ(is_free(each), each != busy);
    }
    EXPECT_TRUE((multi_lock{two, keys}.try_acquire()));
}

TEST_F(multi_suite, the_first_busy_key_is_reported) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(4);
    auto late = mutex{one, keys[0]}.try_acquire();
    auto early = mutex{one, keys[2]}.try_acquire();
    auto refused = multi_lock{two, keys}.try_acquire();
    ASSERT_TRUE(refused.holder());
    EXPECT_EQ(refused.holder()->key, keys[2].name());
}

TEST_F(multi_suite, every_key_has_its_own_token_greater_than_all_before) {
    session one{first_, calm("one")};
    const auto keys = some(3);
    for (int round = 0; round < 3; ++round) (void)mutex{one, keys[1]}.try_acquire();
    std::vector<std::int64_t> last(3, 0);
    for (int round = 0; round < 3; ++round) {
        auto held = multi_lock{one, keys}.try_acquire();
        ASSERT_TRUE(held);
        for (std::size_t each = 0; each < 3; ++each) {
            EXPECT_GT(held->token(keys[each]).number, last[each]);
            last[each] = held->token(keys[each]).number;
        }
    }
    auto alone = mutex{one, keys[1]}.try_acquire();
    EXPECT_EQ(token_of(alone), last[1] + 1);
    EXPECT_GT(last[1], 5);
}

TEST_F(multi_suite, keys_of_the_dead_unknown_and_free_are_taken_together) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")}, other{first_, calm("other")};
    auto keys = some(5);
    auto left = multi_lock{dead, {keys[0], keys[3]}}.try_acquire();
    (void)mutex{heir, keys[1]}.try_acquire();  // known, and free again
    auto term = mutex{other, keys[4], {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(left && term);
    EXPECT_FALSE(is_granted(multi_lock{heir, keys}.try_acquire()));
    expire(dead);
    EXPECT_FALSE(is_granted(multi_lock{heir, keys}.try_acquire()));  // the term has not passed
    current().age_lock(keys[4], 11min);
    auto taken = multi_lock{heir, keys}.try_acquire();
    ASSERT_TRUE(taken);
    EXPECT_GT(taken->token(keys[0]), left->token(keys[0]));
    EXPECT_GT(taken->token(keys[4]), term->token());
    EXPECT_FALSE(left->verify());
    EXPECT_EQ(left->why_lost(), loss_reason::taken_over);
    EXPECT_EQ(left->release(), release_outcome::not_held);
    EXPECT_TRUE(taken->verify());
}

TEST_F(multi_suite, a_holder_whose_session_row_is_missing_counts_as_alive) {
    session gone{first_, calm("gone")}, other{second_, calm("other")};
    const auto keys = some(2);
    auto held = multi_lock{gone, keys}.try_acquire();
    ASSERT_TRUE(held);
    current().remove_session_row(gone.id());
    EXPECT_FALSE(is_granted(multi_lock{other, keys}.try_acquire()));
}

TEST_F(multi_suite, an_expired_session_is_granted_nothing) {
    session dead{first_, calm("dead")};
    const auto keys = some(2);
    expire(dead);
    const auto failure = thrown_by([&] { (void)multi_lock{dead, keys}.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    for (const key& each : keys) EXPECT_TRUE(is_free(each));
}

TEST_F(multi_suite, one_proof_covers_all_keys_until_the_commit) {
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const auto keys = some(3);
    auto held = multi_lock{dying, keys}.try_acquire();
    const auto before = current().read_counter();
    expire(dying);
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    held->verify_in(tx);
    std::atomic<bool> has_committed = false, was_early = false;
    thread taker{[&] {
        auto taken = multi_lock{heir, {keys[1]}}.acquire_for(20s);
        was_early = taken && !has_committed;
        EXPECT_TRUE(taken);
    }};
    EXPECT_FALSE(eventually([&] { return was_early.load(); }, 200ms));
    has_committed = true;
    tx.commit();
    EXPECT_EQ(current().read_counter(), before + 1);
}

TEST_F(multi_suite, one_lost_key_loses_the_lease_and_the_others_stay_until_the_release) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(3);
    auto held = multi_lock{one, keys}.try_acquire();
    ASSERT_TRUE(held);
    ASSERT_TRUE(force_release(second_, keys[1]));
    {
        transaction tx = first_.begin();
        const auto refused = thrown_by([&] { held->verify_in(tx); });
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::lease_lost);
    }
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_FALSE(held->held_locally());
    EXPECT_FALSE(is_granted(mutex{two, keys[0]}.try_acquire()));
    auto next = mutex{two, keys[1]}.try_acquire();
    EXPECT_TRUE(next);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    EXPECT_TRUE(next->verify());
    EXPECT_TRUE((mutex{two, keys[0]}.try_acquire()));
    EXPECT_TRUE((mutex{two, keys[2]}.try_acquire()));
}

TEST_F(multi_suite, a_forced_key_is_noticed_by_the_heartbeat) {
    session_settings eager = calm("eager");
    eager.ttl = 60s;
    eager.heartbeat_every = 100ms;
    session one{first_, eager};
    const auto keys = some(2);
    auto held = multi_lock{one, keys}.try_acquire();
    ASSERT_TRUE(force_release(second_, keys[0]));
    EXPECT_TRUE(stopped(held->lost(), 20s));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(one.is_live());
}

TEST_F(multi_suite, a_wait_ends_when_all_are_free_or_time_is_up_or_it_is_cancelled) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(2);
    auto a = mutex{one, keys[0]}.try_acquire();
    auto b = mutex{one, keys[1]}.try_acquire();
    multi_lock both{two, keys};
    auto refused = both.acquire_for(50ms);
    EXPECT_FALSE(refused);
    EXPECT_TRUE(refused.holder());
    std::stop_source cancel;
    {
        thread canceller{[&] { cancel.request_stop(); }};
        EXPECT_FALSE(is_granted(both.acquire(cancel.get_token())));
    }
    thread releaser{[&] {
        a->release();
        b->release();
    }};
    EXPECT_TRUE(both.acquire_for(20s));
}

TEST_F(multi_suite, a_fixed_term_for_all_keys_outlives_its_session) {
    session other{second_, calm("other")};
    const auto keys = some(2);
    {
        session one{first_, calm("one")};
        auto held = multi_lock{one, keys, {.fixed_term = 10min}}.try_acquire();
        ASSERT_TRUE(held);
        one.end();
        EXPECT_FALSE(is_granted(multi_lock{other, keys}.try_acquire()));
        EXPECT_TRUE(held->held_locally());
        for (const key& each : keys) current().age_lock(each, 11min);
    }
    EXPECT_TRUE((multi_lock{other, keys}.try_acquire()));
}

TEST_F(multi_suite, bad_sets_and_settings_are_refused_before_anything_is_sent) {
    session one{first_, calm("one")};
    const auto code_of = [&](std::vector<key> keys, multi_lock_settings settings) {
        const auto failure = thrown_by([&] { multi_lock{one, std::move(keys), settings}; });
        return failure ? failure->code() : errc{};
    };
    EXPECT_EQ(code_of({}, {}), errc::invalid_argument);
    EXPECT_EQ(code_of(some(101), {}), errc::invalid_argument);
    EXPECT_EQ(code_of({"k"}, {.fixed_term = 0us}), errc::invalid_argument);
    EXPECT_EQ(code_of({"k"}, {.min_poll = 0ms}), errc::invalid_argument);
    auto most = multi_lock{one, some(100)}.try_acquire();
    ASSERT_TRUE(most);
    transaction tx = first_.begin();
    most->verify_in(tx);
    tx.commit();
    EXPECT_EQ(most->release(), release_outcome::released);
}

// Promise 10 for sets.
TEST_F(multi_suite, a_refused_try_writes_nothing) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(4);
    auto known = multi_lock{two, keys}.try_acquire();
    known->release();
    auto held = mutex{one, keys[0]}.try_acquire();  // the last of them
    multi_lock contended{two, keys};
    EXPECT_FALSE(is_granted(contended.try_acquire()));
    if (!current().writes_so_far) GTEST_SKIP() << "not every backend can be asked";
    // Others may use the same server: a try that writes does so in every round, they do not.
    constexpr int rounds = 40, tries = 100;
    const auto tolerated = current().writes_tolerated_per_1000 * tries / 1000;
    auto least = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < rounds && least > tolerated; ++round) {
        const auto before = current().writes_so_far();
        for (int each = 0; each < tries; ++each) EXPECT_FALSE(is_granted(contended.try_acquire()));
        least = std::min(least, current().writes_so_far() - before);
    }
    EXPECT_LE(least, tolerated);
}

// Overlapping sets in random order, keys never seen before among them, single keys in between:
// no deadlock, no error, no two holders of a key, and everybody gets through.
TEST_F(multi_suite, overlapping_sets_in_random_order_neither_deadlock_nor_overlap) {
    const auto first_seed = seed();
    const auto keys = some(6);
    constexpr int contenders = 6, rounds = 12;
    std::array<std::atomic<int>, 6> holders{};
    std::array<std::atomic<std::int64_t>, 6> last_token{};
    std::barrier all_are_ready{contenders};
    const auto counted = std::make_shared<gate>();
    std::vector<thread> threads;
    for (int each = 0; each < contenders; ++each) {
        threads.emplace_back([&, each] {
            std::mt19937_64 random{first_seed + static_cast<unsigned>(each)};
            database own = current().open_through(counted);
            session mine{own, calm("contender")};
            all_are_ready.arrive_and_wait();
            for (int round = 0; round < rounds; ++round) {
                std::vector<std::size_t> chosen{0, 1, 2, 3, 4, 5};
                std::shuffle(chosen.begin(), chosen.end(), random);
                chosen.resize(1 + random() % 4);
                std::vector<key> wanted;
                for (const auto at : chosen) wanted.push_back(keys[at]);
                try {
                    multi_lock set{mine, wanted, {.min_poll = 1ms, .max_poll = 20ms}};
                    auto held = set.acquire_for(60s);
                    if (!held) {
                        ADD_FAILURE() << "starved";
                        return;
                    }
                    for (const auto at : chosen) {
                        EXPECT_EQ(++holders[at], 1);
                        const auto token = held->token(keys[at]).number;
                        EXPECT_GT(token, last_token[at].exchange(token));
                    }
                    std::this_thread::yield();
                    for (const auto at : chosen) --holders[at];
                    EXPECT_EQ(held->release(), release_outcome::released);
                } catch (const error& failure) {
                    ADD_FAILURE() << failure.what() << ": " << failure.server_message();
                }
            }
        });
    }
    threads.clear();
    EXPECT_EQ(counted->deadlocks(), 0) << "those that were tried again, too";
}

// A grant of another kind that commits between the look and the lock of a set's row.
TEST_F(multi_suite, a_key_that_becomes_a_semaphore_meanwhile_is_not_granted_as_one_of_a_set) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto keys = some(2);
    (*multi_lock{one, keys}.try_acquire()).release();
    const holder_request wanted{
        .key = keys[0],
        .owner = owner_id::random(),
        .session = one.id(),
        .node_info = "n",
        .kind = lock_kind::semaphore,
        .capacity = 3,
        .instead_of = {}};
    std::optional<error> failure;
    std::atomic<bool> has_answer = false;
    thread asking;
    first_.inner()->use([&](connection& on, store_set& stores) {
        const auto grant = [&] {
            EXPECT_EQ(
                stores.get<holder_store>().try_acquire(on, wanted).status, holder_status::granted
            );
        };
        on.begin();
        if (const auto refused = thrown_by(grant)) {
            // On an engine where a grant is a transaction of its own, nothing comes in between.
            EXPECT_EQ(refused->code(), errc::wrong_transaction) << refused->what();
            on.rollback();
            grant();
        }
        asking = thread{[&] {
            failure = thrown_by([&] {
                EXPECT_FALSE(is_granted(multi_lock{two, keys}.try_acquire()));
            });
            has_answer = true;
        }};
        (void)eventually([&] { return has_answer.load(); }, 300ms);
        if (on.state() != connection_state::idle) on.commit();
        asking.join();
    });
    ASSERT_TRUE(failure) << "it is held as a semaphore";
    EXPECT_EQ(failure->code(), errc::invalid_argument) << failure->what();
    EXPECT_TRUE(is_free(keys[1]));
    const auto still = first_.inner()->use([&](connection& on, store_set& stores) {
        return stores.get<holder_store>().find_grant(on, keys[0], wanted.owner);
    });
    EXPECT_TRUE(still);
}

}  // namespace
}  // namespace leasehold::testing
