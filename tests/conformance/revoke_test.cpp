// request_revoke: asking a holder to let go, which is the holder's to decide.
#include <atomic>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include "conformance/suite.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/multi_lock.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class revoke_suite : public suite {
protected:
    static session_settings eager(const char* name) {
        session_settings settings = calm(name);
        settings.ttl = 60s;
        settings.heartbeat_every = 100ms;
        return settings;
    }
};

TEST_F(revoke_suite, the_holder_learns_of_the_request_and_goes_on_holding) {
    session one{first_, eager("one")}, two{second_, calm("two")};
    const key name = fresh("k"), another = fresh("another");
    auto held = mutex{one, name}.try_acquire();
    auto calm_one = mutex{one, another}.try_acquire();
    EXPECT_FALSE(held->revoke_requested().stop_requested());
    const auto asked = request_revoke(second_, name);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->token, held->token());
    EXPECT_EQ(asked->session, one.id());
    EXPECT_EQ(asked->node_info.substr(0, 4), "one@");
    EXPECT_TRUE(stopped(held->revoke_requested(), 20s));
    EXPECT_FALSE(calm_one->revoke_requested().stop_requested());
    EXPECT_FALSE(held->lost().stop_requested());
    EXPECT_TRUE(held->verify());
    EXPECT_FALSE(is_granted(mutex{two, name}.try_acquire()));
    EXPECT_EQ(held->release(), release_outcome::released);
}

TEST_F(revoke_suite, a_request_is_for_one_grant_and_not_for_the_next) {
    session one{first_, eager("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(request_revoke(second_, name));
    EXPECT_TRUE(stopped(held->revoke_requested(), 20s));
    held->release();
    auto next = mutex{one, name}.try_acquire();
    // A request for another key makes the next heartbeat look at all of them.
    auto witness = mutex{one, fresh("witness")}.try_acquire();
    ASSERT_TRUE(request_revoke(second_, witness->key()));
    EXPECT_TRUE(stopped(witness->revoke_requested(), 20s));
    EXPECT_FALSE(next->revoke_requested().stop_requested());
}

TEST_F(revoke_suite, a_request_is_not_handed_over_with_the_key) {
    session one{first_, eager("one")}, two{second_, eager("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(request_revoke(second_, name));
    auto waits = std::async(std::launch::async, [&] { return mutex{two, name}.acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return list_waiters(first_, name).size() == 1; }));
    EXPECT_EQ(held->release(), release_outcome::released);
    auto next = waits.get();
    ASSERT_TRUE(next);
    auto witness = mutex{two, fresh("witness")}.try_acquire();
    ASSERT_TRUE(request_revoke(first_, witness->key()));
    EXPECT_TRUE(stopped(witness->revoke_requested(), 20s));
    EXPECT_FALSE(next->revoke_requested().stop_requested());
}

TEST_F(revoke_suite, nobody_is_asked_where_nobody_holds) {
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const key never = fresh("never"), free = fresh("free"), left = fresh("left");
    EXPECT_FALSE(request_revoke(second_, never));
    (void)mutex{one, free}.try_acquire();
    EXPECT_FALSE(request_revoke(second_, free));
    auto held = mutex{dead, left}.try_acquire();
    expire(dead);
    EXPECT_FALSE(request_revoke(first_, left));
}

TEST_F(revoke_suite, a_request_that_comes_before_the_lease_is_watched_is_not_missed) {
    const auto way = std::make_shared<gate>();
    const auto trying = std::this_thread::get_id();
    std::optional<key> wanted;
    std::function<local_clock::time_point()> deadline;
    // Between the statement that grants and its caller: the request, and two heartbeats, of which
    // the second at the latest hears of it and finds nobody to tell.
    way->on_return = [&] {
        if (std::this_thread::get_id() != trying || !wanted) return;
        const auto seen = describe(second_, *wanted);
        if (!seen || !seen->is_held) return;
        EXPECT_TRUE(request_revoke(second_, *std::exchange(wanted, std::nullopt)));
        for (int beat = 0; beat < 2; ++beat) {
            EXPECT_TRUE(eventually([&, before = deadline()] { return deadline() > before; }));
        }
    };
    database through = current().open_through(way);
    session one{through, eager("one")};
    deadline = [&] { return one.deadline(); };
    for (int round = 0; round < 3; ++round) {
        const key name = fresh("k");
        wanted = name;
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_FALSE(wanted) << "the test is about a request that was made meanwhile";
        EXPECT_TRUE(stopped(held->revoke_requested(), 20s));
        EXPECT_TRUE(held->verify());
    }
}

TEST_F(revoke_suite, a_request_for_one_key_of_a_set_is_one_for_the_set) {
    session one{first_, eager("one")};
    const key early = fresh("early"), late = fresh("late");
    auto held = multi_lock{one, {early, late}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->revoke_requested().stop_requested());
    ASSERT_TRUE(request_revoke(second_, late));
    EXPECT_TRUE(stopped(held->revoke_requested(), 20s));
    EXPECT_FALSE(held->lost().stop_requested());
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(held->release(), release_outcome::released);
    auto next = multi_lock{one, {early, late}}.try_acquire();  // starts without requests
    ASSERT_TRUE(next);
    ASSERT_TRUE(request_revoke(second_, early));
    EXPECT_TRUE(stopped(next->revoke_requested(), 20s));
}

TEST_F(revoke_suite, a_request_stays_with_a_hold_that_moves) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const detached_lease parcel = detach(std::move(*held));
    ASSERT_TRUE(request_revoke(first_, name));
    auto mine = adopt(two, parcel);
    ASSERT_TRUE(mine);
    EXPECT_TRUE(stopped(mine->revoke_requested(), 20s));
    EXPECT_TRUE(mine->verify());
}

// A callback that takes its time delays no renewal.
TEST_F(revoke_suite, the_holder_is_told_after_its_session_was_renewed) {
    session one{first_, eager("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    std::optional<local_clock::time_point> when_told;
    std::atomic<bool> is_told = false;
    // A round that began before may ask for news after the request below.
    for (int round = 0; round < 2; ++round) {
        const auto known = one.deadline();
        ASSERT_TRUE(eventually([&] { return one.deadline() > known; }, 20s));
    }
    const auto before = one.deadline();
    const std::stop_callback told{held->revoke_requested(), [&] {
                                      when_told = one.deadline();
                                      is_told = true;
                                  }};
    ASSERT_TRUE(request_revoke(second_, held->key()));
    ASSERT_TRUE(eventually([&] { return is_told.load(); }, 20s));
    EXPECT_GT(*when_told, before);
}

}  // namespace
}  // namespace leasehold::testing
