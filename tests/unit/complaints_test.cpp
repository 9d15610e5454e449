// The tool's words about an outage that lasts, by a clock of the test's own.
#include "cli/run/complaints.hpp"

#include <gtest/gtest.h>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using cli::complaints;

const complaints::instant begin{100h};

error refused() {
    return error{errc::connection_failed, "db:5432 cannot be reached: Connection refused"};
}
error password() {
    error_facts facts;
    facts.sqlstate = "28P01";
    return error{errc::connection_failed, "db:5432 refused the password of user app", facts};
}
error silent(int limit_ms) {
    const std::string limit = std::to_string(limit_ms);
    return error{errc::timed_out, "db:5432 did not answer within " + limit + " ms"};
}

TEST(complaints_test, each_reason_is_said_once_whatever_its_class_and_its_numbers) {
    complaints said;
    EXPECT_TRUE(said.is_due(refused(), begin));
    EXPECT_FALSE(said.is_due(refused(), begin + 1s));
    EXPECT_TRUE(said.is_due(password(), begin + 2s)) << "of the same class";
    EXPECT_FALSE(said.is_due(password(), begin + 3s));
    EXPECT_FALSE(said.is_due(refused(), begin + 4s)) << "it has been said";
    EXPECT_TRUE(said.is_due(silent(4500), begin + 5s));
    EXPECT_FALSE(said.is_due(silent(4499), begin + 6s));
}

TEST(complaints_test, an_error_number_makes_another_reason) {
    const auto numbered = [](int number) {
        error_facts facts;
        facts.native_code = number;
        return error{
            errc::connection_failed,
            "db:3306 refused the connection (error " + std::to_string(number) + ")",
            facts};
    };
    complaints said;
    EXPECT_TRUE(said.is_due(numbered(1129), begin));
    EXPECT_TRUE(said.is_due(numbered(1130), begin + 1s));
    EXPECT_FALSE(said.is_due(numbered(1129), begin + 2s));
}

TEST(complaints_test, what_lasts_is_said_again_after_a_minute_and_then_more_and_more_rarely) {
    complaints said;
    std::vector<std::chrono::minutes> when;
    for (auto passed = 0s; passed <= 1h; passed += 1s) {
        if (!said.is_due(refused(), begin + passed)) continue;
        when.push_back(std::chrono::duration_cast<std::chrono::minutes>(passed));
    }
    EXPECT_EQ(
        when,
        (std::vector<std::chrono::minutes>{
            0min, 1min, 3min, 7min, 15min, 25min, 35min, 45min, 55min})
    );
}

TEST(complaints_test, what_is_new_late_is_said_again_as_soon_as_what_was_first) {
    complaints said;
    for (auto passed = 0s; passed < 1h; passed += 1s) said.is_due(refused(), begin + passed);
    EXPECT_TRUE(said.is_due(password(), begin + 1h));
    EXPECT_FALSE(said.is_due(password(), begin + 1h + 59s));
    EXPECT_TRUE(said.is_due(password(), begin + 1h + 60s));
}

TEST(complaints_test, the_next_outage_is_another) {
    complaints said;
    EXPECT_TRUE(said.is_due(refused(), begin));
    said.clear();
    EXPECT_TRUE(said.is_due(refused(), begin + 1s));
}

}  // namespace
}  // namespace leasehold::testing
