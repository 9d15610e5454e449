// One stop token for "lost, or asked to stop", on the model.
#include <memory>
#include <optional>
#include <stop_token>

#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/stop.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class stop_when_test : public model_test {
protected:
    session mine_{sound(), eager()};
    std::stop_source asked_;
};

bool is_requested(std::stop_token token) {
    return token.stop_requested();
}

TEST_F(stop_when_test, one_call_is_enough) {
    auto held = mutex{mine_, name_}.try_acquire();
    ASSERT_TRUE(held);
    const stop_when enough{*held, asked_.get_token()};
    EXPECT_FALSE(is_requested(enough));
    asked_.request_stop();
    EXPECT_TRUE(is_requested(enough));
}

TEST_F(stop_when_test, it_fires_when_asked_and_says_so) {
    auto held = mutex{mine_, name_}.try_acquire();
    const stop_when enough{*held, asked_.get_token()};
    EXPECT_FALSE(enough.token().stop_requested());
    EXPECT_EQ(enough.why(), stop_cause::going_on);
    asked_.request_stop();
    EXPECT_TRUE(enough.token().stop_requested());
    EXPECT_EQ(enough.why(), stop_cause::asked);
    held->release();
    EXPECT_EQ(enough.why(), stop_cause::asked) << "the first stays";
}

TEST_F(stop_when_test, it_fires_when_the_lease_is_lost_or_released) {
    auto held = mutex{mine_, name_}.try_acquire();
    const stop_when enough{*held, asked_.get_token()};
    ASSERT_TRUE(force_release(sound(), name_));
    ASSERT_TRUE(stopped(enough.token(), 20s));
    EXPECT_EQ(enough.why(), stop_cause::lost);
    auto next = mutex{mine_, "another"}.try_acquire();
    const stop_when released{*next};
    next->release();
    EXPECT_TRUE(released.token().stop_requested());
    EXPECT_EQ(released.why(), stop_cause::lost);
}

TEST_F(stop_when_test, a_request_to_let_go_counts_where_it_was_wanted) {
    auto held = mutex{mine_, name_}.try_acquire();
    const stop_when heeds{*held, asked_.get_token(), also_when_revoked};
    const stop_when goes_on{*held, asked_.get_token()};
    ASSERT_TRUE(request_revoke(sound(), name_));
    ASSERT_TRUE(stopped(heeds.token(), 20s));
    EXPECT_EQ(heeds.why(), stop_cause::revoke_requested);
    EXPECT_FALSE(goes_on.token().stop_requested());
    // The same when it has been requested already.
    const stop_when late{*held, {}, also_when_revoked};
    EXPECT_TRUE(late.token().stop_requested());
    EXPECT_EQ(late.why(), stop_cause::revoke_requested);
}

TEST_F(stop_when_test, of_several_that_were_there_before_the_loss_is_said) {
    auto held = mutex{mine_, name_}.try_acquire();
    held->release();
    asked_.request_stop();
    const stop_when enough{*held, asked_.get_token()};
    EXPECT_TRUE(enough.token().stop_requested());
    EXPECT_EQ(enough.why(), stop_cause::lost);
}

TEST_F(stop_when_test, whatever_can_be_lost_will_do) {
    auto several = multi_lock{mine_, {"a", "b"}}.try_acquire();
    auto leading = leader_election{mine_, "office"}.try_campaign();
    ASSERT_TRUE(several && leading);
    const stop_when of_keys{*several, {}, also_when_revoked}, of_term{*leading};
    several->release();
    leading->resign();
    EXPECT_EQ(of_keys.why(), stop_cause::lost);
    EXPECT_EQ(of_term.why(), stop_cause::lost);
}

TEST_F(stop_when_test, a_session_fires_when_it_is_lost_and_when_it_is_ended) {
    session lost{sound(), eager("lost")}, ended{sound(), eager("ended")};
    const stop_when one{lost}, other{ended};
    model_.server().with_tables([&](memory_tables& tables) { tables.sessions.erase(lost.id()); });
    EXPECT_TRUE(stopped(one.token(), 20s));
    EXPECT_EQ(one.why(), stop_cause::lost);
    ended.end();
    EXPECT_TRUE(other.token().stop_requested());
    EXPECT_EQ(ended.why_lost(), loss_reason::session_ended);
}

TEST_F(stop_when_test, who_is_told_may_destroy_it) {
    auto held = mutex{mine_, name_}.try_acquire();
    auto enough = std::make_unique<stop_when>(*held, asked_.get_token(), also_when_revoked);
    const std::stop_token token = enough->token();
    const std::stop_callback end{token, [&] { enough.reset(); }};
    held->release();
    EXPECT_FALSE(enough);
    EXPECT_TRUE(token.stop_requested());
}

TEST_F(stop_when_test, a_token_that_is_kept_for_longer_is_not_requested_any_more) {
    auto held = mutex{mine_, name_}.try_acquire();
    std::stop_token kept;
    {
        const stop_when enough{*held, asked_.get_token()};
        kept = enough.token();
    }
    held->release();
    asked_.request_stop();
    EXPECT_FALSE(kept.stop_requested());
}

TEST_F(stop_when_test, requests_from_many_threads_fire_once) {
    for (int round = 0; round < 200; ++round) {
        std::stop_source asked;
        auto held = mutex{mine_, name_}.try_acquire();
        ASSERT_TRUE(held);
        int told = 0;
        {
            const stop_when enough{*held, asked.get_token()};
            const std::stop_callback count{enough.token(), [&] { ++told; }};
            thread one{[&] { asked.request_stop(); }}, other{[&] { held->release(); }};
            one.join();
            other.join();
            EXPECT_NE(enough.why(), stop_cause::going_on);
        }
        EXPECT_EQ(told, 1);
    }
}

}  // namespace
}  // namespace leasehold::testing
