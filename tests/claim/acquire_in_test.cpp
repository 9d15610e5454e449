// mutex.try_acquire_in() in transactions that belong to each client library; its promises for all
// clients: tests/conformance/acquire_in_test.cpp.
#include "claim/lock_suite.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/mutex.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class acquire_in_suite : public lock_suite {
protected:
    // True when the connection is not one of the pool's: a test may leave its settings changed.
    bool is_lent() const { return GetParam().find('_') != std::string::npos; }
    bool is_held(const key& name) const {
        const auto found = describe(*locks_, name);
        return found && found->is_held;
    }
    std::string lock_table() const { return settings_.names.prefix + "lock"; }

    // The transaction has not failed: it writes, commits, and what it wrote is there.
    void expect_it_goes_on(lent& tx) {
        tx.run("UPDATE " + table_ + " SET note = 'went on' WHERE id = 1");
        tx.commit();
        EXPECT_EQ(ask("note", 1), "went on");
    }
    std::optional<error> refused_in(lent& tx, const key& name) {
        return thrown_by([&] { (void)mutex(*one_, name).try_acquire_in(tx.ref()); });
    }
};

TEST_P(acquire_in_suite, a_row_with_the_token_and_the_lease_share_one_commit) {
    for (int round = 1; round <= 3; ++round) {
        const auto tx = begin();
        auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
        ASSERT_TRUE(pending);
        const std::string token = std::to_string(pending->token().number);
        tx->run("UPDATE " + table_ + " SET event = " + token + " WHERE id = 5");
        tx->commit();
        auto held = pending->confirm();
        ASSERT_TRUE(held);
        EXPECT_EQ(ask("event", 5), token);
        EXPECT_TRUE(held->verify());
        EXPECT_FALSE(is_granted(mutex(*two_, name_).try_acquire()));
    }
}

TEST_P(acquire_in_suite, a_rollback_undoes_both) {
    const auto tx = begin();
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    ASSERT_TRUE(pending);
    tx->run("UPDATE " + table_ + " SET event = 77 WHERE id = 5");
    tx->rollback();
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_EQ(ask("event", 5), "0");
    EXPECT_TRUE(mutex(*two_, name_).try_acquire());
}

TEST_P(acquire_in_suite, contention_is_empty_and_the_transaction_goes_on) {
    auto held = mutex{*two_, name_}.try_acquire();
    ASSERT_TRUE(held);
    const auto tx = begin();
    tx->run("UPDATE " + table_ + " SET note = 'before' WHERE id = 2");
    for (int each = 0; each < 3; ++each) {
        EXPECT_FALSE(is_granted(mutex(*one_, name_).try_acquire_in(tx->ref())));
    }
    expect_it_goes_on(*tx);
    EXPECT_EQ(ask("note", 2), "before");
    EXPECT_TRUE(held->verify());
}

TEST_P(acquire_in_suite, a_transaction_that_is_closed_by_its_connection_is_undone) {
    if (!is_lent()) GTEST_SKIP() << "of lent connections alone";
    auto tx = begin();
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    ASSERT_TRUE(pending);
    tx.reset();
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_FALSE(is_held(name_));
}

TEST_P(acquire_in_suite, a_transaction_begun_by_the_clients_own_interface) {
    const versioned_claim versions{seats()};
    const row_claim locks{rows()};
    for (const bool is_kept : {false, true}) {
        const auto tx = begin(begun::by_the_client);
        if (!tx) GTEST_SKIP() << "this client begins no such transaction";
        auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
        ASSERT_TRUE(pending);
        auto seat = versions.try_claim_in(tx->ref(), {3});
        ASSERT_TRUE(seat);
        EXPECT_TRUE(locks.claim_in(tx->ref(), {4}, nowait));
        EXPECT_EQ(locks.claim_some_in(tx->ref(), 2, skip_locked).rows.size(), 2U);
        EXPECT_EQ(versions.finish_in(tx->ref(), *seat), change_outcome::done);
        is_kept ? tx->commit() : tx->rollback();
        EXPECT_EQ(is_granted(pending->confirm()), is_kept);
        EXPECT_EQ(state_of(3), is_kept ? "sold/3" : "free/1");
    }
    EXPECT_TRUE(mutex(*two_, name_).try_acquire()) << "what was confirmed was let go again";
}

// Our own connections are in UTC; the caller's is in the caller's zone, and its clock may be set.
TEST_P(acquire_in_suite, the_callers_time_zone_and_clock_do_not_matter) {
    if (!is_mysql() || !is_lent()) GTEST_SKIP() << "of lent connections to MySQL and MariaDB alone";
    const auto tx = begin();
    tx->run("SET time_zone = '+05:30'");
    tx->run("SET timestamp = 86400");
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    ASSERT_TRUE(pending);
    tx->commit();
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    const auto found = describe(*locks_, name_);
    EXPECT_LT(found->held_for, 1min);
    EXPECT_GT(found->remaining, 50min);
}

// --------------------------------------------------------------------------- what is refused

TEST_P(acquire_in_suite, other_levels_of_isolation_are_refused_with_what_to_do) {
    for (const begun how : {begun::repeatable, begun::serializable}) {
        const auto tx = begin(how);
        if (!tx) continue;
        const auto failure = refused_in(*tx, name_);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::wrong_transaction);
        EXPECT_NE(std::string(failure->what()).find("READ COMMITTED"), std::string::npos);
        EXPECT_FALSE(is_held(name_));
        expect_it_goes_on(*tx);
        define("UPDATE " + table_ + " SET note = 'row 1' WHERE id = 1");
    }
}

