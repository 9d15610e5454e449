// Deadlines of any clock: the length of the wait, also when the clock is set back.
#include <vector>

#include "core/wait_by.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_lockable.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

// Says what it was told to, one after another, and the last for ever.
struct told_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<told_clock>;
    static time_point now() {
        const auto told = times.front();
        if (times.size() > 1) times.erase(times.begin());
        return time_point{told};
    }
    static inline std::vector<milliseconds> times;
};

class any_clock_test : public model_test {
protected:
    session one_{sound(), calm("one")};
    session two_{sound(), calm("two")};
};

TEST_F(any_clock_test, a_free_key_is_had_and_a_held_one_refused_by_each_clock) {
    const auto past = std::chrono::system_clock::now() - 1h;
    const auto soon = std::chrono::steady_clock::now() + 1h;
    mutex mine{one_, name_};
    const auto held = mine.acquire_until(soon);
    ASSERT_TRUE(held);
    mutex other{two_, name_};
    EXPECT_FALSE(is_granted(other.acquire_until(past)));
    EXPECT_FALSE(
        is_granted(other.acquire_until(std::chrono::time_point_cast<std::chrono::seconds>(past)))
    );
    EXPECT_FALSE(is_granted(other.acquire_until(std::chrono::steady_clock::now() + 5ms)));
    EXPECT_FALSE(is_granted(other.acquire_until(local_clock::now() + 5ms)));
    const auto all = semaphore{one_, "three", 3}.acquire_until(soon, 3);
    EXPECT_TRUE(all);
    EXPECT_FALSE(is_granted(semaphore{two_, "three", 3}.acquire_until(past)));
    EXPECT_FALSE(is_granted(multi_lock{two_, {"a", name_}}.acquire_until(past)));
    shared_mutex prices{two_, "prices"};
    const auto writing = shared_mutex{one_, "prices"}.acquire_until(soon);
    ASSERT_TRUE(writing);
    EXPECT_FALSE(is_granted(prices.acquire_until(past)));
    EXPECT_FALSE(is_granted(prices.acquire_shared_until(past)));
    EXPECT_FALSE(is_granted(prices.acquire_upgradeable_until(past)));
    lockable_shared_mutex guarded{two_, "prices"};
    EXPECT_FALSE(guarded.try_lock_until(past));
    EXPECT_FALSE(guarded.try_lock_shared_until(past));
}

TEST_F(any_clock_test, what_others_do_is_waited_for_by_each_clock) {
    const auto past = std::chrono::system_clock::now() - 1h;
    const auto soon = std::chrono::steady_clock::now() + 1h;
    EXPECT_FALSE(barrier(one_, "step", 2).arrive_and_wait_until(past));
    EXPECT_FALSE(is_granted(barrier(one_, "step", 2).enter_until(past)));
    barrier alone{one_, "alone", 1};
    auto inside = alone.enter_until(soon);
    ASSERT_TRUE(inside);
    EXPECT_TRUE(alone.leave_until(*std::move(inside), soon));
    EXPECT_FALSE(latch(one_, "loaded", 1).wait_until(past).is_open);
    auto place = latch(one_, "loaded", 1).try_join();
    ASSERT_TRUE(place);
    latch(one_, "loaded", 1).arrive(*std::move(place));
    EXPECT_TRUE(latch(two_, "loaded", 1).wait_until(soon).is_open);
    const auto leading = leader_election(one_, name_).campaign_until(soon);
    ASSERT_TRUE(leading);
    EXPECT_FALSE(is_granted(leader_election(two_, name_).campaign_until(past)));
    leader_watch watch{sound(), name_};
    EXPECT_TRUE(watch.next_until(soon)) << "the first answer is news";
    EXPECT_FALSE(watch.next_until(past));
}

TEST_F(any_clock_test, a_clock_that_was_set_back_is_waited_for_again) {
    const auto held = mutex{one_, name_}.try_acquire();
    const told_clock::time_point deadline{100ms};
    std::vector<std::chrono::nanoseconds> waited;
    told_clock::times = {90ms, 50ms, 60ms, 99ms, 99ms, 100ms};
    const auto got = wait_by(deadline, {}, [&](local_clock::time_point by) {
        waited.push_back(by - local_clock::now());
        return mutex{two_, name_}.try_acquire();
    });
    EXPECT_FALSE(got);
    ASSERT_EQ(waited.size(), 3U);
    const std::vector<milliseconds> left{10ms, 40ms, 1ms};
    for (std::size_t at = 0; at < left.size(); ++at) {
        EXPECT_LE(waited[at], left[at]);
        EXPECT_GT(waited[at], left[at] - 1s);
    }
}

TEST_F(any_clock_test, who_is_cancelled_waits_for_no_clock) {
    const auto held = mutex{one_, name_}.try_acquire();
    told_clock::times = {0ms};  // which stands still
    std::stop_source stopped;
    int waits = 0;
    const auto got =
        wait_by(told_clock::time_point{1ms}, stopped.get_token(), [&](local_clock::time_point) {
            if (++waits == 3) stopped.request_stop();
            return mutex{two_, name_}.try_acquire();
        });
    EXPECT_FALSE(got);
    EXPECT_EQ(waits, 3);
}

TEST_F(any_clock_test, a_time_longer_ago_than_can_be_counted_asks_once) {
    using far = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    int asked = 0;
    auto other = mutex{two_, name_}.try_acquire();
    ASSERT_TRUE(other);
    const auto got = wait_by(far::min(), {}, [&](local_clock::time_point) {
        ++asked;
        return mutex{one_, name_}.try_acquire();
    });
    EXPECT_FALSE(got);
    EXPECT_EQ(asked, 1);
}

TEST_F(any_clock_test, times_beyond_what_can_be_counted_are_for_ever) {
    using far = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    const auto got = wait_by(far::max(), {}, [&](local_clock::time_point by) {
        EXPECT_EQ(by, local_clock::time_point::max());
        return mutex{one_, name_}.try_acquire();
    });
    EXPECT_TRUE(got);
    EXPECT_TRUE(wait_by(local_clock::time_point::max(), {}, [](local_clock::time_point by) {
        return by == local_clock::time_point::max();
    }));
}

}  // namespace
}  // namespace leasehold::testing
