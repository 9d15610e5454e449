// A number of permits that changes: answers that are lost, and a key that changes again each time
// that it is asked for.
#include "leasehold/semaphore.hpp"

#include <atomic>
#include <functional>

#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class semaphore_test : public model_test {
protected:
    semaphore follower(session& whose) const {
        return {whose, name_, 2, {.min_poll = 1ms, .max_poll = 5ms, .follows_key = true}};
    }
};

TEST_F(semaphore_test, permits_are_set_whatever_becomes_of_the_answer) {
    session mine{faulty(), calm()};
    auto counted = follower(mine);
    std::int64_t wanted = 3;
    for (const fault how :
         {fault::lost_after_it,
          fault::lost_on_the_way,
          fault::lost_before_sending,
          fault::refused}) {
        ++wanted;
        plan_->fail_in_turn("resize", {how});
        counted.set_permits(wanted);
        EXPECT_EQ(row(name_)->capacity, wanted) << name_of(how);
        EXPECT_EQ(counted.free_permits(), wanted) << name_of(how);
    }
}

TEST_F(semaphore_test, where_permits_could_not_be_set_it_goes_by_what_it_knew) {
    session mine{faulty(), calm()};
    auto counted = follower(mine);
    counted.set_permits(3);
    plan_->fail_every("resize", fault::lost_after_it);
    const auto failure = thrown_by([&] { counted.set_permits(5); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    plan_->heal();
    EXPECT_EQ(counted.permits(), 3);
    auto all = counted.try_acquire(5);
    EXPECT_TRUE(all) << "it was done, and the key's number counts";
    EXPECT_EQ(counted.permits(), 5);
}

// No caller goes round for ever.
TEST_F(semaphore_test, a_number_that_changes_with_each_try_is_a_refusal_in_the_end) {
    session mine{faulty(), calm()};
    session other{sound(), calm()};
    auto counted = follower(mine), changing = follower(other);
    changing.set_permits(2);
    std::int64_t number = 2;
    int tries = 0;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire_hold") {
            changing.set_permits(++number);
            ++tries;
        }
        return std::nullopt;
    });
    EXPECT_FALSE(is_granted(counted.try_acquire()));
    EXPECT_EQ(tries, 8);
    plan_->heal();
    EXPECT_TRUE(counted.try_acquire());
    EXPECT_EQ(counted.permits(), number);
}

// ----------------------------------------------------------------------------- a term for permits

class permit_term_test : public semaphore_test {
protected:
    semaphore limited(session& whose, milliseconds term) const {
        return {whose, name_, 2, {.min_poll = 1ms, .max_poll = 5ms, .max_hold = term}};
    }
    bool is_anybody_there() {
        return model_.server().with_tables([](memory_tables& tables) {
            return !tables.holders.empty();
        });
    }
};

TEST_F(permit_term_test, who_is_told_has_a_margin_in_which_nobody_else_is_granted_them) {
    session mine{sound(), calm()};
    auto held = limited(mine, 1200ms).try_acquire(2);
    ASSERT_TRUE(held);
    const auto deadline = held->deadline();
    std::atomic<bool> were_there = false;
    std::atomic<bool> was_told = false;
    const std::stop_callback on_loss{held->lost(), [&] {
                                         were_there = is_anybody_there();
                                         was_told = true;
                                     }};
    EXPECT_LE(deadline, local_clock::now() + 1000ms) << "a sixth of the term is the margin";
    ASSERT_TRUE(eventually([&] { return was_told.load(); }));
    EXPECT_TRUE(were_there) << "they were given back before";
    ASSERT_TRUE(eventually([&] { return !is_anybody_there(); }));
    EXPECT_GE(local_clock::now(), deadline + 200ms);
    EXPECT_TRUE(mine.is_live());
}

