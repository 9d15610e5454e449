// States that only a PGconn* can be in: in pipeline mode, or with a command under way.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <optional>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/leasehold.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

class libpq_claims : public ::testing::Test {
protected:
    libpq_claims() : lent_(PQconnectdb(require_url("postgres").c_str())) { start(); }
    ~libpq_claims() override { PQfinish(lent_); }

    void start() {
        run("BEGIN; CREATE TEMP TABLE seat (id int PRIMARY KEY, status text NOT NULL, "
            "version int NOT NULL) ON COMMIT DROP; INSERT INTO seat VALUES (1, 'free', 1)");
    }

    void run(const char* sql) { PQclear(PQexec(lent_, sql)); }
    std::optional<errc> refused() {
        try {
            (void)claims_.try_claim_in(borrow(lent_), {1});
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

TEST_F(libpq_claims, nothing_is_acquired_in_pipeline_mode) {
    database_settings settings;
    settings.names.prefix = fresh_prefix();
    const database db = postgres::open(require_url("postgres"), settings);
    migrate(db);
    session one{db};
    ASSERT_EQ(PQenterPipelineMode(lent_), 1);
    try {
        (void)mutex(one, "k").try_acquire_in(borrow(lent_));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::wrong_transaction) << failure.what();
    }
    EXPECT_FALSE(describe(db, "k"));
    ASSERT_EQ(PQexitPipelineMode(lent_), 1);
    EXPECT_EQ(PQtransactionStatus(lent_), PQTRANS_INTRANS);
    one.end();
    migrate_down(db, 0);
}

TEST_F(libpq_claims, a_command_under_way_is_the_callers_to_finish) {
    ASSERT_EQ(PQsendQuery(lent_, "SELECT 1"), 1);
    EXPECT_EQ(refused(), errc::wrong_transaction);
    while (PGresult* const each = PQgetResult(lent_)) PQclear(each);
    EXPECT_EQ(refused(), std::nullopt);
}

TEST_F(libpq_claims, a_command_that_was_given_up_is_the_callers_to_recover_from) {
    const borrowed_connection lent = borrow(lent_);
    lent.inside().set_statement_timeout(std::chrono::milliseconds{50});
    const auto code_of = [&](const char* sql) {
        try {
            lent.inside().execute(sql);
            return errc{};
        } catch (const error& failure) {
            EXPECT_FALSE(failure.outcome_is_unknown()) << "within a transaction nothing is done";
            return failure.code();
        }
    };
    EXPECT_EQ(code_of("SELECT pg_sleep(600)"), errc::timed_out);
    EXPECT_EQ(PQtransactionStatus(lent_), PQTRANS_ACTIVE);
    EXPECT_EQ(code_of("SELECT 1"), errc::connection_lost);
    EXPECT_EQ(PQisnonblocking(lent_), 0);
    PGcancel* const stop = PQgetCancel(lent_);
    std::array<char, 256> why{};
    EXPECT_EQ(PQcancel(stop, why.data(), static_cast<int>(why.size())), 1) << why.data();
    PQfreeCancel(stop);
    while (PGresult* const each = PQgetResult(lent_)) PQclear(each);
    EXPECT_EQ(PQtransactionStatus(lent_), PQTRANS_INERROR);
    run("ROLLBACK");
    start();
    EXPECT_EQ(refused(), std::nullopt);
}

}  // namespace
}  // namespace leasehold::testing