TEST_P(acquire_in_suite, outside_a_transaction_nothing_is_acquired) {
    const auto tx = begin(begun::not_at_all);
    const auto failure = refused_in(*tx, name_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_FALSE(is_held(name_));
}

TEST_P(acquire_in_suite, a_failed_transaction_takes_nothing) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin();
    EXPECT_TRUE(thrown_by([&] { tx->run("SELECT 1 / 0"); }));
    const auto failure = refused_in(*tx, name_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_FALSE(is_held(name_));
}

// Asked before it is tried, since on PostgreSQL the trial would abort the transaction.
TEST_P(acquire_in_suite, what_would_abort_the_transaction_is_refused_before) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto refused = [&](const std::string& words, errc expected) {
        const auto tx = begin();
        tx->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 3");
        tx->run(words);
        const auto failure = refused_in(*tx, name_);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), expected) << failure->what();
        EXPECT_FALSE(is_held(name_));
        EXPECT_EQ(tx->ref().inside().state(), connection_state::in_transaction);
        tx->commit();
        EXPECT_EQ(ask("note", 3), "kept");
        define("UPDATE " + table_ + " SET note = 'row 3' WHERE id = 3");
    };
    refused("SET TRANSACTION READ ONLY", errc::read_only);
    refused("SET LOCAL search_path = pg_catalog", errc::schema_missing);
    refused("REVOKE UPDATE ON " + lock_table() + " FROM CURRENT_USER", errc::permission_denied);
}

TEST_P(acquire_in_suite, a_read_only_transaction_is_refused_and_leaves_no_hold) {
    if (!is_mysql() || !is_lent()) GTEST_SKIP() << "of lent connections to MySQL and MariaDB alone";
    const auto tx = begin();
    tx->commit();
    tx->run("START TRANSACTION READ ONLY");
    const auto failure = refused_in(*tx, name_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::read_only) << failure->what();
    tx->rollback();
    EXPECT_TRUE(eventually([&] { return !is_held(name_); }, 20s));
}

// The caller's connection sees the name, and not the grant.
TEST_P(acquire_in_suite, a_transaction_in_another_database_is_refused_and_leaves_no_hold) {
    if (!has_row_locks() || !is_lent())
        GTEST_SKIP() << "of lent connections, to engines with several writers";
    const auto tx = begin();
    tx->run(
        "CREATE TEMPORARY TABLE " + lock_table() + " (lock_key " +
        (is_postgres() ? "bytea, owner bytea" : "VARBINARY(255), owner BINARY(16)") +
        ", fence BIGINT)"
    );
    const auto failure = refused_in(*tx, name_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_NE(std::string(failure->what()).find("another database"), std::string::npos);
    expect_it_goes_on(*tx);
    EXPECT_TRUE(eventually([&] { return !is_held(name_); }, 20s));
}

// PostgreSQL: the caller's lock_timeout does not matter when somebody has the row for a moment.
TEST_P(acquire_in_suite, settings_are_left_as_they_are_and_limits_are_not_met) {
    if (!is_postgres() || !is_lent()) GTEST_SKIP() << "of lent connections to PostgreSQL alone";
    const auto tx = begin();
    tx->run("SET LOCAL lock_timeout = 1");
    tx->run("SET LOCAL synchronous_commit = off");
    const auto settings = [&] {
        return tx
            ->run(
                "SELECT md5(string_agg(name || '=' || coalesce(setting, ''), ' ' ORDER BY name)) "
                "FROM pg_settings"
            )
            .rows.at(0)
            .text(0);
    };
    const std::string before = settings();
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    ASSERT_TRUE(pending);
    EXPECT_EQ(settings(), before);
    tx->commit();
    EXPECT_TRUE(pending->confirm());
}

// ----------------------------------------------------------------------------- SQLite's lock

TEST_P(acquire_in_suite, a_deferred_transaction_becomes_the_writer) {
    const auto tx = begin(begun::deferred);
    if (!tx) GTEST_SKIP() << "this client begins no such transaction";
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    ASSERT_TRUE(pending);
    tx->commit();
    EXPECT_TRUE(pending->confirm());
}

TEST_P(acquire_in_suite, another_writer_is_contention) {
    const auto tx = begin(begun::deferred);
    if (!tx) GTEST_SKIP() << "this client begins no such transaction";
    {
        const auto writer = begin();
        EXPECT_FALSE(is_granted(mutex(*one_, name_).try_acquire_in(tx->ref())));
        writer->rollback();
    }
    auto pending = mutex{*one_, name_}.try_acquire_in(tx->ref());
    EXPECT_TRUE(pending);
    expect_it_goes_on(*tx);
    EXPECT_TRUE(pending->confirm());
}

TEST_P(acquire_in_suite, a_transaction_that_has_read_too_early_is_told_to_begin_again) {
    const auto tx = begin(begun::deferred);
    if (!tx) GTEST_SKIP() << "this client begins no such transaction";
    tx->run("SELECT * FROM " + table_);
    define("UPDATE " + table_ + " SET note = 'newer' WHERE id = 1");
    const auto failure = refused_in(*tx, name_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_NE(std::string(failure->what()).find("BEGIN IMMEDIATE"), std::string::npos);
    EXPECT_EQ(tx->ref().inside().state(), connection_state::in_transaction);
    EXPECT_EQ(tx->run("SELECT note FROM " + table_ + " WHERE id = 1").rows[0].text(0), "row 1");
    tx->rollback();
    EXPECT_FALSE(is_held(name_));
}

INSTANTIATE_TEST_SUITE_P(
    on,
    acquire_in_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
