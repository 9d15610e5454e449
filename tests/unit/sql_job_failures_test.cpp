#include "jobs/sql_job_failures.hpp"

#include <gtest/gtest.h>

#include <string>

namespace leasehold {
namespace {

using std::chrono::microseconds;

TEST(job_failures, a_record_has_its_times_as_ages) {
    const auto all = failures_in(
        "5000\x1e"
        "2\t1000\t4000\tmail@here:7\tno disk\nline 2\x1e"
    );
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].attempt, 2);
    EXPECT_EQ(all[0].began_ago, microseconds{4000});
    EXPECT_EQ(all[0].ended_ago, microseconds{1000});
    EXPECT_EQ(all[0].node_info, "mail@here:7");
    EXPECT_EQ(all[0].error, "no disk\nline 2");
}

TEST(job_failures, text_that_somebody_has_written_by_hand_is_left_out_or_made_printable) {
    for (const char* each : {
             "",
             "5000",
             "5000\x1e",
             "5000\x1eno record\x1e",
             "5000\x1e"
             "0\t1\t2\tworker\terror\x1e",
             "5000\x1e"
             "99999999999999999999\t1\t2\tworker\terror\x1e",
             "5000\x1e"
             "1\t1\t2\tno error",
         }) {
        EXPECT_TRUE(failures_in(each).empty()) << each;
    }
    std::string many = "5000\x1e";
    for (int number = 1; number <= 500; ++number) many += "7\t1\t2\tworker\terror\x1e";
    EXPECT_EQ(failures_in(many).size(), 20U);
    const auto all = failures_in(
        "5000\x1e"
        "1\t\t9000\t\x1b[2J\terror\tagain\xff\x1e"
    );
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].began_ago, microseconds{0});
    EXPECT_EQ(all[0].ended_ago, microseconds{0}) << "in the future";
    EXPECT_EQ(all[0].node_info, "?[2J");
    EXPECT_EQ(all[0].error, "error?again?");
}

}  // namespace
}  // namespace leasehold
