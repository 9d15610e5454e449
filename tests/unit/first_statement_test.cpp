// The choice of the statement of an acquire that goes first.
#include "sql/first_statement.hpp"

#include <gtest/gtest.h>

namespace leasehold {
namespace {

using choice = first_statement::choice;

TEST(first_statement, of_a_key_nobody_knows_is_the_small_one) {
    first_statement first;
    EXPECT_EQ(first.of("a"), choice::take_free);
}

TEST(first_statement, of_a_key_that_was_refused_is_a_look_until_it_is_granted) {
    first_statement first;
    first.note_refused("a");
    EXPECT_EQ(first.of("a"), choice::look);
    EXPECT_EQ(first.of("b"), choice::take_free);
    first.note_granted("b");
    EXPECT_EQ(first.of("a"), choice::look);
    first.note_granted("a");
    EXPECT_EQ(first.of("a"), choice::take_free);
}

TEST(first_statement, is_the_whole_one_where_keys_are_mostly_new) {
    first_statement first;
    for (int count = 0; count < 4; ++count) {
        EXPECT_EQ(first.of("new"), choice::take_free);
        first.note_missed();
    }
    int small = 0;
    for (int count = 0; count < 160; ++count) small += first.of("new") == choice::take_free ? 1 : 0;
    EXPECT_EQ(small, 10) << "now and then it asks whether that is still so";
    first.note_taken();
    EXPECT_EQ(first.of("new"), choice::take_free);
}

TEST(first_statement, of_more_keys_than_it_has_room_for_is_never_another_keys) {
    first_statement first;
    for (int number = 0; number < 100'000; ++number) {
        first.note_refused(key{"refused/" + std::to_string(number)});
    }
    EXPECT_EQ(first.of("refused/99999"), choice::look);
    int mistaken = 0;
    for (int number = 0; number < 10'000; ++number) {
        const key other{"other/" + std::to_string(number)};
        mistaken += first.of(other) == choice::look ? 1 : 0;
    }
    EXPECT_EQ(mistaken, 0);
}

TEST(first_statement, can_be_the_whole_one_always) {
    first_statement first;
    first.note_refused("a");
    first.suppress();
    EXPECT_EQ(first.of("a"), choice::whole);
    EXPECT_EQ(first.of("b"), choice::whole);
}

}  // namespace
}  // namespace leasehold
