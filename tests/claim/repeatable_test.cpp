// Claims at REPEATABLE READ, where MySQL and MariaDB allow them: a snapshot goes on showing what
// was there, and decides nothing.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class repeatable_suite : public claim_suite {
protected:
    // Null on the engines that refuse the level, and where there is no such transaction.
    std::unique_ptr<lent> begin_repeatable() {
        if (!is_mysql()) return nullptr;
        auto tx = begin(begun::repeatable);
        if (tx && has_snapshot_isolation(*tx)) set_snapshot_isolation(*tx, "OFF");
        return tx;
    }
    static bool has_snapshot_isolation(lent& tx) {
        return !tx.run("SHOW SESSION VARIABLES LIKE 'innodb_snapshot_isolation'").rows.empty();
    }
    static void set_snapshot_isolation(lent& tx, const std::string& to) {
        tx.run("SET SESSION innodb_snapshot_isolation = " + to);
    }
};

// 1020 would roll the transaction back.
TEST_P(repeatable_suite, snapshot_isolation_is_refused_before_it_rolls_back) {
    const auto tx = begin_repeatable();
    if (!tx || !has_snapshot_isolation(*tx)) {
        GTEST_SKIP() << "the server or the client knows no such setting";
    }
    set_snapshot_isolation(*tx, "ON");
    tx->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 10");
    define("UPDATE " + table_ + " SET note = 'newer', version = version + 1 WHERE id = 3");
    const versioned_claim versions{seats()};
    const row_claim locks{rows()};
    const auto refused = [&](auto&& run) {
        const auto failure = thrown_by([&] { run(tx->ref()); });
        ASSERT_TRUE(failure) << "nothing was thrown";
        EXPECT_EQ(failure->code(), errc::wrong_transaction) << failure->what();
        EXPECT_NE(std::string(failure->what()).find("snapshot_isolation"), std::string::npos);
    };
    refused([&](transaction_ref at) { (void)versions.try_claim_in(at, {3}); });
    refused([&](transaction_ref at) { (void)versions.try_claim_some_in(at, 1); });
    refused([&](transaction_ref at) { (void)locks.claim_in(at, {3}, nowait); });
    EXPECT_TRUE(versions.read_in(tx->ref(), {3}));
    set_snapshot_isolation(*tx, "OFF");
    EXPECT_TRUE(locks.claim_in(tx->ref(), {3}, nowait));
    tx->commit();
    EXPECT_EQ(ask("note", 10), "kept");
}

TEST_P(repeatable_suite, a_row_that_is_not_as_wanted_any_more_is_none) {
    const auto tx = begin_repeatable();
    if (!tx) GTEST_SKIP() << "this client begins no such transaction";
    tx->run("SELECT * FROM " + table_);
    define("UPDATE " + table_ + " SET status = 'sold' WHERE id = 3");
    const row_claim claims{rows()};
    for (const when_locked others : {nowait, skip_locked, wait_at_most(1h)}) {
        EXPECT_EQ(claims.claim_in(tx->ref(), {3}, others).status, claim_status::none);
    }
    tx->rollback();
}

TEST_P(repeatable_suite, a_row_that_others_have_locked_is_busy_until_they_let_go) {
    const auto tx = begin_repeatable();
    if (!tx) GTEST_SKIP() << "this client begins no such transaction";
    tx->run("SELECT * FROM " + table_);
    const row_claim claims{rows()};
    const auto other = begin();
    ASSERT_TRUE(claims.claim_in(other->ref(), {3}, nowait));
    EXPECT_EQ(claims.claim_in(tx->ref(), {3}, nowait).status, claim_status::busy);
    other->commit();
    EXPECT_TRUE(claims.claim_in(tx->ref(), {3}, nowait));
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(
    on,
    repeatable_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
