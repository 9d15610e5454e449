// What only a PGconn* can be: in pipeline mode, or with a command under way.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <optional>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/leasehold.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

class libpq_claims : public ::testing::Test {
protected:
    libpq_claims() : lent_(PQconnectdb(require_url("postgres").c_str())) {
        run("BEGIN; CREATE TEMP TABLE seat (id int PRIMARY KEY, status text NOT NULL, "
            "version int NOT NULL) ON COMMIT DROP; INSERT INTO seat VALUES (1, 'free', 1)");
    }
    ~libpq_claims() override { PQfinish(lent_); }

    void run(const char* sql) { PQclear(PQexec(lent_, sql)); }
    std::optional<errc> refused() {
        try {
            claims_.try_claim(borrow(lent_), {1});
            return std::nullopt;
        } catch (const error& failure) {
            return failure.code();
        }
    }

    PGconn* const lent_;
    const versioned_claim claims_{
        {.table = "seat",
         .key = {"id"},
         .version = "version",
         .state = {"status", "free", "sold"}}};
};

TEST_F(libpq_claims, pipeline_mode_is_refused_and_left_as_it_is) {
    ASSERT_EQ(PQenterPipelineMode(lent_), 1);
    EXPECT_EQ(refused(), errc::wrong_transaction);
    EXPECT_EQ(PQpipelineStatus(lent_), PQ_PIPELINE_ON);
    ASSERT_EQ(PQexitPipelineMode(lent_), 1);
    EXPECT_EQ(refused(), std::nullopt);
    EXPECT_EQ(PQtransactionStatus(lent_), PQTRANS_INTRANS);
}

TEST_F(libpq_claims, a_command_under_way_is_the_callers_to_finish) {
    ASSERT_EQ(PQsendQuery(lent_, "SELECT 1"), 1);
    EXPECT_EQ(refused(), errc::wrong_transaction);
    while (PGresult* const each = PQgetResult(lent_)) PQclear(each);
    EXPECT_EQ(refused(), std::nullopt);
}

}  // namespace
}  // namespace leasehold::testing
