// try_acquire_in and confirm() when answers are lost: the reports, and that no key is left held by
// nobody.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using acquire_in_test = model_test;

TEST_F(acquire_in_test, a_grant_whose_answer_was_lost_is_found_and_moved) {
    session mine{faulty(), calm()};
    transaction tx = sound().begin();
    plan_->fail_in_turn("try_acquire", {fault::lost_after_it});
    auto pending = mutex{mine, name_}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_EQ(row(name_)->fence, 1) << "a second grant";
    EXPECT_NE(row(name_)->owner, pending->owner()) << "moved before the commit";
    tx.commit();
    EXPECT_EQ(row(name_)->owner, pending->owner());
    EXPECT_TRUE(pending->confirm());
}

TEST_F(acquire_in_test, a_confirmation_that_was_lost_is_asked_again) {
    session mine{faulty(), calm()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, name_}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    plan_->fail_in_turn("find_grants", {fault::lost_after_it});
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_EQ(held->token().number, 1);
}

TEST_F(acquire_in_test, one_that_cannot_be_asked_for_is_pending_still) {
    std::atomic<bool> is_down = true;
    session mine{faulty(), calm()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, name_}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (is_down && statement == "find_grants") return fault::lost_on_the_way;
        return std::nullopt;
    });
    const auto failure = thrown_by([&] { (void)pending->confirm(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->is_transient());
    EXPECT_NE(std::string(failure->what()).find("'k'"), std::string::npos);
    is_down = false;
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->verify());
}

TEST_F(acquire_in_test, after_a_rollback_a_lost_answer_leaves_the_key_free) {
    session mine{faulty(), calm()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, name_}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.rollback();
    plan_->fail_in_turn("release_owner", {fault::lost_after_it});
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_FALSE(model_.is_held(name_));
}

// Dropped while the transaction is open, which goes on for as long as a round of releases waits.
TEST_F(acquire_in_test, one_that_is_dropped_early_is_settled_when_its_transaction_ends) {
    session mine{faulty(), eager()};
    for (const bool commits : {true, false}) {
        transaction tx = sound().begin();
        auto pending = mutex{mine, name_}.try_acquire_in(tx);
        ASSERT_TRUE(pending);
        drop(pending);
        // A round has met the transaction and given up.
        const auto started = row(mine.id())->heartbeat_at;
        ASSERT_TRUE(eventually([&] { return row(mine.id())->heartbeat_at > started + 100ms; }));
        EXPECT_TRUE(model_.is_held(name_));
        if (commits) {
            tx.commit();
        } else {
            tx.rollback();
        }
        EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    }
    EXPECT_TRUE(mine.is_live());
}

TEST_F(acquire_in_test, where_the_move_fails_the_grant_does_not_stay) {
    session mine{sound(), calm()};
    database other = faulty();
    transaction tx = other.begin();
    plan_->fail_in_turn("move", {fault::refused});
    EXPECT_TRUE(thrown_by([&] { (void)mutex(mine, name_).try_acquire_in(tx); }));
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

// The heartbeat that finds the session ended is held back until the confirmation is under way: then
// both threads come to the new lease at about the same time, and the one that takes it out to tell
// of its loss may be slow to do so.
class at_the_same_time final : public observer {
public:
    void is_ended() { is_ended_ = true; }
    void before(std::string_view statement) {
        if (statement == "heartbeat") {
            wait_until(5s, [&] { return is_ended_.load(); });
            wait_until(3ms, [] { return false; });  // it is late then: on_event() is called
        }
        if (statement == "find_grants") is_asked_ = true;
    }
    void on_event(const event& what) noexcept override {
        if (what.kind == event_kind::late_heartbeat) {
            wait_until(5s, [&] { return is_asked_.load(); });
        }
    }

private:
    template <typename condition>
    static void wait_until(milliseconds at_most, condition holds) {
        const auto end = local_clock::now() + at_most;
        while (!holds() && local_clock::now() < end) std::this_thread::yield();
    }

    std::atomic<bool> is_ended_ = false;
    std::atomic<bool> is_asked_ = false;
};

TEST_F(acquire_in_test, a_session_that_is_being_lost_confirms_nothing) {
    session_settings hasty = eager();
    hasty.heartbeat_every = 2ms;
    for (int round = 0; round < 200; ++round) {
        const auto both = std::make_shared<at_the_same_time>();
        plan_->fail_when([both](std::string_view statement, int) -> std::optional<fault> {
            both->before(statement);
            return std::nullopt;
        });
        database_settings watched;
        watched.observer = both;
        session mine{model_.open(watched, plan_->wrapper()), hasty};
        transaction tx = sound().begin();
        auto pending = mutex{mine, key{"k" + std::to_string(round)}}.try_acquire_in(tx);
        ASSERT_TRUE(pending);
        tx.commit();
        model_.age_session(mine.id(), 2h);
        both->is_ended();
        ASSERT_TRUE(eventually([&] { return !mine.is_live(); }));
        const auto confirmed = pending->confirm();
        ASSERT_FALSE(confirmed) << "in round " << round;
    }
}

TEST_F(acquire_in_test, a_committed_lease_is_told_when_its_key_is_freed_by_force) {
    session mine{faulty(), eager()};
    transaction tx = sound().begin();
    auto pending = mutex{mine, name_}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    ASSERT_TRUE(force_release(sound(), name_));
    EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
}

}  // namespace
}  // namespace leasehold::testing
