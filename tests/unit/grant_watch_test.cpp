// The deadlines of a session and its grants alone: which one applies, and who is told when.
#include "session/grant_watch.hpp"

#include <gtest/gtest.h>

#include <string>

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using instant = grant_watch::instant;

constexpr instant at(std::chrono::nanoseconds since) {
    return instant{1000h + since};
}

class grant_watch_test : public ::testing::Test {
protected:
    // ttl 12 s, margin 2 s: the deadline is 10 s after what was sent.
    static session_settings usual() {
        session_settings settings;
        settings.ttl = 12s;
        return completed(settings);
    }
    std::shared_ptr<grant> watched(std::optional<instant> term_end = std::nullopt) {
        const auto made =
            std::make_shared<grant>(hold{"k", owner_id::random(), {1}}, std::move(term_end));
        watch_.add(made);
        return made;
    }
    std::shared_ptr<grant> limited(instant told, instant over) {
        const auto made = std::make_shared<grant>(hold{"k", owner_id::random(), {1}}, std::nullopt);
        made->set_limit({told, over});
        watch_.add(made);
        return made;
    }
    // The losses at that time, of which a caller tells the holders at once.
    std::vector<grant_watch::lost_grant> lost_at(instant now, bool is_told = false) {
        const auto found = watch_.take_losses(now, is_told);
        if (!found) return {};
        watch_.note_told(*found);
        return found->grants;
    }

    const session_settings settings_ = usual();
    grant_watch watch_{settings_};
};

using losses = std::vector<grant_watch::lost_grant>;

TEST_F(grant_watch_test, nothing_is_lost_by_time_before_the_session_has_a_row) {
    const auto held = watched();
    EXPECT_EQ(watch_.next_loss(), instant::max());
    EXPECT_EQ(lost_at(at(1000h)), losses{});
    watch_.begin(at(0s), at(1s));
    EXPECT_EQ(watch_.next_loss(), at(10s));
}

TEST_F(grant_watch_test, a_grant_without_an_end_of_its_own_is_lost_at_the_deadline) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched(), fixed = watched(at(11s));
    EXPECT_EQ(watch_.next_loss(), at(10s));
    EXPECT_EQ(lost_at(at(10s - 1ns)), losses{});
    EXPECT_TRUE(watch_.is_live(at(10s - 1ns)));
    EXPECT_FALSE(watch_.is_live(at(10s))) << "before a thread has looked";
    EXPECT_EQ(lost_at(at(10s)), (losses{{held, loss_reason::expired}}));
    EXPECT_EQ(watch_.next_loss(), at(11s)) << "a fixed term outlives the session";
    EXPECT_EQ(lost_at(at(11s), true), (losses{{fixed, loss_reason::expired}}));
    EXPECT_EQ(watch_.next_loss(), instant::max());
}

TEST_F(grant_watch_test, a_renewal_moves_the_deadline_of_the_session_alone) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched(), fixed = watched(at(11s)), kept_here = limited(at(12s), at(13s));
    watch_.lease().renewed(at(4s), at(5s));
    EXPECT_EQ(watch_.next_loss(), at(11s));
    EXPECT_EQ(lost_at(at(11s)), (losses{{fixed, loss_reason::expired}}));
    EXPECT_EQ(lost_at(at(12s)), (losses{{kept_here, loss_reason::expired}}));
    EXPECT_EQ(watch_.next_loss(), at(14s));
}

TEST_F(grant_watch_test, a_deadline_that_a_thread_saw_pass_does_not_move) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched();
    EXPECT_EQ(lost_at(at(10s)), (losses{{held, loss_reason::expired}}));
    watch_.lease().renewed(at(9s), at(10s));
    EXPECT_FALSE(watch_.is_live(at(10s)));
    const auto late = watched();
    EXPECT_EQ(lost_at(at(10s), true), (losses{{late, loss_reason::expired}}));
}

// Several threads look at once, and one alone runs the callbacks of a holder.
TEST_F(grant_watch_test, a_loss_of_a_grant_is_handed_out_once) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched();
    const auto first = watch_.take_losses(at(10s), false);
    ASSERT_TRUE(first && first->are_of_session);
    EXPECT_EQ(first->grants, (losses{{held, loss_reason::expired}}));
    // The session's loss has not been told: a second caller may have to tell of it.
    const auto second = watch_.take_losses(at(10s), false);
    ASSERT_TRUE(second && second->are_of_session);
    EXPECT_EQ(second->grants, losses{});
    EXPECT_FALSE(watch_.take_losses(at(10s), true)) << "there is nobody to tell";
    watch_.note_told(*first);
    EXPECT_TRUE(watch_.is_telling());
    watch_.note_told(*second);
    EXPECT_FALSE(watch_.is_telling());
}

