// leasehold::latch: a participant that has arrived counts, one that died does not.
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class latch_suite : public suite {
protected:
    latch by(session& whose, std::int64_t count) const {
        return {whose, name_, count, {.min_poll = 1ms, .max_poll = 20ms}};
    }

    session one_{first_, calm("one")};
    session two_{second_, calm("two")};
    const key name_ = fresh("k");
};

TEST_F(latch_suite, it_opens_when_all_have_arrived_and_stays_open) {
    auto mine = by(one_, 2);
    auto other = by(two_, 2);
    EXPECT_FALSE(mine.tally().is_open);
    auto a = mine.try_join();
    auto b = other.try_join();
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(is_granted(other.try_join())) << "all places are taken";
    EXPECT_EQ(mine.tally().present, 2);
    mine.arrive(std::move(*a));
    EXPECT_TRUE(a->lost().stop_requested());
    EXPECT_EQ(mine.tally().arrived, 1);
    EXPECT_EQ(mine.tally().present, 1);
    EXPECT_FALSE(is_granted(mine.try_join())) << "one arrived, one is on its way";
    EXPECT_FALSE(mine.wait_for(30ms).is_open);
    thread waiter{[&] { EXPECT_TRUE(mine.wait_for(20s).is_open); }};
    other.arrive(std::move(*b));
    waiter.join();
    EXPECT_TRUE(other.wait().is_open);
    EXPECT_FALSE(is_granted(other.try_join()));
}

TEST_F(latch_suite, an_arrival_counts_once_and_only_where_the_place_is_held) {
    auto mine = by(one_, 3);
    auto place = mine.try_join();
    mine.arrive(std::move(*place));
    auto failure = thrown_by([&] { mine.arrive(std::move(*place)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
    auto given_back = mine.try_join();
    EXPECT_EQ(given_back->release(), release_outcome::released);
    EXPECT_TRUE(thrown_by([&] { mine.arrive(std::move(*given_back)); }));
    auto foreign = mutex{one_, fresh("m")}.try_acquire();
    failure = thrown_by([&] { mine.arrive(std::move(*foreign)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_EQ(mine.tally().arrived, 1);
}

TEST_F(latch_suite, a_participant_that_dies_before_it_arrives_does_not_count) {
    session dead{first_, calm("dead")};
    auto its = by(dead, 2);
    auto arrived = its.try_join();
    its.arrive(std::move(*arrived));
    auto place = its.try_join();
    ASSERT_TRUE(place);
    auto mine = by(one_, 2);
    EXPECT_FALSE(is_granted(mine.try_join()));
    expire(dead);
    EXPECT_EQ(mine.tally().present, 0) << "those who wait can see it";
    EXPECT_EQ(mine.tally().arrived, 1) << "what it did before stays done";
    EXPECT_FALSE(mine.wait_for(20ms).is_open);
    auto instead = mine.try_join();
    ASSERT_TRUE(instead) << "its place is free";
    const auto failure = thrown_by([&] { its.arrive(std::move(*place)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
    mine.arrive(std::move(*instead));
    EXPECT_TRUE(mine.tally().is_open);
}

TEST_F(latch_suite, arrivals_outlive_sessions_and_end_by_force) {
    {
        session gone{first_, calm("gone")};
        auto its = by(gone, 2);
        auto place = its.try_join();
        its.arrive(std::move(*place));
    }
    reap(second_);
    auto mine = by(one_, 2);
    EXPECT_EQ(mine.tally().arrived, 1);
    const auto failure = thrown_by([&] { (void)by(one_, 5).try_join(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_TRUE(thrown_by([&] { (void)by(one_, 5).tally(); }));
    EXPECT_TRUE(thrown_by([&] { (void)semaphore(one_, name_, 2).try_acquire(); }));
    force_release(second_, name_);
    EXPECT_EQ(mine.tally().arrived, 0);
    auto permit = semaphore{one_, name_, 2}.try_acquire();
    EXPECT_TRUE(permit);
}

TEST_F(latch_suite, an_arrival_keeps_an_old_latch_from_clean_up) {
    auto mine = by(one_, 2);
    auto place = mine.try_join();
    current().age_lock(name_, 240h);
    mine.arrive(std::move(*place));
    reap(second_);
    EXPECT_EQ(mine.tally().arrived, 1);
}

TEST_F(latch_suite, a_key_in_use_as_another_kind_is_refused_also_by_those_who_only_wait) {
    auto mine = by(one_, 2);
    session dying{second_, calm("dying")};
    const auto expect_refused = [&](const std::string& other) {
        const auto names_both = [&](const auto& ask) {
            const auto failure = thrown_by(ask);
            if (!failure || failure->code() != errc::invalid_argument) return false;
            const std::string said = failure->what();
            return said.find("as a " + other) != std::string::npos &&
                   said.find("as a latch") != std::string::npos;
        };
        EXPECT_TRUE(names_both([&] { (void)mine.try_join(); })) << other;
        EXPECT_TRUE(names_both([&] { (void)mine.tally(); })) << other;
        EXPECT_TRUE(names_both([&] { (void)mine.wait_for(30ms); })) << other;
    };
    auto held = mutex{dying, name_}.try_acquire();
    ASSERT_TRUE(held);
    expect_refused("mutex");
    expire(dying);
    expect_refused("mutex");  // in use until it is taken or reaped, for a place as for a look
    reap(second_);
    EXPECT_FALSE(mine.tally().is_open);
    {
        auto permit = semaphore{two_, name_, 2}.try_acquire();
        ASSERT_TRUE(permit);
        expect_refused("semaphore");
    }
    auto reading = shared_mutex{two_, name_}.try_acquire_shared();
    ASSERT_TRUE(reading);
    expect_refused("shared mutex");
    reading->release();
    EXPECT_FALSE(mine.wait_for(0s).is_open) << "what nobody uses any more is a closed latch";
    EXPECT_TRUE(mine.try_join());
}

TEST_F(latch_suite, many_arrive_at_once_and_each_counts) {
    constexpr int count = 8;
    std::vector<thread> threads;
    for (int number = 0; number < count; ++number) {
        threads.emplace_back([&] {
            database own = current().open({});
            session mine{own, calm("participant")};
            auto its = by(mine, count);
            auto place = its.try_join();
            ASSERT_TRUE(place);
            its.arrive(std::move(*place));
            EXPECT_TRUE(its.wait_for(20s).is_open);
        });
    }
    threads.clear();
    EXPECT_EQ(by(one_, count).tally().arrived, count);
}

TEST_F(latch_suite, counts_that_make_no_sense_are_refused) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-2}, latch::max_count + 1}) {
        const auto failure = thrown_by([&] { by(one_, count); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace leasehold::testing
