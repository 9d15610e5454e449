// leasehold::semaphore: never more permits in use than there are, several at once or none, and
// those of the dead come back.
#include <atomic>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/holder_store.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class semaphore_suite : public suite {
protected:
    semaphore by(session& whose, std::int64_t permits) const {
        return {whose, name_, permits, {.min_poll = 1ms, .max_poll = 20ms}};
    }

    semaphore follower(session& whose, std::int64_t permits) const {
        return {whose, name_, permits, {.min_poll = 1ms, .max_poll = 20ms, .follows_key = true}};
    }

    session one_{first_, calm("one")};
    session two_{second_, calm("two")};
    const key name_ = fresh("k");
};

TEST_F(semaphore_suite, there_are_as_many_permits_as_it_has_and_no_more) {
    auto mine = by(one_, 3);
    auto other = by(two_, 3);
    auto a = mine.try_acquire();
    auto b = other.try_acquire(2);
    ASSERT_TRUE(a && b);
    EXPECT_GT(token_of(b), token_of(a));
    auto refused = mine.try_acquire();
    EXPECT_FALSE(refused);
    ASSERT_TRUE(refused.holder());
    EXPECT_EQ(refused.holder()->kind, lock_kind::semaphore);
    EXPECT_EQ(refused.holder()->owner, a->owner());
    EXPECT_EQ(refused.holder()->permits, 1);
    EXPECT_EQ(a->release(), release_outcome::released);
    EXPECT_FALSE(is_granted(mine.try_acquire(2))) << "all at once or none";
    auto c = other.try_acquire();
    EXPECT_TRUE(c) << "the refused try took none of them";
    EXPECT_EQ(describe(first_, name_)->holders, 2);
}

TEST_F(semaphore_suite, a_crashed_holders_permits_come_back_and_no_others) {
    session dead{first_, calm("dead")};
    auto lost = by(dead, 5).try_acquire(3);
    auto kept = by(one_, 5).try_acquire(1);
    auto mine = by(two_, 5);
    EXPECT_FALSE(is_granted(mine.try_acquire(2)));
    expire(dead);
    EXPECT_FALSE(is_granted(mine.try_acquire(5))) << "one of them is held";
    auto got = mine.try_acquire(4);
    ASSERT_TRUE(got);
    EXPECT_FALSE(lost->verify());
    EXPECT_EQ(lost->release(), release_outcome::not_held);
    EXPECT_TRUE(kept->verify());
    EXPECT_FALSE(is_granted(mine.try_acquire()));
}

// More than one statement asks about.
TEST_F(semaphore_suite, each_of_many_holds_is_answered_for_in_its_place) {
    constexpr std::size_t count = 300;
    session dead{first_, calm("dead")};
    std::vector<hold> held;
    std::vector<holder_id> places;
    first_.inner()->use([&](connection& on, store_set& stores) {
        for (std::size_t each = 0; each < count; ++each) {
            // A third of them is there and live, a third of the dead, a third was never granted.
            const session& whose = each % 3 == 0 ? one_ : dead;
            const owner_id owner = owner_id::random();
            hold what{name_, owner, {}, lock_kind::semaphore};
            if (each % 3 < 2) {
                const auto got = stores.get<holder_store>().try_acquire(
                    on,
                    {name_, owner, whose.id(), "n", what.kind, hold_mode::shared, 1, count, 0, {}}
                );
                ASSERT_EQ(got.status, holder_status::granted);
                what.token = got.token;
            }
            held.push_back(what);
            places.push_back({name_, owner});
        }
    });
    expire(dead);
    first_.inner()->use([&](connection& on, store_set& stores) {
        const auto answers = stores.get<holder_store>().which_are_held(on, held);
        const auto seen = stores.get<holder_store>().look(on, places);
        ASSERT_EQ(answers.size(), count);
        ASSERT_EQ(seen.size(), count);
        for (std::size_t each = 0; each < count; ++each) {
            EXPECT_EQ(answers[each], each % 3 == 0) << each;
            EXPECT_EQ(seen[each].has_value(), each % 3 < 2) << each << ": of the dead, too";
            const auto token = seen[each] ? seen[each]->token : fencing_token{};
            EXPECT_EQ(token, held[each].token) << each;
        }
        hold other = held.front();
        ++other.token.number;
        EXPECT_EQ(
            stores.get<holder_store>().which_are_held(on, {other, held.front()}),
            (std::vector<bool>{false, true})
        ) << "under another token";
        EXPECT_TRUE(stores.get<holder_store>().look(on, {}).empty());
        EXPECT_TRUE(stores.get<holder_store>().which_are_held(on, {}).empty());
    });
}

