// The steps of an attempt: every row of the table in attempt.hpp, and every other pair of a state
// and an event.
#include "locks/attempt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace leasehold {

static void PrintTo(const attempt_step& each, std::ostream* out) {
    *out << "state " << static_cast<int>(each.next) << (each.settles ? ", settles" : "");
}

namespace {

using stage = attempt_state;
using upshot = attempt_event;

constexpr attempt_state states[] = {
    stage::sending,
    stage::asking,
    stage::granted,
    stage::refused,
    stage::ended,
    stage::failed,
    stage::unknown};

constexpr attempt_event events[] = {
    upshot::granted,
    upshot::refused,
    upshot::cleared,
    upshot::session_ended,
    upshot::not_done,
    upshot::in_doubt,
    upshot::found,
    upshot::not_found,
    upshot::unanswered};

struct attempt_transition {
    attempt_state now;
    attempt_event what;
    attempt_step then;
    attempt_step at_the_last;
};

const attempt_transition table[] = {
    {stage::sending, upshot::granted, {stage::granted}, {stage::granted}},
    {stage::sending, upshot::refused, {stage::refused}, {stage::refused}},
    {stage::sending, upshot::cleared, {stage::sending}, {stage::refused}},
    {stage::sending, upshot::session_ended, {stage::ended}, {stage::ended}},
    {stage::sending, upshot::not_done, {stage::sending}, {stage::failed}},
    {stage::sending, upshot::in_doubt, {stage::asking}, {stage::asking}},
    {stage::asking, upshot::found, {stage::granted}, {stage::granted}},
    {stage::asking, upshot::not_found, {stage::sending, true}, {stage::failed, true}},
    {stage::asking, upshot::unanswered, {stage::unknown, true}, {stage::unknown, true}},
};

TEST(attempt_test, becomes_what_the_table_says) {
    for (const attempt_transition& each : table) {
        SCOPED_TRACE(static_cast<int>(each.now));
        SCOPED_TRACE(static_cast<int>(each.what));
        EXPECT_EQ(after(each.now, each.what, false), each.then);
        EXPECT_EQ(after(each.now, each.what, true), each.at_the_last);
    }
}

TEST(attempt_test, everything_else_changes_nothing) {
    std::size_t others = 0;
    for (const attempt_state now : states) {
        for (const attempt_event what : events) {
            const bool is_in_it = std::any_of(std::begin(table), std::end(table), [&](auto& each) {
                return each.now == now && each.what == what;
            });
            if (is_in_it) continue;
            ++others;
            EXPECT_EQ(after(now, what, false), attempt_step{now});
            EXPECT_EQ(after(now, what, true), attempt_step{now});
        }
    }
    EXPECT_EQ(others + std::size(table), std::size(states) * std::size(events));
}

// An attempt that may have been carried out is never left without a question or a settlement.
TEST(attempt_test, nothing_in_doubt_is_left_unsettled) {
    for (const bool is_last : {false, true}) {
        EXPECT_EQ(after(stage::sending, upshot::in_doubt, is_last).next, stage::asking);
        for (const attempt_event what : events) {
            const attempt_step step = after(stage::asking, what, is_last);
            const bool stays = step == attempt_step{stage::asking};
            EXPECT_TRUE(stays || step.settles || step.next == stage::granted);
        }
    }
}

}  // namespace
}  // namespace leasehold
