// The list of grants that a session watches: the lost ones, and the time of the next look.
#include "session/grant_list.hpp"

#include <gtest/gtest.h>

namespace leasehold {
namespace {

using namespace std::chrono_literals;

const local_clock::time_point start{1h};

std::shared_ptr<grant> granted(
    const char* name, std::optional<local_clock::time_point> term_end = std::nullopt
) {
    return std::make_shared<grant>(hold{name, owner_id::random(), {1}}, term_end);
}

TEST(grant_list, while_the_session_lives_only_fixed_terms_end) {
    grant_list watched;
    const auto with_session = granted("s");
    const auto soon = granted("soon", start + 1s), later = granted("later", start + 2s);
    for (const auto& each : {later, with_session, soon}) watched.add(each);
    EXPECT_EQ(watched.next_end(), start + 1s);
    EXPECT_TRUE(watched.take_lost(start, loss_reason::none).empty());
    const auto lost = watched.take_lost(start + 1s, loss_reason::none);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].first, soon);
    EXPECT_EQ(lost[0].second, loss_reason::expired);
    EXPECT_EQ(watched.next_end(), start + 2s);
    EXPECT_EQ(watched.live().size(), 2U);
}

TEST(grant_list, a_fixed_term_outlives_the_session) {
    grant_list watched;
    const auto with_session = granted("s"), fixed = granted("f", start + 1s);
    watched.add(with_session);
    watched.add(fixed);
    const auto lost = watched.take_lost(start, loss_reason::expired);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].first, with_session);
    EXPECT_FALSE(watched.is_empty());
    EXPECT_EQ(watched.take_lost(start + 1s, loss_reason::expired).size(), 1U);
    EXPECT_TRUE(watched.is_empty());
    EXPECT_FALSE(watched.next_end());
}

TEST(grant_list, what_is_added_twice_is_removed_once) {
    grant_list watched;
    const auto fixed = granted("f", start + 1s);
    watched.add(fixed);
    watched.add(fixed);
    EXPECT_TRUE(watched.has(fixed->what().owner));
    watched.remove(*fixed);
    EXPECT_TRUE(watched.is_empty());
    EXPECT_FALSE(watched.next_end());
    watched.remove(*fixed);
    EXPECT_TRUE(watched.take_lost(start + 1h, loss_reason::expired).empty());
}

TEST(grant_list, what_is_released_at_an_end_is_live_and_of_the_session) {
    grant_list watched;
    const auto live = granted("live"), dead = granted("dead"), fixed = granted("f", start + 1s);
    for (const auto& each : {live, dead, fixed}) watched.add(each);
    dead->lose(loss_reason::released);
    const auto taken = watched.take_live(loss_reason::session_ended);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].first, live);
    EXPECT_EQ(taken[0].second, loss_reason::session_ended);
    EXPECT_FALSE(watched.has(live->what().owner));
    EXPECT_TRUE(watched.has(dead->what().owner));
}

}  // namespace
}  // namespace leasehold