TEST_F(semaphore_suite, who_waits_gets_permits_when_they_come_free) {
    auto held = by(one_, 2).try_acquire(2);
    thread releaser{[&] { held->release(); }};
    auto got = by(two_, 2).acquire_for(20s, 2);
    EXPECT_TRUE(got);
    EXPECT_FALSE(is_granted(by(one_, 2).acquire_for(30ms)));
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(is_granted(by(one_, 2).acquire(1, cancel.get_token())));
}

TEST_F(semaphore_suite, a_proof_of_permits_keeps_them_and_disturbs_nobody) {
    auto a = by(one_, 3).try_acquire(2);
    transaction tx = first_.begin();
    a->verify_in(tx);
    EXPECT_FALSE(is_granted(by(two_, 3).try_acquire(2))) << "and does not wait";
    if (current().has_concurrent_writers) {
        auto b = by(two_, 3).try_acquire(1);
        EXPECT_TRUE(b);
    }
    tx.commit();
}

TEST_F(semaphore_suite, numbers_that_can_never_be_granted_are_refused) {
    const auto code_of = [](auto&& run) {
        const auto failure = thrown_by(run);
        return failure ? failure->code() : errc{};
    };
    for (const std::int64_t permits :
         {std::int64_t{0}, std::int64_t{-1}, semaphore::max_permits + 1}) {
        EXPECT_EQ(code_of([&] { by(one_, permits); }), errc::invalid_argument) << permits;
    }
    const auto refused = thrown_by([&] { semaphore{one_, name_, ~std::uint64_t{0}}; });
    ASSERT_TRUE(refused);
    const std::string_view said = refused->what();
    EXPECT_NE(said.find("9223372036854775807 permits"), std::string_view::npos) << said;
    auto three = by(one_, 3);
    for (const std::int64_t wanted : {0, -1, 4}) {
        EXPECT_EQ(code_of([&] { (void)three.try_acquire(wanted); }), errc::invalid_argument);
        EXPECT_EQ(code_of([&] { (void)three.acquire(wanted); }), errc::invalid_argument);
    }
    EXPECT_FALSE(describe(first_, name_)) << "nothing was sent";
}

