#include "sql/transaction_words.hpp"

#include <gtest/gtest.h>

#include "leasehold/database.hpp"
#include "unit/idle_connection.hpp"

namespace leasehold {
namespace {

TEST(transaction_words, statements_that_begin_or_end_a_transaction_are_known) {
    for (const char* each : {
             "BEGIN",
             "begin immediate",
             " ;\t-- first\n/* then */ Begin Transaction",
             "START TRANSACTION READ ONLY",
             "start/**/transaction",
             "COMMIT",
             "commit;",
             "COMMIT AND CHAIN",
             "END",
             "ABORT",
             "ROLLBACK",
             "rollback work",
             "ROLLBACK TRANSACTION",
             "# of MySQL\nROLLBACK",
             "PREPARE TRANSACTION 'x'",
         }) {
        EXPECT_TRUE(is_transaction_control(each)) << each;
    }
}

TEST(transaction_words, all_others_are_left_alone) {
    for (const char* each : {
             "",
             " -- nothing",
             "/* not closed",
             "SELECT 'COMMIT'",
             "/* COMMIT */ SELECT 1",
             "SAVEPOINT a",
             "RELEASE SAVEPOINT a",
             "ROLLBACK TO a",
             "ROLLBACK WORK TO SAVEPOINT a",
             "ROLLBACK PREPARED 'x'",
             "COMMIT PREPARED 'x'",
             "START REPLICA",
             "PREPARE q AS SELECT 1",
             "BEGIN NOT ATOMIC SELECT 1; END",
             "ENDED",
             "UPDATE t SET a = 1",
         }) {
        EXPECT_FALSE(is_transaction_control(each)) << each;
    }
}

// A fail-over may have made the connection useless while the answer was on its way.
TEST(execute, what_was_done_is_answered_though_the_connection_is_lost) {
    testing::record made;
    made.which = engine::postgres;
    const database db{[&](std::chrono::milliseconds) {
        return std::make_unique<testing::idle_connection>(made);
    }};
    made.is_lost_by_answer = true;
    EXPECT_EQ(db.execute("INSERT").rows.at(0).integer(0), 1);
}

}  // namespace
}  // namespace leasehold
