// row_claim: rows of the user's table locked in the user's transaction.
#include <algorithm>
#include <atomic>

#include "claim/counted.hpp"
#include "claim/suite.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using ids = std::vector<std::int64_t>;

class row_suite : public claim_suite {};

TEST_P(row_suite, a_row_comes_with_typed_values) {
    const row_claim claims{rows()};
    const auto tx = begin();
    const claimed_rows got = claims.claim_in(tx->ref(), {3}, nowait);
    ASSERT_TRUE(got);
    ASSERT_EQ(got.rows.size(), 1U);
    EXPECT_EQ(got.rows[0].key, parameters{3});
    EXPECT_EQ(got.rows[0].columns.text(0), "row 3");
    EXPECT_EQ(got.rows[0].columns.integer(1), 1);
    EXPECT_EQ(got.rows[0].columns.text("note"), "row 3");
    EXPECT_EQ(got.rows[0].columns.integer("version"), 1);
    tx->rollback();
}

TEST_P(row_suite, rows_of_a_query_come_with_the_names_of_their_columns) {
    const result found = define(
        "SELECT id, note AS about, 0.5e0 AS share, id = 1 AS is_first, NULL AS no_value FROM " +
        table_ + " WHERE id < 3 ORDER BY id"
    );
    ASSERT_EQ(found.size(), 2U);
    std::vector<bool> firsts;
    for (const row& each : found) {
        EXPECT_EQ(each.text("about"), "row " + std::to_string(each.integer("id")));
        EXPECT_DOUBLE_EQ(each.real("share"), 0.5);
        EXPECT_TRUE(each.is_null("no_value"));
        firsts.push_back(each.boolean("is_first"));
    }
    EXPECT_EQ(firsts, (std::vector{true, false}));
    EXPECT_TRUE(define("SELECT id FROM " + table_ + " WHERE id < 0").empty());
}

TEST_P(row_suite, what_is_absent_or_not_as_the_mapping_says_is_none) {
    define("UPDATE " + table_ + " SET status = 'sold' WHERE id = 3");
    const row_claim claims{rows()};
    const auto tx = begin();
    for (const when_locked others : {nowait, skip_locked, wait_at_most(5ms)}) {
        EXPECT_EQ(claims.claim_in(tx->ref(), {3}, others).status, claim_status::none);
        EXPECT_EQ(claims.claim_in(tx->ref(), {99}, others).status, claim_status::none);
        const std::vector<condition> nobody{{"event", comparison::greater, 0}};
        EXPECT_EQ(claims.claim_some_in(tx->ref(), 5, others, nobody).status, claim_status::none);
    }
    tx->rollback();
}

TEST_P(row_suite, the_first_n_come_in_order) {
    const row_claim claims{rows()};
    const auto tx = begin();
    for (const when_locked others : {nowait, skip_locked, wait_at_most(5ms)}) {
        EXPECT_EQ(ids_of(claims.claim_some_in(tx->ref(), 3, others)), (ids{1, 2, 3}));
        EXPECT_EQ(
            ids_of(claims.claim_some_in(tx->ref(), 2, others, {{"id", comparison::greater, 7}})),
            (ids{8, 9})
        );
        EXPECT_EQ(claims.claim_some_in(tx->ref(), 100, others).rows.size(), 10U);
    }
    tx->rollback();
}

TEST_P(row_suite, a_locked_row_is_busy_at_once_and_the_transaction_goes_on) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const row_claim claims{rows()};
    const auto first = begin();
    ASSERT_TRUE(claims.claim_in(first->ref(), {3}, nowait));
    const auto second = begin();
    second->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 9");
    EXPECT_EQ(claims.claim_in(second->ref(), {3}, nowait).status, claim_status::busy);
    EXPECT_EQ(claims.claim_in(second->ref(), {3}, skip_locked).status, claim_status::busy);
    EXPECT_TRUE(claims.claim_in(second->ref(), {4}, nowait));
    first->rollback();
    EXPECT_TRUE(claims.claim_in(second->ref(), {3}, nowait));
    second->commit();
    EXPECT_EQ(ask("note", 9), "kept");
}

