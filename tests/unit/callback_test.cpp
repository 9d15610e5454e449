// A callback that is told of a loss may release, destroy, end, and try again.
#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "leasehold/leader_election.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_lockable.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using callback_test = model_test;

TEST_F(callback_test, a_callback_may_release_and_destroy_leases) {
    session mine{faulty(), eager()};
    std::optional<acquisition> one = mutex{mine, "one"}.try_acquire();
    std::optional<acquisition> two = mutex{mine, "two"}.try_acquire();
    std::atomic<int> told = 0;
    const std::stop_token first = (*one)->lost();
    const std::stop_token second = (*two)->lost();
    const auto drop_both = [&] {
        (*one)->release();
        (*two)->release();
        ++told;
    };
    {
        const std::stop_callback on_first{first, drop_both};
        const std::stop_callback on_second{second, drop_both};
        model_.age_session(mine.id(), 1h);
        EXPECT_TRUE(eventually([&] { return told == 2; }));
    }
    EXPECT_EQ((*one)->why_lost(), loss_reason::released) << "the second loss changes nothing";
}

TEST_F(callback_test, a_callback_may_destroy_its_own_lease) {
    session mine{faulty(), eager()};
    std::optional<acquisition> held = mutex{mine, name_}.try_acquire();
    std::atomic<bool> told = false;
    const std::stop_callback on_loss{(*held)->lost(), [&] {
                                         held.reset();
                                         told = true;
                                     }};
    ASSERT_TRUE(force_release(sound(), name_));
    EXPECT_TRUE(eventually([&] { return told.load(); }));
}

