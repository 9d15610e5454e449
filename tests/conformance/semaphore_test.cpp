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
#include "store/holder_store.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class semaphore_suite : public suite {
protected:
    semaphore by(session& whose, std::int64_t permits) const {
        return {whose, name_, permits, {.poll_min = 1ms, .poll_max = 20ms}};
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
    EXPECT_FALSE(mine.try_acquire(2)) << "all at once or none";
    auto c = other.try_acquire();
    EXPECT_TRUE(c) << "the refused try took none of them";
    EXPECT_EQ(describe(first_, name_)->holders, 2);
}

TEST_F(semaphore_suite, a_crashed_holders_permits_come_back_and_no_others) {
    session dead{first_, calm("dead")};
    auto lost = by(dead, 5).try_acquire(3);
    auto kept = by(one_, 5).try_acquire(1);
    auto mine = by(two_, 5);
    EXPECT_FALSE(mine.try_acquire(2));
    expire(dead);
    EXPECT_FALSE(mine.try_acquire(5)) << "one of them is held";
    auto got = mine.try_acquire(4);
    ASSERT_TRUE(got);
    EXPECT_FALSE(lost->verify());
    EXPECT_EQ(lost->release(), release_outcome::not_held);
    EXPECT_TRUE(kept->verify());
    EXPECT_FALSE(mine.try_acquire());
}

// More than one statement asks about.
TEST_F(semaphore_suite, each_of_many_holds_is_answered_for_in_its_place) {
    constexpr std::size_t count = 300;
    session dead{first_, calm("dead")};
    std::vector<hold> held;
    std::vector<holder_id> places;
    first_.inner()->use([&](connection& on, store& stores) {
        for (std::size_t each = 0; each < count; ++each) {
            // A third of them is there and live, a third of the dead, a third was never granted.
            const session& whose = each % 3 == 0 ? one_ : dead;
            const owner_id owner = owner_id::random();
            hold what{name_, owner, {}, lock_kind::semaphore};
            if (each % 3 < 2) {
                const auto got = stores.holders->try_acquire(
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
    first_.inner()->use([&](connection& on, store& stores) {
        const auto answers = stores.holders->which_are_held(on, held);
        const auto seen = stores.holders->look(on, places);
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
            stores.holders->which_are_held(on, {other, held.front()}),
            (std::vector<bool>{false, true})
        ) << "under another token";
        EXPECT_TRUE(stores.holders->look(on, {}).empty());
        EXPECT_TRUE(stores.holders->which_are_held(on, {}).empty());
    });
}

TEST_F(semaphore_suite, who_waits_gets_permits_when_they_come_free) {
    auto held = by(one_, 2).try_acquire(2);
    thread releaser{[&] { held->release(); }};
    auto got = by(two_, 2).acquire_for(20s, 2);
    EXPECT_TRUE(got);
    EXPECT_FALSE(by(one_, 2).acquire_for(30ms));
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(by(one_, 2).acquire(1, cancel.get_token()));
}

TEST_F(semaphore_suite, a_proof_of_permits_keeps_them_and_disturbs_nobody) {
    auto a = by(one_, 3).try_acquire(2);
    transaction tx = first_.begin();
    a->verify_in(tx);
    EXPECT_FALSE(by(two_, 3).try_acquire(2)) << "and does not wait";
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
         {std::int64_t{0}, std::int64_t{-1}, semaphore::permits_max + 1}) {
        EXPECT_EQ(code_of([&] { by(one_, permits); }), errc::invalid_argument) << permits;
    }
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
    EXPECT_FALSE(other.try_acquire(3));
    mine.keep(*held, 2);
    EXPECT_EQ(mine.free_permits(), 3);
    EXPECT_EQ(held->token(), token);
    EXPECT_TRUE(held->verify());
    auto rest = other.try_acquire(3);
    ASSERT_TRUE(rest);
    EXPECT_FALSE(mine.try_acquire());
    mine.keep(*held, 2);
    EXPECT_EQ(mine.free_permits(), 0);
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_EQ(mine.free_permits(), 2);
}

TEST_F(semaphore_suite, what_was_given_back_is_not_taken_back) {
    auto mine = by(one_, 5);
    auto held = mine.try_acquire(4);
    ASSERT_TRUE(held);
    mine.keep(*held, 2);
    for (const std::int64_t permits : {3, 4, 0, -1}) {
        const auto failure = thrown_by([&] { mine.keep(*held, permits); });
        ASSERT_TRUE(failure) << permits;
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
    EXPECT_EQ(mine.free_permits(), 3);
    auto alone = mutex{one_, fresh("m")}.try_acquire();
    const auto other_kind = thrown_by([&] { mine.keep(*alone, 1); });
    ASSERT_TRUE(other_kind);
    EXPECT_EQ(other_kind->code(), errc::invalid_argument);
    auto other = by(two_, 5);
    const auto of_another = thrown_by([&] { other.keep(*held, 1); });
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
    const auto failure = thrown_by([&] { mine.keep(*held, 1); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(mine.free_permits(), 0);
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