TEST_F(semaphore_suite, two_programs_that_disagree_about_its_size_are_told_both_numbers) {
    auto held = by(one_, 3).try_acquire();
    const auto failure = thrown_by([&] { (void)by(two_, 5).try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    const std::string said = failure->what();
    EXPECT_NE(said.find("of 3 permits"), std::string::npos) << said;
    EXPECT_NE(said.find("of 5 permits"), std::string::npos) << said;
    EXPECT_TRUE(held->verify());
    held->release();
    auto other = by(two_, 5).try_acquire(5);
    EXPECT_TRUE(other) << "nobody holds any: it may change";
}

TEST_F(semaphore_suite, others_that_want_its_key_are_told_both_kinds) {
    auto held = by(one_, 3).try_acquire();
    ASSERT_TRUE(held);
    const std::string own = "'" + name_.name() + "' is in use as a semaphore";
    const auto names_both = [&](const char* other, const auto& ask) {
        const auto failure = thrown_by(ask);
        ASSERT_TRUE(failure) << other;
        EXPECT_EQ(failure->code(), errc::invalid_argument) << other;
        const std::string said = failure->what();
        EXPECT_NE(said.find(own), std::string::npos) << said;
        EXPECT_NE(said.find(other), std::string::npos) << said;
    };
    const key free = fresh("free");
    names_both("be a mutex", [&] { (void)mutex(two_, name_).try_acquire(); });
    names_both("be a mutex", [&] { (void)mutex(two_, name_).acquire_for(20s); });
    names_both("be a mutex", [&] { (void)multi_lock(two_, {free, name_}).try_acquire(); });
    names_both("be a mutex", [&] { (void)multi_lock(two_, {free, name_}).acquire_for(20s); });
    once task{two_, name_, schedule::every(24h)};
    names_both("be a mutex", [&] { (void)task.try_start(); });
    names_both("a shared mutex", [&] { (void)shared_mutex(two_, name_).try_acquire_shared(); });
    const auto seen = describe(first_, free);
    EXPECT_FALSE(seen && seen->is_held) << "all of a set or none";
    EXPECT_TRUE(held->verify());
}

TEST_F(semaphore_suite, a_size_that_only_the_dead_remember_may_change) {
    session dead{first_, calm("dead")};
    auto lost = by(dead, 3).try_acquire(3);
    expire(dead);
    auto got = by(one_, 2).try_acquire(2);
    EXPECT_TRUE(got);
}

TEST_F(semaphore_suite, a_part_of_the_permits_is_given_back) {
    auto mine = by(one_, 5), other = by(two_, 5);
    EXPECT_EQ(other.free_permits(), 5);
    auto held = mine.try_acquire(4);
    ASSERT_TRUE(held);
    const auto token = held->token();
    EXPECT_EQ(other.free_permits(), 1);
    EXPECT_FALSE(is_granted(other.try_acquire(3)));
    mine.shrink_to(*held, 2);
    EXPECT_EQ(mine.free_permits(), 3);
    EXPECT_EQ(held->token(), token);
    EXPECT_TRUE(held->verify());
    auto rest = other.try_acquire(3);
    ASSERT_TRUE(rest);
    EXPECT_FALSE(is_granted(mine.try_acquire()));
    mine.shrink_to(*held, 2);
    EXPECT_EQ(mine.free_permits(), 0);
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_EQ(mine.free_permits(), 2);
}

TEST_F(semaphore_suite, what_was_given_back_is_not_taken_back) {
    auto mine = by(one_, 5);
    auto held = mine.try_acquire(4);
    ASSERT_TRUE(held);
    mine.shrink_to(*held, 2);
    for (const std::int64_t permits : {3, 4, 0, -1}) {
        const auto failure = thrown_by([&] { mine.shrink_to(*held, permits); });
        ASSERT_TRUE(failure) << permits;
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
    EXPECT_EQ(mine.free_permits(), 3);
    auto alone = mutex{one_, fresh("m")}.try_acquire();
    const auto other_kind = thrown_by([&] { mine.shrink_to(*alone, 1); });
    ASSERT_TRUE(other_kind);
    EXPECT_EQ(other_kind->code(), errc::invalid_argument);
    auto other = by(two_, 5);
    const auto of_another = thrown_by([&] { other.shrink_to(*held, 1); });
    ASSERT_TRUE(of_another);
    EXPECT_EQ(of_another->code(), errc::invalid_argument);
}

TEST_F(semaphore_suite, who_was_freed_by_force_keeps_nothing) {
    auto mine = by(one_, 5);
    auto held = mine.try_acquire(4);
    ASSERT_TRUE(held);
    EXPECT_TRUE(force_release(second_, name_));
    auto next = by(two_, 5).try_acquire(5);
    ASSERT_TRUE(next);
    const auto failure = thrown_by([&] { mine.shrink_to(*held, 1); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(mine.free_permits(), 0);
}

// All contenders count the permits in use, whatever number of permits they remember.
TEST_F(semaphore_suite, permits_are_added_and_taken_away_while_it_is_in_use) {
    auto mine = follower(one_, 2), other = follower(two_, 2);
    auto both = mine.try_acquire(2);
    ASSERT_TRUE(both);
    EXPECT_FALSE(is_granted(other.try_acquire()));
    mine.set_permits(5);
    EXPECT_EQ(mine.permits(), 5);
    auto more = other.try_acquire(3);
    ASSERT_TRUE(more) << "asked for by who had not seen the change";
    EXPECT_EQ(other.permits(), 5);
    EXPECT_FALSE(is_granted(mine.try_acquire()));
    other.set_permits(3);
    EXPECT_TRUE(both->verify()) << "nobody loses any";
    EXPECT_TRUE(more->verify());
    EXPECT_EQ(mine.free_permits(), 0);
    both->release();
    EXPECT_EQ(mine.free_permits(), 0);
    EXPECT_FALSE(is_granted(mine.try_acquire())) << "three are in use of three";
    EXPECT_EQ(mine.permits(), 3);
    other.shrink_to(*more, 1);
    EXPECT_EQ(mine.free_permits(), 2);
    EXPECT_TRUE(mine.try_acquire(2));
}

TEST_F(semaphore_suite, the_number_of_the_key_stays_when_nobody_uses_it) {
    auto mine = follower(one_, 2);
    mine.set_permits(4);
    EXPECT_EQ(mine.free_permits(), 4) << "a key that was never used";
    EXPECT_EQ(describe(first_, name_)->holders, 0);
    auto late = follower(two_, 2);
    auto all = late.try_acquire(4);
    ASSERT_TRUE(all) << "more than it was told there are";
    all->release();
    mine.set_permits(3);
    const auto failure = thrown_by([&] { (void)late.acquire_for(20s, 4); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    const std::string said = failure->what();
    EXPECT_NE(said.find("it has 3, ask for 1 to 3"), std::string::npos) << said;
    for (const std::int64_t permits :
         {std::int64_t{0}, std::int64_t{-1}, semaphore::max_permits + 1}) {
        const auto refused = thrown_by([&] { mine.set_permits(permits); });
        ASSERT_TRUE(refused) << permits;
        EXPECT_EQ(refused->code(), errc::invalid_argument) << permits;
    }
    EXPECT_EQ(late.free_permits(), 3);
}

TEST_F(semaphore_suite, who_does_not_follow_is_told_both_numbers_and_sets_its_own_when_it_is_idle) {
    auto follows = follower(one_, 2);
    auto held = follows.try_acquire();
    ASSERT_TRUE(held);
    follows.set_permits(5);
    const auto failure = thrown_by([&] { (void)by(two_, 2).try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    const std::string said = failure->what();
    EXPECT_NE(said.find("of 5 permits"), std::string::npos) << said;
    EXPECT_NE(said.find("of 2 permits"), std::string::npos) << said;
    held->release();
    EXPECT_TRUE(by(two_, 2).try_acquire(2));
    EXPECT_EQ(follows.free_permits(), 2);
    auto plain = by(two_, 2);
    plain.set_permits(4);
    EXPECT_EQ(plain.permits(), 4);
    EXPECT_TRUE(plain.try_acquire(4)) << "it goes by what it has set itself";
}

TEST_F(semaphore_suite, who_waits_gets_what_is_added) {
    auto mine = follower(one_, 1), other = follower(two_, 1);
    auto held = mine.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<bool> has_got = false;
    thread waiter{[&] { has_got = is_granted(other.acquire_for(20s)); }};
    mine.set_permits(2);
    waiter.join();
    EXPECT_TRUE(has_got);
}

TEST_F(semaphore_suite, permits_of_a_key_of_another_kind_are_not_set) {
    auto alone = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(alone);
    const auto failure = thrown_by([&] { follower(two_, 2).set_permits(3); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_NE(std::string(failure->what()).find("in use as a mutex"), std::string::npos);
    alone->release();
    auto two = follower(two_, 2);
    two.set_permits(3);
    EXPECT_EQ(two.free_permits(), 3) << "once it is free it may be";
    EXPECT_TRUE(mutex(one_, name_).try_acquire());
}

TEST_F(semaphore_suite, permits_with_a_term_come_back_and_their_holder_is_told_first) {
    semaphore limited{one_, name_, 2, {.min_poll = 1ms, .max_poll = 20ms, .max_hold = 300ms}};
    auto forgotten = limited.try_acquire(2);
    ASSERT_TRUE(forgotten);
    std::atomic<bool> was_told = false;
    const std::stop_callback on_loss{forgotten->lost(), [&] { was_told = true; }};
    auto next = by(two_, 2).acquire_for(20s, 2);
    ASSERT_TRUE(next);
    EXPECT_TRUE(was_told);
    EXPECT_EQ(forgotten->why_lost(), loss_reason::expired);
    EXPECT_FALSE(forgotten->verify());
    EXPECT_EQ(forgotten->release(), release_outcome::not_held);
    EXPECT_TRUE(next->verify());
    EXPECT_TRUE(one_.is_live());
}

// A contender that counted on the former number asks again: never more than the greatest of them.
TEST_F(semaphore_suite, contenders_never_have_more_than_the_number_that_changes) {
    constexpr int contenders = 4, rounds = 12;
    constexpr std::int64_t most = 4;
    std::atomic<std::int64_t> in_use = 0;
    std::vector<thread> threads;
    follower(one_, 2).set_permits(2);
    for (int number = 0; number < contenders; ++number) {
        threads.emplace_back([&, number] {
            database own = current().open({});
            session mine{own, calm("contender")};
            auto counted = follower(mine, 2);
            for (int round = 0; round < rounds; ++round) {
                if (round % 3 == 0) counted.set_permits(2 + (number + round) % (most - 1));
                const std::int64_t wanted = 1 + (number + round) % 2;
                auto got = counted.acquire(wanted);
                EXPECT_LE(in_use += wanted, most);
                std::this_thread::yield();
                in_use -= wanted;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(in_use, 0);
    auto last = follower(one_, 2);
    last.set_permits(3);
    auto all = last.try_acquire(3);
    EXPECT_TRUE(all) << "all came back";
    EXPECT_FALSE(is_granted(last.try_acquire()));
}

TEST_F(semaphore_suite, contenders_never_have_more_than_there_are_at_once) {
    constexpr int contenders = 6, rounds = 12;
    constexpr std::int64_t permits = 4;
    std::atomic<std::int64_t> in_use = 0;
    std::vector<thread> threads;
    for (int number = 0; number < contenders; ++number) {
        threads.emplace_back([&, number] {
            database own = current().open({});
            session mine{own, calm("contender")};
            auto counted = by(mine, permits);
            for (int round = 0; round < rounds; ++round) {
                const std::int64_t wanted = 1 + (number + round) % 3;
                auto got = counted.acquire(wanted);
                EXPECT_LE(in_use += wanted, permits);
                std::this_thread::yield();
                in_use -= wanted;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(in_use, 0);
    EXPECT_TRUE(by(one_, permits).try_acquire(permits)) << "all came back";
}

}  // namespace
}  // namespace leasehold::testing
