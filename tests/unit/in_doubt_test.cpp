// Requests that lost their answers are in doubt, which a session settles.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/detach.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using in_doubt_test = model_test;

// Ghosts with a fixed term do not die with their session.
TEST_F(in_doubt_test, ending_settles_what_is_in_doubt) {
    std::atomic<bool> is_ending = false;
    session mine{faulty(), calm()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        if (is_ending) return std::nullopt;
        return fault::lost_on_the_way;
    });
    mutex closing{mine, name_, {.fixed_term = 1h}};
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    EXPECT_TRUE(model_.is_held(name_));
    is_ending = true;
    mine.end();
    EXPECT_FALSE(model_.is_held(name_));
    plan_->heal();
}

// It was lost with the network; when that is back, nobody else could free what has a term of a day.
TEST_F(
    in_doubt_test, a_lost_session_settles_what_is_in_doubt_when_the_database_can_be_asked_again
) {
    session mine{faulty(), brief()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        return fault::lost_before_sending;
    });
    mutex closing{mine, name_, {.fixed_term = 24h}};
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    ASSERT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_TRUE(eventually([&] { return events_->count(event_kind::release_failed) > 0; }))
        << "it could not say goodbye";
    const int before = plan_->strikes();
    EXPECT_TRUE(plan_->wait_for_strikes(before + 3, 20s)) << "it goes on trying";
    EXPECT_TRUE(model_.is_held(name_));
    plan_->heal();
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

TEST_F(in_doubt_test, a_request_that_waits_for_an_open_transaction_keeps_no_other_waiting) {
    session mine{faulty(), eager()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, "open"}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    drop(pending);  // settled when its transaction ends
    plan_->fail_when([](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        if (statement == "find_grants") return fault::lost_on_the_way;
        return std::nullopt;
    });
    mutex closing{mine, name_, {.fixed_term = 24h}};
    EXPECT_TRUE(thrown_by([&] { (void)closing.try_acquire(); }));
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    tx.rollback();
    plan_->heal();
}

// A parcel that is used twice: the release of the first lease would end the second one.
TEST_F(in_doubt_test, what_is_still_being_released_is_not_adopted) {
    session mine{patient(), calm()}, other{sound(), calm("other")};
    auto first = mutex{other, name_}.try_acquire();
    const detached_lease parcel = detach(std::move(*first));
    auto held = adopt(mine, parcel);
    ASSERT_TRUE(held);
    plan_->fail_in_turn("release", {fault::hangs});
    thread releasing{[&] { held->release(); }};
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_FALSE(is_granted(adopt(mine, parcel)));
    plan_->let_go();
    releasing.join();
    EXPECT_FALSE(is_granted(adopt(mine, parcel)));
}

TEST_F(in_doubt_test, what_is_still_to_be_released_is_not_adopted) {
    session mine{faulty(), calm()}, other{sound(), calm("other")};
    auto first = mutex{other, name_}.try_acquire();
    const detached_lease parcel = detach(std::move(*first));
    auto held = adopt(mine, parcel);
    ASSERT_TRUE(held);
    plan_->fail_every("release", fault::lost_on_the_way);  // and the session's own tries
    EXPECT_EQ(held->release(), release_outcome::unknown);
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_FALSE(is_granted(adopt(mine, parcel)));
    plan_->heal();
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

// It moved, and then nobody could be asked whether it is there.
TEST_F(in_doubt_test, an_adoption_that_may_have_happened_says_so_and_can_be_repeated) {
    std::atomic<bool> has_moved = false;
    session mine{faulty(), calm()}, other{sound(), calm("other")};
    auto first = mutex{other, name_}.try_acquire();
    const detached_lease parcel = detach(std::move(*first));
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "adopt" && has_moved.exchange(true)) return fault::lost_before_sending;
        return std::nullopt;
    });
    const auto failure = thrown_by([&] { (void)adopt(mine, parcel); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown()) << failure->what();
    plan_->heal();
    auto held = adopt(mine, parcel);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->verify());
}

// The session may have to ask once more because of other acquirers, but not again and again.
TEST_F(in_doubt_test, a_question_is_not_asked_for_as_long_as_others_acquire) {
    std::atomic<int> heartbeats = 0;
    session mine{patient(), calm()}, other{sound(), calm("other")};
    auto first = mutex{other, "parcel"}.try_acquire();
    const detached_lease parcel = detach(std::move(*first));
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "heartbeat") ++heartbeats;
        const auto end = local_clock::now() + 500us;
        while (local_clock::now() < end) std::this_thread::yield();
        return std::nullopt;
    });
    constexpr int acquirers = 8, rounds = 60;
    std::vector<thread> acquiring;
    for (int number = 0; number < acquirers; ++number) {
        acquiring.emplace_back([&, number] {
            for (int round = 0; round < rounds; ++round) {
                (void)mutex{mine, key{"k" + std::to_string(number)}}.try_acquire();
            }
        });
    }
    auto held = adopt(mine, parcel);
    EXPECT_TRUE(held);
    acquiring.clear();
    EXPECT_LT(heartbeats, 20);
    plan_->heal();
}

}  // namespace
}  // namespace leasehold::testing
