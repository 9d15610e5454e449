// The report of a worker counts each end once, as what became of its job.
#include <gtest/gtest.h>

#include "jobs/job_executor.hpp"

namespace leasehold::testing {
namespace {

class job_report_test : public ::testing::Test {
protected:
    // The only counter that is not 0.
    std::string counted() const {
        std::string all;
        const auto add = [&](std::int64_t number, const char* name) {
            if (number != 0) all += name;
        };
        add(report_.completed, "completed");
        add(report_.failed, "failed");
        add(report_.returned, "returned");
        add(report_.discarded, "discarded");
        add(report_.cancelled, "cancelled");
        add(report_.lost, "lost");
        add(report_.unknown, "unknown");
        return all;
    }
    std::string count(std::optional<job_state> became) {
        report_ = {};
        end_.became = became;
        count_end(end_, report_);
        return counted();
    }

    ended_job end_;
    worker_report report_;
};

TEST_F(job_report_test, an_end_counts_as_what_became_of_its_job) {
    end_.step = job_step::complete;
    EXPECT_EQ(count(job_state::completed), "completed");
    EXPECT_EQ(count(job_state::cancelled), "cancelled");
    EXPECT_EQ(count(std::nullopt), "lost");
    end_.step = job_step::fail;
    EXPECT_EQ(count(job_state::retryable), "failed");
    EXPECT_EQ(count(job_state::discarded), "failed");
    end_.was_sent = true;
    EXPECT_EQ(count(std::nullopt), "unknown");
}

// The transaction may have been rolled back, and the session may have ended.
TEST_F(job_report_test, an_end_after_complete_in_counts_as_the_database_says) {
    end_.is_in_transaction = true;
    end_.step = job_step::fail;  // as each end after complete_in()
    EXPECT_EQ(count(job_state::completed), "completed");
    EXPECT_EQ(count(job_state::retryable), "failed") << "it was rolled back";
    EXPECT_EQ(count(std::nullopt), "unknown");
}

}  // namespace
}  // namespace leasehold::testing
