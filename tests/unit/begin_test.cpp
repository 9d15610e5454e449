// Sessions that begin with their first grant and end with their last release: lost answers.
#include <string>

#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "session/session_store.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class begin_test : public model_test {
protected:
    static session_settings late(session_settings settings = calm()) {
        settings.begins_with_grant = true;
        return settings;
    }
    std::size_t sessions() {
        return model_.server().with_tables([](memory_tables& tables) {
            return tables.sessions.size();
        });
    }
};

TEST_F(begin_test, whatever_becomes_of_the_first_request_there_is_a_lease_or_nothing_is_left) {
    for (const fault how : all_faults) {
        SCOPED_TRACE(name_of(how));
        const key name{std::string("k/") + name_of(how)};
        session mine{faulty(), late(eager())};
        plan_->fail_in_turn("start_with_grant", {how});
        acquisition held = mutex{mine, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(plan_->strikes(), 1);
        EXPECT_TRUE(mine.is_live());
        ASSERT_TRUE(row(mine.id()));
        EXPECT_EQ(row(name)->owner, held->owner());
        plan_->carry_out_the_late();
        EXPECT_EQ(row(name)->owner, held->owner());
        const auto deadline = mine.deadline();
        EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline; })) << "it has a heartbeat";
        EXPECT_EQ(held->release(), release_outcome::released);
        mine.end();
        plan_->carry_out_the_late();
        EXPECT_FALSE(model_.is_held(name));
    }
}

// A session that has not begun is never lost, and nothing else would end a wait for ever.
TEST_F(begin_test, a_call_that_waits_says_what_keeps_its_session_from_beginning) {
    session other{sound(), calm("other")};
    auto theirs = mutex{other, name_}.try_acquire();
    session mine{faulty(), late()};
    plan_->fail_every("start", fault::refused);
    const auto failure = thrown_by([&] { (void)mutex{mine, name_}.acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->is_transient());
    EXPECT_TRUE(thrown_by([&] { (void)semaphore{mine, key{"s"}, 2}.acquire(1); }));
    EXPECT_TRUE(thrown_by([&] { (void)multi_lock{mine, {key{"a"}, key{"b"}}}.acquire(); }));
    plan_->heal();
    EXPECT_TRUE(semaphore(mine, key{"s"}, 2).acquire(1));
}

// The request is carried out when the session has ended: its row is still there, expired.
TEST_F(begin_test, a_first_request_that_comes_after_the_end_grants_nothing) {
    session mine{faulty(), late()};
    plan_->fail_when([](std::string_view statement, int number) -> std::optional<fault> {
        if (number == 1 && statement == "start_with_grant") return fault::carried_out_late;
        return fault::lost_before_sending;
    });
    const auto failure = thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    EXPECT_TRUE(mine.is_live()) << "until somebody knows better";
    plan_->heal();
    session second{faulty(), late()};
    plan_->fail_in_turn("start_with_grant", {fault::carried_out_late});
    auto held = mutex{second, key{"other"}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(second.end_with(std::move(*held)), release_outcome::released);
    ASSERT_TRUE(row(second.id())) << "kept: a first request is still on its way";
    plan_->carry_out_the_late();
    EXPECT_FALSE(model_.is_held(key{"other"}));
}

// Nobody could be asked either. The grant lives with a session that nobody renews.
TEST_F(begin_test, a_doubt_that_nobody_could_settle_ends_with_the_ttl) {
    auto settings = late(brief());
    session mine{faulty(), settings};
    plan_->fail_when([](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "start_with_grant") return fault::lost_after_it;
        return fault::lost_before_sending;
    });
    const auto failure = thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

TEST_F(begin_test, what_failed_for_certain_leaves_nothing_and_can_be_tried_again) {
    session mine{faulty(), late()};
    plan_->fail_every("start_with_grant", fault::lost_before_sending);
    EXPECT_TRUE(thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); }));
    EXPECT_EQ(sessions(), 0U);
    plan_->heal();
    EXPECT_TRUE(mutex(mine, name_).try_acquire());
    EXPECT_EQ(sessions(), 1U);
}

TEST_F(begin_test, whatever_becomes_of_the_last_request_the_key_is_free_and_the_session_ended) {
    for (const fault how : all_faults) {
        SCOPED_TRACE(name_of(how));
        const key name{std::string("k/") + name_of(how)};
        session mine{faulty(), calm()};
        auto held = mutex{mine, name}.try_acquire();
        ASSERT_TRUE(held);
        plan_->fail_in_turn("end_with_release", {how});
        EXPECT_EQ(mine.end_with(std::move(*held)), release_outcome::released);
        EXPECT_EQ(plan_->strikes(), 1);
        EXPECT_FALSE(model_.is_held(name));
        EXPECT_FALSE(mine.is_live());
        const auto left = row(mine.id());
        EXPECT_TRUE(!left || left->expires_at <= model_.server().with_tables([](auto& tables) {
            return tables.now;
        }));
        session next{sound(), calm("next")};
        auto theirs = mutex{next, name}.try_acquire();
        ASSERT_TRUE(theirs);
        plan_->carry_out_the_late();
        EXPECT_TRUE(theirs->verify());
    }
}

}  // namespace
}  // namespace leasehold::testing