TEST_P(row_suite, skip_locked_hands_out_disjoint_rows) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const row_claim claims{rows()};
    const auto first = begin();
    const auto second = begin();
    const auto third = begin();
    EXPECT_EQ(ids_of(claims.claim_some_in(first->ref(), 4, skip_locked)), (ids{1, 2, 3, 4}));
    EXPECT_EQ(ids_of(claims.claim_some_in(second->ref(), 4, skip_locked)), (ids{5, 6, 7, 8}));
    EXPECT_EQ(ids_of(claims.claim_some_in(third->ref(), 4, skip_locked)), (ids{9, 10}));
    third->run("UPDATE " + table_ + " SET status = 'sold' WHERE id = 9");
    third->commit();
    const auto fourth = begin();
    EXPECT_EQ(ids_of(claims.claim_some_in(fourth->ref(), 4, skip_locked)), ids{10});
    fourth->commit();
    second->commit();
    first->commit();
}

TEST_P(row_suite, nowait_takes_all_of_the_first_n_or_none) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const row_claim claims{rows()};
    const auto first = begin();
    ASSERT_TRUE(claims.claim_in(first->ref(), {2}, nowait));
    const auto second = begin();
    second->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 9");
    EXPECT_EQ(claims.claim_some_in(second->ref(), 3, nowait).status, claim_status::busy);
    const auto third = begin();
    // Rows behind the first n were never touched; on PostgreSQL the first n were given back.
    EXPECT_TRUE(claims.claim_in(third->ref(), {4}, nowait));
    if (is_postgres()) {
        EXPECT_TRUE(claims.claim_in(third->ref(), {1}, nowait));
    }
    third->rollback();
    first->rollback();
    EXPECT_EQ(ids_of(claims.claim_some_in(second->ref(), 3, nowait)), (ids{1, 2, 3}));
    second->commit();
    EXPECT_EQ(ask("note", 9), "kept");
}

TEST_P(row_suite, a_wait_ends_with_the_lock_or_at_its_limit) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const row_claim claims{rows()};
    const auto first = begin();
    ASSERT_TRUE(claims.claim_in(first->ref(), {2}, nowait));
    auto second = begin();
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(claims.claim_in(second->ref(), {2}, wait_at_most(60ms)).status, claim_status::busy);
    EXPECT_EQ(
        claims.claim_some_in(second->ref(), 3, wait_at_most(60ms)).status, claim_status::busy
    );
    EXPECT_GE(std::chrono::steady_clock::now() - asked, 120ms);
    second->rollback();
    std::atomic<int> got = 0;
    const auto third = begin(), fourth = begin();
    counted one_asks{third->ref().inside()}, several_ask{fourth->ref().inside()};
    thread by_key{[&] {
        EXPECT_TRUE(claims.claim_in(one_asks, {2}, wait_at_most(20s)));
        ++got;
        third->commit();
    }};
    thread several{[&] {
        EXPECT_TRUE(claims.claim_some_in(several_ask, 3, wait_at_most(20s)));
        ++got;
        fourth->commit();
    }};
    EXPECT_TRUE(eventually([&] {
        const int fewest = std::min(one_asks.calls(), several_ask.calls());
        return fewest >= calls_of_several_tries || got > 0;
    }));
    EXPECT_EQ(got, 0);
    first->commit();
    by_key.join();
    several.join();
    EXPECT_EQ(got, 2);
}

TEST_P(row_suite, shared_claims_share_and_keep_writers_out) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    row_mapping shared = rows();
    shared.strength = lock_strength::share;
    const row_claim readers{shared}, writers{rows()};
    const auto one = begin();
    const auto two = begin();
    const auto three = begin();
    EXPECT_TRUE(readers.claim_in(one->ref(), {1}, nowait));
    EXPECT_TRUE(readers.claim_in(two->ref(), {1}, nowait));
    EXPECT_EQ(writers.claim_in(three->ref(), {1}, nowait).status, claim_status::busy);
    EXPECT_EQ(readers.claim_some_in(three->ref(), 3, skip_locked).rows.size(), 3U);
    three->rollback();
    two->rollback();
    one->rollback();
}

