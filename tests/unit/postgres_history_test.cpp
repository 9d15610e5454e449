// Finds the server whose data is of the past.
#include "driver/postgres_history.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace leasehold::postgres {
namespace {

TEST(postgres_history_test, an_older_timeline_of_the_same_system_is_of_the_past) {
    history known;
    EXPECT_TRUE(known.note({"7", 1}));
    EXPECT_TRUE(known.note({"7", 2}));
    EXPECT_FALSE(known.note({"7", 1}));
    EXPECT_TRUE(known.is_past({"7", 1}));
    EXPECT_TRUE(known.note({"7", 2}));
    EXPECT_FALSE(known.is_past({"7", 2}));
    EXPECT_EQ(known.newest({"7", 1}), 2);
}

TEST(postgres_history_test, another_system_and_one_that_is_not_known_are_not) {
    history known;
    EXPECT_TRUE(known.note({"7", 5}));
    EXPECT_TRUE(known.note({"8", 1}));
    EXPECT_FALSE(known.is_past({"8", 1}));
    EXPECT_TRUE(known.note({}));
    EXPECT_FALSE(known.is_past({}));
    EXPECT_TRUE(known.note({"7", 5}));
}

TEST(postgres_history_test, only_what_makes_something_past_is_a_change) {
    history known;
    EXPECT_TRUE(known.note({"7", 1}));
    const int before = known.changes();
    EXPECT_TRUE(known.note({"7", 1}));
    EXPECT_TRUE(known.note({}));
    EXPECT_FALSE(known.note({"7", 0}));
    EXPECT_EQ(known.changes(), before);
    EXPECT_TRUE(known.note({"7", 2}));
    EXPECT_GT(known.changes(), before);
}

TEST(postgres_history_test, each_refusal_is_told_once) {
    std::vector<std::string> heard;
    history known{[&](const std::string& message) { heard.push_back(message); }};
    for (const char* each : {"a", "b", "a"}) known.tell_refusal(each);
    EXPECT_EQ(heard, (std::vector<std::string>{"a", "b"}));
    history{}.tell_refusal("nobody hears it");
}

}  // namespace
}  // namespace leasehold::postgres