TEST_F(grant_watch_test, the_first_reason_of_a_loss_is_the_one_that_is_told) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched();
    watch_.lease().ended_by_server(at(2s));
    EXPECT_EQ(lost_at(at(10s)), (losses{{held, loss_reason::ended_by_server}}));
    EXPECT_TRUE(watch_.end(at(11s)).was_lost);
    EXPECT_EQ(watch_.lease().reason(), loss_reason::ended_by_server);
}

TEST_F(grant_watch_test, an_owner_that_ends_the_session_gets_all_but_the_fixed_terms) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched(), fixed = watched(at(5s)), kept_here = limited(at(6s), at(7s));
    auto ending = watch_.end(at(2s));
    EXPECT_FALSE(ending.was_lost);
    EXPECT_TRUE(ending.may_expire);
    EXPECT_EQ(ending.why, loss_reason::session_ended);
    EXPECT_EQ(ending.held.size(), 2U);
    for (const auto& [each, why] : ending.held) {
        EXPECT_TRUE(each == held || each == kept_here);
        EXPECT_EQ(why, loss_reason::session_ended);
    }
    EXPECT_FALSE(watch_.take_losses(at(4s), false)) << "the owner has ended it: it is not lost";
    EXPECT_EQ(lost_at(at(5s)), (losses{{fixed, loss_reason::expired}}));
    EXPECT_TRUE(watch_.is_empty());
}

TEST_F(grant_watch_test, an_end_at_the_deadline_comes_too_late) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched();
    const auto ending = watch_.end(at(10s));
    EXPECT_TRUE(ending.was_lost);
    EXPECT_EQ(ending.held, (losses{{held, loss_reason::expired}}));
}

TEST_F(grant_watch_test, a_session_that_ended_with_its_last_grant_was_not_lost) {
    watch_.begin(at(0s), at(1s));
    watch_.lease().end();
    EXPECT_FALSE(watch_.end(at(10s)).was_lost);
}

// The end of the row frees the keys for others at once.
TEST_F(grant_watch_test, the_row_does_not_expire_while_holders_are_told_of_the_sessions_loss) {
    watch_.begin(at(0s), at(1s));
    const auto held = watched();
    const auto found = watch_.take_losses(at(10s), false);
    ASSERT_TRUE(found);
    EXPECT_FALSE(watch_.end(at(10s)).may_expire);
    watch_.note_told(*found);
    EXPECT_TRUE(watch_.end(at(10s)).may_expire);
}

TEST_F(grant_watch_test, the_row_does_not_expire_while_holders_are_told_of_limits) {
    watch_.begin(at(0s), at(1s));
    const auto kept_here = limited(at(2s), at(3s));
    const auto found = watch_.take_losses(at(2s), false);
    ASSERT_TRUE(found && found->are_of_limits && !found->are_of_session);
    EXPECT_FALSE(watch_.end(at(2s)).may_expire);
    watch_.note_told(*found);
    EXPECT_TRUE(watch_.end(at(2s)).may_expire);
}

TEST_F(grant_watch_test, a_session_may_end_its_row_while_a_fixed_term_is_told) {
    watch_.begin(at(0s), at(1s));
    const auto fixed = watched(at(2s));
    const auto found = watch_.take_losses(at(2s), false);
    ASSERT_TRUE(found && !found->are_of_limits);
    EXPECT_TRUE(watch_.is_telling());
    EXPECT_TRUE(watch_.end(at(2s)).may_expire);
}

TEST_F(grant_watch_test, a_limit_that_passes_with_the_session_is_a_loss_of_the_session) {
    watch_.begin(at(0s), at(1s));
    const auto kept_here = limited(at(2s), at(11s));
    const auto found = watch_.take_losses(at(10s), false);
    ASSERT_TRUE(found && found->are_of_session);
    EXPECT_FALSE(found->are_of_limits) << "its row's end frees the key, and nothing else need";
}

TEST_F(grant_watch_test, a_longer_term_moves_the_next_loss) {
    watch_.begin(at(0s), at(1s));
    const auto fixed = watched(at(2s));
    EXPECT_TRUE(watch_.change_term(*fixed, at(6s)));
    EXPECT_EQ(watch_.next_loss(), at(6s));
    EXPECT_EQ(lost_at(at(2s)), losses{});
    EXPECT_EQ(lost_at(at(6s)), (losses{{fixed, loss_reason::expired}}));
    EXPECT_FALSE(watch_.change_term(*fixed, at(9s))) << "its holder has been told";
}

// A machine that is suspended within a nap tells its holders at the end of the nap.
TEST_F(grant_watch_test, a_nap_ends_before_the_margin_is_over) {
    EXPECT_EQ(watch_.longest_nap(), 1s);
    const auto fixed = watched(at(2s));
    EXPECT_EQ(watch_.longest_nap(), 200ms);
    session_settings narrow = usual();
    narrow.margin = 100ms;
    EXPECT_EQ(grant_watch{narrow}.longest_nap(), 50ms);
    narrow.margin = 1ms;
    EXPECT_EQ(grant_watch{narrow}.longest_nap(), 10ms) << "but no thread is busy";
}

}  // namespace
}  // namespace leasehold
