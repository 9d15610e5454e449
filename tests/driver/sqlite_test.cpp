// The SQLite driver: parameters, and statements outside of transactions.
#include <gtest/gtest.h>

#include "leasehold/database.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "statements.hpp"
#include "support/folder.hpp"

namespace leasehold {
namespace {

class sqlite_test : public ::testing::Test {
protected:
    sqlite_test() { migrate(db_); }

    testing::folder folder_;
    database db_ = sqlite::open("sqlite:" + (folder_ / "app.db").string());
};

// A transaction's connection is the pool's own, and idle when that has ended.
TEST_F(sqlite_test, parameters_are_numbered_as_on_every_engine) {
    sqlite3* none = nullptr;
    EXPECT_THROW(borrow(none), error);
    transaction tx = db_.begin();
    connection& inside = transaction_ref{tx}.inside();
    tx.rollback();
    testing::expect_numbered_parameters(inside);
    testing::expect_surplus_refused(inside);
    testing::expect_numbers_across_a_script(inside);
}

TEST_F(sqlite_test, a_statement_outside_of_transactions_commits_by_itself) {
    db_.execute("CREATE TABLE note (n INTEGER)");
    EXPECT_EQ(db_.execute("INSERT INTO note VALUES ($1)", {7U}).affected_rows, 1);
    EXPECT_EQ(db_.execute("SELECT n FROM note").rows.at(0).integer(0), 7);
    db_.execute("VACUUM");
    transaction tx = db_.begin();
    EXPECT_THROW(tx.execute("VACUUM"), error) << "the test is about what no transaction takes";
}

}  // namespace
}  // namespace leasehold