TEST_F(callback_test, a_callback_may_end_its_session) {
    session mine{faulty(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    std::atomic<bool> told = false;
    const std::stop_callback on_loss{mine.lost(), [&] {
                                         mine.end();
                                         told = true;
                                     }};
    model_.age_session(mine.id(), 1h);
    EXPECT_TRUE(eventually([&] { return told.load(); }));
}

// Both threads of a session can be the one that tells; either may find itself giving up the last
// reference.
class last_reference : public model_test, public ::testing::WithParamInterface<bool> {};
TEST_P(last_reference, may_be_given_up_by_a_callback) {
    const bool by_heartbeat = GetParam();
    auto mine = std::make_unique<session>(faulty(), by_heartbeat ? eager() : brief());
    const auto id = mine->id();
    std::atomic<bool> told = false;
    const std::stop_token lost = mine->lost();
    const std::stop_callback on_loss{lost, [&] {
                                         mine.reset();
                                         told = true;
                                     }};
    if (by_heartbeat) {
        model_.age_session(id, 1h);
    } else {
        plan_->fail_every("heartbeat", fault::hangs);
    }
    EXPECT_TRUE(eventually([&] { return told.load() || plan_->strikes() > 0; }));
    if (!by_heartbeat) {
        EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
        plan_->let_go();  // ending waits for the heartbeat under way
    }
    EXPECT_TRUE(eventually([&] { return told.load(); }));
}
INSTANTIATE_TEST_SUITE_P(callback_test, last_reference, ::testing::Bool());

TEST_F(callback_test, a_callback_may_destroy_the_session_that_its_owner_ends) {
    auto mine = std::make_unique<session>(faulty(), calm());
    const auto held = mutex{*mine, name_}.try_acquire();
    std::vector<bool> told;
    const std::stop_callback on_end{mine->lost(), [&] {
                                        told.push_back(held->lost().stop_requested());
                                        mine.reset();
                                    }};
    mine->end();
    EXPECT_EQ(told, std::vector{true}) << "the lease is told first";
}

// lost() means the same for each kind: what it was asked of protects nothing any more.
TEST_F(callback_test, lost_fires_for_each_kind_that_its_owner_gives_back) {
    session mine{faulty(), calm()};
    auto one = mutex{mine, "one"}.try_acquire();
    auto permit = semaphore{mine, "permit", 2}.try_acquire();
    auto both = multi_lock{mine, {key{"a"}, key{"b"}}}.try_acquire();
    auto leading = leader_election{mine, "office"}.try_campaign();
    auto run = once{mine, "nightly", schedule::every(300h)}.try_start();
    ASSERT_TRUE(one && permit && both && leading && run);
    const std::array told{
        one->lost(), permit->lost(), both->lost(), leading->lost(), run->lost(), mine.lost()};
    EXPECT_TRUE(std::ranges::none_of(told, &std::stop_token::stop_requested));
    one->release();
    permit->release();
    both->release();
    leading->resign();
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    mine.end();
    EXPECT_TRUE(std::ranges::all_of(told, &std::stop_token::stop_requested));
}

// A level found lost by one call is told to all, who may release theirs while that call goes on.
TEST_F(callback_test, a_callback_may_release_other_levels_of_a_recursive_hold) {
    session mine{faulty(), calm()};
    mutex closing{mine, name_, {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    ASSERT_TRUE(outer && inner);
    std::atomic<int> told = 0;
    const std::stop_callback on_loss{outer->lost(), [&] {
                                         outer->release();
                                         (void)closing.try_acquire();
                                         ++told;
                                     }};
    ASSERT_TRUE(force_release(sound(), name_));
    (void)closing.try_acquire();  // finds out by re-entering
    EXPECT_EQ(told, 1);
    EXPECT_EQ(inner->why_lost(), loss_reason::taken_over);
}

TEST_F(callback_test, releasing_one_level_that_is_lost_tells_the_others) {
    session mine{faulty(), calm()};
    mutex closing{mine, name_, {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    std::atomic<int> told = 0;
    const std::stop_callback on_loss{outer->lost(), [&] {
                                         outer->release();
                                         ++told;
                                     }};
    ASSERT_TRUE(force_release(sound(), name_));
    EXPECT_EQ(inner->release(), release_outcome::not_held);
    EXPECT_EQ(told, 1);
}

// ------------------------------------------------- told by the call of the lease that is destroyed

TEST_F(callback_test, a_lease_may_be_destroyed_by_who_is_told_of_its_release) {
    session mine{faulty(), calm()};
    std::optional<acquisition> held = mutex{mine, name_}.try_acquire();
    {
        const std::stop_callback on_loss{(*held)->lost(), [&] { held.reset(); }};
        EXPECT_EQ((*held)->release(), release_outcome::released);
    }
    EXPECT_FALSE(held);
    EXPECT_FALSE(model_.is_held(name_));
}

TEST_F(callback_test, a_lease_may_be_destroyed_by_who_is_told_by_its_proof) {
    session mine{faulty(), calm()};
    std::optional<acquisition> held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(force_release(sound(), name_));
    {
        const std::stop_callback on_loss{(*held)->lost(), [&] { held.reset(); }};
        EXPECT_FALSE((*held)->verify());
    }
    EXPECT_FALSE(held);
    held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(force_release(sound(), name_));
    transaction tx = sound().begin();
    {
        const std::stop_callback on_loss{(*held)->lost(), [&] { held.reset(); }};
        EXPECT_TRUE(thrown_by([&] { (*held)->verify_in(tx); }));
    }
    EXPECT_FALSE(held);
}

TEST_F(callback_test, a_lease_of_several_keys_may_be_destroyed_in_the_same_ways) {
    session mine{faulty(), calm()};
    multi_lock both{mine, {"a", "b"}};
    std::optional<multi_acquisition> held = both.try_acquire();
    {
        const std::stop_callback on_loss{(*held)->lost(), [&] { held.reset(); }};
        EXPECT_EQ((*held)->release(), release_outcome::released);
    }
    EXPECT_FALSE(held);
    held = both.try_acquire();
    ASSERT_TRUE(*held);
    ASSERT_TRUE(force_release(sound(), "a"));
    {
        const std::stop_callback on_loss{(*held)->lost(), [&] { held.reset(); }};
        EXPECT_FALSE((*held)->verify());
    }
    EXPECT_FALSE(held);
}

// ------------------------------------------------------------------------------- lockable objects

template <class Lockable>
class with_lease_test : public model_test {};
using lockables = ::testing::Types<lockable_mutex, lockable_shared_mutex>;
TYPED_TEST_SUITE(with_lease_test, lockables);

// A function that proves the lease may be told that it is lost, and asks and unlocks.
TYPED_TEST(with_lease_test, asks_and_unlocks_the_same_object) {
    session mine{this->sound(), calm()};
    TypeParam guarded{mine, "k"};
    guarded.lock();
    guarded.with_lease([&](lease& held) {
        EXPECT_TRUE(guarded.held_locally());
        EXPECT_FALSE(guarded.lost().stop_requested());
        guarded.unlock();
        EXPECT_FALSE(guarded.held_locally());
        EXPECT_FALSE(held.held_locally());
        EXPECT_EQ(held.why_lost(), loss_reason::released);
        EXPECT_FALSE(this->model_.is_held(key{"k"})) << "released at once";
    });
    EXPECT_EQ(thrown_by([&] { guarded.with_lease([](lease&) {}); })->code(), errc::lease_lost);
}

TYPED_TEST(with_lease_test, waits_for_any_time) {
    session mine{this->sound(), calm()}, other{this->sound(), calm("other")};
    TypeParam guarded{mine, "k"}, busy{other, "k"};
    ASSERT_TRUE(guarded.try_lock_for(std::chrono::hours::max()));
    EXPECT_FALSE(busy.try_lock_until(local_clock::time_point::min()));
    EXPECT_FALSE(busy.try_lock_for(std::chrono::hours::min()));
    guarded.unlock();
    ASSERT_TRUE(busy.try_lock_until(std::chrono::system_clock::time_point::max()));
    busy.unlock();
}

// As of the standard's types: each lock has its unlock.
TEST_F(callback_test, a_recursive_lockable_is_locked_until_the_last_unlock) {
    session mine{sound(), calm()};
    lockable_mutex guarded{mine, "k", {.recursive = true}};
    guarded.lock();
    guarded.lock();
    guarded.unlock();
    EXPECT_TRUE(guarded.held_locally());
    EXPECT_TRUE(model_.is_held(key{"k"}));
    guarded.unlock();
    EXPECT_FALSE(guarded.held_locally());
    EXPECT_FALSE(model_.is_held(key{"k"}));
    guarded.unlock();
    EXPECT_FALSE(guarded.held_locally()) << "nothing is locked";
}

// A thread whose lease was lost does not give back that of another thread.
TEST_F(callback_test, an_unlock_gives_back_the_hold_of_its_own_thread) {
    session mine{sound(), calm()};
    lockable_mutex guarded{mine, "k"};
    guarded.lock();
    ASSERT_TRUE(force_release(sound(), "k"));
    std::promise<void> is_locked, may_unlock;
    thread other{[&] {
        guarded.lock();
        is_locked.set_value();
        may_unlock.get_future().wait();
        EXPECT_TRUE(guarded.held_locally());
        guarded.unlock();
    }};
    is_locked.get_future().wait();
    EXPECT_TRUE(model_.is_held(key{"k"}));
    guarded.unlock();
    EXPECT_TRUE(model_.is_held(key{"k"})) << "the other thread has it";
    may_unlock.set_value();
    other.join();
    EXPECT_FALSE(model_.is_held(key{"k"}));
}

TEST_F(callback_test, readers_that_share_a_lockable_keep_writers_out_until_the_last_has_left) {
    session mine{sound(), calm()}, other{sound(), calm("other")};
    lockable_shared_mutex prices{mine, "k"}, theirs{other, "k"};
    std::shared_lock first{prices}, second{prices};
    second.unlock();
    EXPECT_TRUE(prices.held_locally());
    EXPECT_FALSE(theirs.try_lock()) << "the first still reads";
    first.unlock();
    EXPECT_TRUE(theirs.try_lock());
    theirs.unlock();
}

}  // namespace
}  // namespace leasehold::testing
