// A caller that meets another's lock or change has no error, no wait, and keeps nobody out in vain.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::steady_clock;

class bystander_suite : public claim_suite {
protected:
    void drop_index() {
        const std::string index = table_ + "_ix";
        define(is_mysql() ? "DROP INDEX " + index + " ON " + table_ : "DROP INDEX " + index);
    }
};

// A foreign key's check shares the row; an update of what it refers to would wait for it.
TEST_P(bystander_suite, a_change_of_what_foreign_keys_refer_to_does_not_wait_for_their_checks) {
    if (!is_postgres()) GTEST_SKIP() << "InnoDB locks the index entry, and the change waits for it";
    define("CREATE UNIQUE INDEX " + table_ + "_note ON " + table_ + " (note)");
    define("CREATE TABLE " + table_ + "_ref (note TEXT REFERENCES " + table_ + " (note))");
    versioned_mapping mapping = seats();
    mapping.busy_timeout = 0ms;
    const versioned_claim claims{mapping};
    auto tx = begin();
    auto seat = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(seat);
    tx->commit();
    const auto other = begin();
    other->run("INSERT INTO " + table_ + "_ref VALUES ('row 1')");
    tx = begin();
    tx->run("SET LOCAL lock_timeout = '20s'");  // so that a wait is a failure, and no standstill
    EXPECT_EQ(claims.update_in(tx->ref(), *seat, {{"buyer", "me"}}), change_outcome::done);
    const auto asked = steady_clock::now();
    EXPECT_EQ(claims.update_in(tx->ref(), *seat, {{"note", "new"}}), change_outcome::busy);
    EXPECT_LT(steady_clock::now() - asked, 15s) << "it has waited for the check";
    other->rollback();
    EXPECT_EQ(claims.update_in(tx->ref(), *seat, {{"note", "new"}}), change_outcome::done);
    tx->commit();
    EXPECT_EQ(ask("note", 1), "new");
    define("DROP TABLE " + table_ + "_ref");
}

TEST_P(bystander_suite, who_has_lost_keeps_nobody_out) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    versioned_mapping mapping = seats();
    mapping.busy_timeout = 200ms;
    const versioned_claim claims{mapping};
    auto tx = begin();
    auto old = claims.read_in(tx->ref(), {5});
    auto winner = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(old && winner);
    tx->commit();
    const auto loser = begin();
    EXPECT_EQ(claims.update_in(loser->ref(), *old), change_outcome::lost);
    EXPECT_FALSE(claims.try_claim_in(loser->ref(), *old));
    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *winner), change_outcome::done);
    tx->commit();
    loser->rollback();
}

TEST_P(bystander_suite, an_index_that_goes_meanwhile_is_missed_by_no_claim) {
    const row_claim locks{rows()};
    const versioned_claim versions{seats()};
    const auto claim_all = [&] {
        const auto tx = begin();
        EXPECT_EQ(locks.claim_some_in(tx->ref(), 3, skip_locked).rows.size(), 3U);
        EXPECT_EQ(locks.claim_some_in(tx->ref(), 3, nowait).rows.size(), 3U);
        EXPECT_EQ(versions.try_claim_some_in(tx->ref(), 3).size(), 3U);
        tx->rollback();
    };
    claim_all();
    drop_index();
    claim_all();
}

TEST_P(bystander_suite, an_index_that_cannot_be_used_is_not_chosen) {
    if (!is_mysql()) GTEST_SKIP() << "nobody else can be told which to use";
    const auto choices = [&](const row_mapping& mapping) {
        const auto tx = begin();
        const row_claim claims{mapping};
        const auto warnings = claims.check_in(tx->ref());
        EXPECT_EQ(claims.claim_some_in(tx->ref(), 3, skip_locked).rows.size(), 3U);
        tx->rollback();
        return warnings.size();
    };
    EXPECT_EQ(choices(rows()), 0U);
    define(
        "ALTER TABLE " + table_ + " ALTER INDEX " + table_ + "_ix " +
        (engine_ == engine::mariadb ? "IGNORED" : "INVISIBLE")
    );
    EXPECT_EQ(choices(rows()), 1U);
    row_mapping by_note = rows();
    by_note.order = {"note"};
    define("CREATE INDEX " + table_ + "_pre ON " + table_ + " (status, note(2))");
    EXPECT_EQ(choices(by_note), 1U);
    define("CREATE INDEX " + table_ + "_all ON " + table_ + " (status, note)");
    EXPECT_EQ(choices(by_note), 0U);
}

TEST_P(bystander_suite, a_thousand_rows_are_one_claim) {
    std::string more;
    for (int id = 11; id <= 1100; ++id) {
        more += (id == 11 ? "(" : ", (") + std::to_string(id) + ", 'free', 0, 1)";
    }
    define("INSERT INTO " + table_ + " (id, status, event, version) VALUES " + more);
    const row_claim locks{rows()};
    const auto tx = begin();
    for (const when_locked others : {nowait, wait_at_most(5ms), skip_locked}) {
        const auto got = ids_of(locks.claim_some_in(tx->ref(), 1000, others));
        ASSERT_EQ(got.size(), 1000U);
        EXPECT_EQ(got.front(), 1);
        EXPECT_EQ(got.back(), 1000);
    }
    tx->rollback();
}

TEST_P(bystander_suite, a_read_only_transaction_is_refused_and_lives) {
    if (!is_postgres()) GTEST_SKIP() << "nowhere else does the refusal end it";
    const auto tx = begin();
    tx->run("SET TRANSACTION READ ONLY");
    const auto by_row =
        thrown_by([&] { (void)row_claim{rows()}.claim_in(tx->ref(), {1}, nowait); });
    ASSERT_TRUE(by_row);
    EXPECT_EQ(by_row->code(), errc::read_only) << by_row->what();
    const auto by_version =
        thrown_by([&] { (void)versioned_claim{seats()}.try_claim_in(tx->ref(), {1}); });
    ASSERT_TRUE(by_version);
    EXPECT_EQ(by_version->code(), errc::read_only) << by_version->what();
    EXPECT_TRUE(versioned_claim{seats()}.read_in(tx->ref(), {1}));
    tx->rollback();
}

TEST_P(bystander_suite, read_uncommitted_is_read_committed_on_postgresql) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin();
    tx->run("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    EXPECT_TRUE(row_claim{rows()}.claim_in(tx->ref(), {1}, nowait));
    EXPECT_TRUE(versioned_claim{seats()}.try_claim_in(tx->ref(), {2}));
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(
    on,
    bystander_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
