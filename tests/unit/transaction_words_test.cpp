#include "sql/transaction_words.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace leasehold