TEST_F(permit_term_test, a_term_is_begun_anew_as_long_as_the_permits_are_held) {
    session mine{sound(), calm()};
    auto held = limited(mine, 30min).try_acquire();
    ASSERT_TRUE(held);
    const auto first = held->deadline();
    EXPECT_LT(first, mine.deadline());
    EXPECT_TRUE(held->extend(40min));
    EXPECT_GT(held->deadline(), first);
    EXPECT_TRUE(held->extend(1ms)) << "sooner, too";
    ASSERT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
    EXPECT_FALSE(held->extend(1h));
    ASSERT_TRUE(eventually([&] { return !is_anybody_there(); }));
    auto freed = limited(mine, 1h).try_acquire();
    ASSERT_TRUE(freed);
    EXPECT_TRUE(force_release(sound(), name_));
    EXPECT_FALSE(freed->extend(1h)) << "there was nothing left to extend";
    EXPECT_EQ(freed->why_lost(), loss_reason::taken_over);
    auto without = follower(mine).try_acquire();
    ASSERT_TRUE(without);
    const auto failure = thrown_by([&] { (void)without->extend(1h); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
}

TEST_F(permit_term_test, permits_end_with_their_session_whatever_their_term) {
    session other{sound(), calm()};
    std::optional<session> mine{std::in_place, sound(), calm()};
    auto held = limited(*mine, 1h).try_acquire(2);
    mine.reset();
    EXPECT_EQ(held->why_lost(), loss_reason::session_ended);
    EXPECT_TRUE(limited(other, 1h).try_acquire(2));
}

// Two leases whose terms end at once, and the holder of one is told before the other's.
class permit_terms_at_once : public permit_term_test {
protected:
    // The callback that is told first does `then`, before the other one is told.
    void end_both(session& within, const std::function<void(lease& other)>& then) {
        auto counted = limited(within, 30min);
        auto first = counted.try_acquire(), second = counted.try_acquire();
        ASSERT_TRUE(first && second);
        std::atomic<int> told = 0;
        const auto on_loss = [&](lease& other) {
            if (told++ == 0) then(other);
        };
        const std::stop_callback on_first{first->lost(), [&] { on_loss(*second); }};
        const std::stop_callback on_second{second->lost(), [&] { on_loss(*first); }};
        test_time::advance(31min);
        EXPECT_TRUE(eventually([&] { return told == 2; }));
    }
    std::size_t holders() {
        return model_.server().with_tables([](memory_tables& tables) {
            return tables.holders.size();
        });
    }
};

TEST_F(permit_terms_at_once, who_ends_the_session_when_told_frees_nothing_of_who_was_not) {
    session mine{sound(), calm()}, other{sound(), calm()};
    end_both(mine, [&](lease& untold) {
        mine.end();
        const bool was_granted = is_granted(limited(other, 30min).try_acquire(2));
        EXPECT_FALSE(untold.lost().stop_requested()) << "the test is about who was not told";
        EXPECT_FALSE(was_granted);
    });
}

TEST_F(permit_terms_at_once, who_takes_long_when_told_keeps_the_others_permits_from_going) {
    auto settings = eager();
    settings.ttl = 2h;
    session mine{sound(), settings};
    end_both(mine, [&](lease& untold) {
        const auto beat = row(mine.id())->heartbeat_at;
        // Nothing comes if this callback runs on the thread that returns the permits.
        static_cast<void>(eventually([&] { return row(mine.id())->heartbeat_at > beat + 100ms; }));
        EXPECT_FALSE(untold.lost().stop_requested()) << "the test is about who was not told";
        EXPECT_EQ(holders(), 2U);
    });
    EXPECT_TRUE(eventually([&] { return holders() == 0; }));
}

TEST_F(permit_term_test, a_term_that_cannot_be_is_refused) {
    session mine{sound(), calm()};
    for (const milliseconds term : {milliseconds{0}, milliseconds{-1}, milliseconds{367 * 24h}}) {
        const auto failure = thrown_by([&] { (void)limited(mine, term); });
        ASSERT_TRUE(failure) << term.count();
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace leasehold::testing
