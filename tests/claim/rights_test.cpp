// Rights that are missing, on PostgreSQL, where a refusal aborts the transaction it is met in: each
// is asked for before. Elsewhere it ends the statement alone.
#include "claim/suite.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::testing {
namespace {

class rights_suite : public claim_suite {
protected:
    // The owner without its own rights, until it rolls back.
    std::unique_ptr<lent> begin_without(const std::string& rights) {
        auto tx = begin();
        tx->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 10");
        take(*tx, rights + " ON " + table_);
        return tx;
    }
    static void take(lent& tx, const std::string& what) {
        tx.run("REVOKE " + what + " FROM CURRENT_USER");
    }
    void give(lent& tx, const std::string& rights) const {
        tx.run("GRANT " + rights + " ON " + table_ + " TO CURRENT_USER");
    }

    template <class Run>
    static std::string denied(lent& tx, Run&& run) {
        const auto failure = thrown_by([&] { run(tx.ref()); });
        EXPECT_TRUE(failure) << "nothing was thrown";
        if (failure) {
            EXPECT_EQ(failure->code(), errc::permission_denied) << failure->what();
        }
        EXPECT_EQ(tx.ref().inside().state(), connection_state::in_transaction);
        return failure ? failure->what() : "";
    }
};

TEST_P(rights_suite, a_schema_that_may_not_be_used) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin();
    const std::string schema = table_ + "_s";
    tx->run("CREATE SCHEMA " + schema);
    tx->run(
        "CREATE TABLE " + schema +
        ".seat (id BIGINT PRIMARY KEY, status TEXT NOT NULL, "
        "version BIGINT NOT NULL)"
    );
    tx->run("INSERT INTO " + schema + ".seat VALUES (1, 'free', 1)");
    take(*tx, "USAGE ON SCHEMA " + schema);
    versioned_mapping mapping;
    mapping.table = {"seat", schema};
    mapping.key = {"id"};
    mapping.version = "version";
    mapping.state = {"status", "free", "taken"};
    const versioned_claim claims{mapping};
    EXPECT_TRUE(
        contains(denied(*tx, [&](auto at) { (void)claims.try_claim_in(at, {1}); }), "schema")
    );
    EXPECT_TRUE(contains(denied(*tx, [&](auto at) { claims.check_in(at); }), "schema"));
    row_mapping locked;
    locked.table = mapping.table;
    locked.key = {"id"};
    denied(*tx, [&](auto at) { (void)row_claim{locked}.claim_in(at, {1}, nowait); });
    tx->run("GRANT USAGE ON SCHEMA " + schema + " TO CURRENT_USER");
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {1}));
    tx->rollback();
}

TEST_P(rights_suite, a_table_that_may_not_be_read) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin_without("SELECT");
    const versioned_claim claims{seats()};
    denied(*tx, [&](auto at) { claims.read_in(at, {1}); });
    denied(*tx, [&](auto at) { (void)claims.try_claim_in(at, {1}); });
    denied(*tx, [&](auto at) { (void)row_claim{rows()}.claim_in(at, {1}, nowait); });
    tx->rollback();
}

TEST_P(rights_suite, a_table_that_may_only_be_read_is_read) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin_without("UPDATE");
    const versioned_claim claims{seats()};
    const row_claim locks{rows()};
    EXPECT_TRUE(claims.read_in(tx->ref(), {1}));
    denied(*tx, [&](auto at) { (void)claims.try_claim_in(at, {1}); });
    denied(*tx, [&](auto at) { claims.check_in(at); });
    denied(*tx, [&](auto at) { (void)locks.claim_in(at, {1}, nowait); });
    denied(*tx, [&](auto at) { (void)locks.claim_some_in(at, 2, skip_locked); });
    give(*tx, "UPDATE");
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {1})) << "what was granted since is not seen";
    EXPECT_TRUE(locks.claim_in(tx->ref(), {2}, nowait));
    tx->rollback();
}

TEST_P(rights_suite, rights_may_be_of_columns) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    const auto tx = begin_without("ALL");
    give(*tx, "SELECT (id, status, event, version, note), UPDATE (status, version)");
    const versioned_claim claims{seats()};
    auto mine = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(mine);
    EXPECT_TRUE(row_claim{rows()}.claim_in(tx->ref(), {2}, nowait));
    denied(*tx, [&](auto at) { (void)claims.update_in(at, *mine, {{"note", "x"}}); });
    claim_choice choice;
    for (const auto& is : {comparison::is_null, comparison::is_due}) {
        choice.where = {{is == comparison::is_due ? "expires_at" : "buyer", is, {}}};
        denied(*tx, [&](auto at) { (void)claims.try_claim_some_in(at, 1, choice); });
    }
    denied(*tx, [&](auto at) { (void)versioned_claim{leased_seats()}.try_claim_in(at, {3}); });
    EXPECT_EQ(claims.finish_in(tx->ref(), *mine), change_outcome::done);
    tx->rollback();
}

TEST_P(rights_suite, an_acquire_asks_for_the_schema_too) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    database_settings settings;
    settings.names.prefix = "lh_";
    settings.names.schema = table_ + "_s";
    const database db = way_->open(settings);
    migrate(db);
    {
        session one{db};
        const auto tx = begin();
        take(*tx, "USAGE ON SCHEMA " + settings.names.schema);
        denied(*tx, [&](auto at) { (void)mutex(one, "k").try_acquire_in(at); });
        tx->rollback();
        EXPECT_FALSE(describe(db, "k"));
        const auto allowed = begin();
        auto pending = mutex(one, "k").try_acquire_in(allowed->ref());
        ASSERT_TRUE(pending);
        allowed->commit();
        EXPECT_TRUE(pending->confirm());
        one.end();
    }
    define("DROP SCHEMA " + settings.names.schema + " CASCADE");
}

INSTANTIATE_TEST_SUITE_P(on, rights_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
