// What requests that lost their answers may have left behind, and how a session settles it.
#include <atomic>

#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using doubt_test = model_test;

// Ghosts with a fixed term do not die with their session.
TEST_F(doubt_test, ending_settles_what_is_in_doubt) {
    std::atomic<bool> is_ending = false;
    session mine{faulty(), calm()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        if (is_ending) return std::nullopt;
        return fault::lost_on_the_way;
    });
    mutex closing{mine, name_, {.hold_at_most = 1h}};
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
TEST_F(doubt_test, a_lost_session_settles_its_doubts_when_the_database_can_be_asked_again) {
    session mine{faulty(), brief()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        return fault::lost_before_sending;
    });
    mutex closing{mine, name_, {.hold_at_most = 24h}};
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

TEST_F(doubt_test, a_release_that_fails_after_its_session_has_ended_is_settled_at_once) {
    std::atomic<bool> has_ended = false;
    session mine{patient(), calm()};
    auto held = mutex{mine, name_, {.hold_at_most = 24h}}.try_acquire();
    ASSERT_TRUE(held);
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement != "release") return std::nullopt;
        EXPECT_TRUE(eventually([&] { return has_ended.load(); }));
        return fault::lost_on_the_way;
    });
    thread releasing{[&] { EXPECT_EQ(held->release(), release_outcome::unknown); }};
    ASSERT_TRUE(stopped(held->lost(), 20s));
    mine.end();
    EXPECT_TRUE(model_.is_held(name_)) << "a fixed term outlives its session";
    has_ended = true;
    releasing.join();
    EXPECT_FALSE(model_.is_held(name_));
    plan_->heal();
}

TEST_F(doubt_test, a_doubt_that_waits_for_an_open_transaction_keeps_no_other_waiting) {
    session mine{faulty(), eager()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, "open"}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    pending.reset();  // settled when its transaction ends
    plan_->fail_when([](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        if (statement == "find_grant") return fault::lost_on_the_way;
        return std::nullopt;
    });
    mutex closing{mine, name_, {.hold_at_most = 24h}};
    EXPECT_TRUE(thrown_by([&] { (void)closing.try_acquire(); }));
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    tx.rollback();
    plan_->heal();
}

}  // namespace
}  // namespace leasehold::testing