TEST_P(row_suite, locks_of_the_key_alone_are_postgresqls) {
    row_mapping key_share = rows();
    key_share.strength = lock_strength::key_share;
    row_mapping no_key = rows();
    no_key.strength = lock_strength::no_key_update;
    const row_claim referring{key_share}, changing{no_key}, removing{rows()};
    const auto one = begin();
    if (!is_postgres()) {
        const auto failure = thrown_by([&] { (void)referring.claim_in(one->ref(), {1}, nowait); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::unsupported);
        one->rollback();
        return;
    }
    const auto two = begin();
    EXPECT_TRUE(referring.claim_in(one->ref(), {1}, nowait));
    EXPECT_TRUE(changing.claim_in(two->ref(), {1}, nowait));
    const auto three = begin();
    EXPECT_EQ(removing.claim_in(three->ref(), {1}, nowait).status, claim_status::busy);
}

TEST_P(row_suite, due_is_by_the_databases_clock) {
    row_mapping mapping = rows();
    mapping.where = {{"expires_at", comparison::is_due, {}}};
    const row_claim claims{mapping};
    define("UPDATE " + table_ + " SET expires_at = " + an_hour_ago() + " WHERE id IN (2, 5)");
    const auto tx = begin();
    EXPECT_EQ(ids_of(claims.claim_some_in(tx->ref(), 9, skip_locked)), (ids{2, 5}));
    EXPECT_EQ(claims.claim_in(tx->ref(), {1}, nowait).status, claim_status::none);
    tx->rollback();
}

// The planner that takes the table for empty joins it row by row; see the plan in database-facts.
TEST_P(row_suite, never_more_than_n_with_statistics_of_an_empty_table) {
    std::string more;
    for (int id = 11; id <= 400; ++id) {
        more += (id == 11 ? "(" : ", (") + std::to_string(id) + ", 'free', 0, 1)";
    }
    define("DELETE FROM " + table_);
    if (is_postgres()) define("ANALYZE " + table_);
    define("INSERT INTO " + table_ + " (id, status, event, version) VALUES " + more);
    const row_claim claims{rows()};
    const versioned_claim versions{seats()};
    const auto tx = begin();
    for (const int n : {1, 7, 50}) {
        EXPECT_EQ(claims.claim_some_in(tx->ref(), n, skip_locked).rows.size(), std::size_t(n));
        EXPECT_EQ(claims.claim_some_in(tx->ref(), n, nowait).rows.size(), std::size_t(n));
    }
    EXPECT_EQ(versions.try_claim_some_in(tx->ref(), 7).size(), 7U);
    tx->commit();
    EXPECT_EQ(
        define("SELECT COUNT(*) FROM " + table_ + " WHERE status = 'taken'").rows.at(0).integer(0),
        7
    );
}

// SQLite: the write lock instead of row locks.
TEST_P(row_suite, where_only_one_can_write_a_claim_takes_the_write_lock) {
    const auto holder = begin(begun::deferred);
    if (!holder) GTEST_SKIP() << "this client begins no such transaction";
    const row_claim claims{rows()};
    const versioned_claim versions{seats()};
    ASSERT_TRUE(claims.claim_in(holder->ref(), {1}, nowait));
    const auto other = begin(begun::deferred);
    EXPECT_EQ(claims.claim_in(other->ref(), {2}, nowait).status, claim_status::busy);
    EXPECT_EQ(claims.claim_some_in(other->ref(), 2, skip_locked).status, claim_status::busy);
    EXPECT_FALSE(versions.try_claim_in(other->ref(), {2}));
    EXPECT_TRUE(versions.try_claim_some_in(other->ref(), 2).empty());
    auto seen = versions.read_in(other->ref(), {2});
    ASSERT_TRUE(seen);
    holder->commit();
    other->rollback();
    const auto next = begin(begun::deferred);
    EXPECT_TRUE(claims.claim_in(next->ref(), {2}, nowait));
    next->rollback();
}

INSTANTIATE_TEST_SUITE_P(on, row_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
