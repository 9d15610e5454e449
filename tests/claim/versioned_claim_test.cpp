// versioned_claim on a table of the user's, in transactions of the user's.
#include <atomic>
#include <map>
#include <mutex>

#include "claim/counted.hpp"
#include "claim/suite.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/mutex.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using ids = std::vector<std::int64_t>;

class versioned_suite : public claim_suite {};

TEST_P(versioned_suite, an_available_row_is_claimed_and_one_version_older) {
    const versioned_claim claims{seats()};
    const auto tx = begin();
    const auto seat = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(seat);
    EXPECT_EQ(seat->version, 2);
    EXPECT_TRUE(seat->is_claimed);
    EXPECT_EQ(seat->key, parameters{3});
    EXPECT_EQ(seat->columns.text("note"), "row 3");
    tx->commit();
    EXPECT_EQ(state_of(3), "taken/2");
}

TEST_P(versioned_suite, what_is_claimed_or_absent_is_not_claimed_again) {
    const versioned_claim claims{seats()};
    const auto tx = begin();
    ASSERT_TRUE(claims.try_claim_in(tx->ref(), {3}));
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {3}));
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {99}));
    tx->commit();
    const auto later = begin();
    EXPECT_FALSE(claims.try_claim_in(later->ref(), {3}));
    later->rollback();
    EXPECT_EQ(state_of(3), "taken/2");
}

TEST_P(versioned_suite, a_claim_goes_with_the_callers_rollback) {
    const versioned_claim claims{seats()};
    {
        const auto tx = begin();
        ASSERT_TRUE(claims.try_claim_in(tx->ref(), {3}));
        tx->rollback();
    }
    EXPECT_EQ(state_of(3), "free/1");
    const auto tx = begin();
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {3}));
    tx->rollback();
}

TEST_P(versioned_suite, a_row_that_changed_since_it_was_read_is_not_claimed) {
    const versioned_claim claims{seats()};
    const auto tx = begin();
    const auto before = claims.read_in(tx->ref(), {3});
    ASSERT_TRUE(before);
    EXPECT_EQ(before->version, 1);
    EXPECT_FALSE(before->is_claimed);
    EXPECT_FALSE(claims.read_in(tx->ref(), {99}));
    tx->run("UPDATE " + table_ + " SET note = 'other', version = version + 1 WHERE id = 3");
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), *before));
    const auto now = claims.read_in(tx->ref(), {3});
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), *now));
    tx->rollback();
}

TEST_P(versioned_suite, a_row_another_open_transaction_claims_is_passed_over_at_once) {
    if (!has_row_locks()) GTEST_SKIP() << "the other transaction could not be open";
    const versioned_claim claims{seats()};
    const auto first = begin();
    ASSERT_TRUE(claims.try_claim_in(first->ref(), {3}));
    const auto second = begin();
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_FALSE(claims.try_claim_in(second->ref(), {3}));
    EXPECT_LT(std::chrono::steady_clock::now() - asked, 15s) << "it has waited for the row";
    // and the transaction goes on
    EXPECT_TRUE(claims.try_claim_in(second->ref(), {4}));
    second->commit();
    first->commit();
    EXPECT_EQ(state_of(3), "taken/2");
    EXPECT_EQ(state_of(4), "taken/2");
}

TEST_P(versioned_suite, losers_move_on_and_no_batch_fails_because_of_one_row) {
    const versioned_claim claims{seats()};
    const auto first = begin();
    const auto mine = claims.try_claim_some_in(first->ref(), 4);
    EXPECT_EQ(mine.size(), 4U);
    if (!has_row_locks()) first->commit();
    const auto second = begin();
    const auto theirs = claims.try_claim_some_in(second->ref(), 10);
    EXPECT_EQ(theirs.size(), 6U);
    second->commit();
    if (has_row_locks()) first->commit();
    for (const auto id : ids_of(mine)) {
        for (const auto other : ids_of(theirs)) EXPECT_NE(id, other);
    }
    for (int id = 1; id <= 10; ++id) EXPECT_EQ(state_of(id), "taken/2");
}

TEST_P(versioned_suite, candidates_come_in_the_mappings_order_and_by_the_calls_conditions) {
    define("UPDATE " + table_ + " SET event = 7 WHERE id IN (2, 4, 6)");
    versioned_mapping mapping = seats();
    mapping.order = {"event", descending("id")};
    const versioned_claim claims{mapping};
    claim_choice choice;
    choice.candidates = candidate_order::ordered;
    choice.where = {{"event", comparison::equal, 7}};
    const auto tx = begin();
    EXPECT_EQ(ids_of(claims.try_claim_some_in(tx->ref(), 2, choice)), (ids{6, 4}));
    choice.where = {{"event", comparison::less, 7}, {"id", comparison::at_least, 8}};
    EXPECT_EQ(ids_of(claims.try_claim_some_in(tx->ref(), 9, choice)), (ids{10, 9, 8}));
    choice.where = {{"buyer", comparison::is_not_null, {}}};
    EXPECT_TRUE(claims.try_claim_some_in(tx->ref(), 9, choice).empty());
    tx->rollback();
}

TEST_P(versioned_suite, finish_and_release_end_a_claim) {
    const versioned_claim claims{seats()};
    const auto tx = begin();
    auto sold = claims.try_claim_in(tx->ref(), {1});
    auto back = claims.try_claim_in(tx->ref(), {2});
    ASSERT_TRUE(sold && back);
    EXPECT_EQ(claims.finish_in(tx->ref(), *sold, {{"note", "paid"}}), change_outcome::done);
    EXPECT_EQ(claims.release_in(tx->ref(), *back), change_outcome::done);
    EXPECT_FALSE(sold->is_claimed);
    EXPECT_EQ(sold->version, 3);
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1}));
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {2}));
    tx->commit();
    EXPECT_EQ(state_of(1), "sold/3");
    EXPECT_EQ(ask("note", 1), "paid");
    EXPECT_EQ(state_of(2), "taken/4");
}

TEST_P(versioned_suite, an_update_is_refused_once_somebody_else_has_changed_the_row) {
    const versioned_claim claims{seats()};
    const auto tx = begin();
    auto first = claims.read_in(tx->ref(), {1});
    auto second = claims.read_in(tx->ref(), {1});
    EXPECT_EQ(claims.update_in(tx->ref(), *first, {{"note", "one"}}), change_outcome::done);
    EXPECT_EQ(claims.update_in(tx->ref(), *second, {{"note", "two"}}), change_outcome::lost);
    EXPECT_EQ(claims.update_in(tx->ref(), *first, {{"note", nullptr}}), change_outcome::done);
    tx->commit();
    EXPECT_EQ(ask("note", 1), "null");
    EXPECT_EQ(state_of(1), "free/3");
}

TEST_P(versioned_suite, a_claim_past_its_term_is_available_and_its_late_finish_is_refused) {
    const versioned_claim claims{leased_seats()};
    auto tx = begin();
    auto late = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(late);
    tx->commit();
    EXPECT_NE(ask("buyer", 5), "null");
    EXPECT_NE(ask("CASE WHEN claimed_at < expires_at THEN 'before' END", 5), "null");
    tx = begin();
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {5}));
    EXPECT_EQ(claims.update_in(tx->ref(), *late), change_outcome::done);
    tx->commit();

    expire(5);
    tx = begin();
    // nobody has claimed it since, and still
    EXPECT_EQ(claims.finish_in(tx->ref(), *late), change_outcome::lost);
    claim_choice choice;
    choice.where = {{"id", comparison::equal, 5}};
    auto heirs = claims.try_claim_some_in(tx->ref(), 3, choice);
    ASSERT_EQ(ids_of(heirs), ids{5});
    EXPECT_EQ(heirs[0].version, 4);
    tx->commit();

    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *late), change_outcome::lost);
    EXPECT_EQ(claims.release_in(tx->ref(), *late), change_outcome::lost);
    EXPECT_EQ(claims.finish_in(tx->ref(), heirs[0]), change_outcome::done);
    tx->commit();
    EXPECT_EQ(state_of(5), "sold/5");
    EXPECT_EQ(ask("expires_at", 5), "null");
}

TEST_P(versioned_suite, without_a_state_the_claimant_says_what_is_taken) {
    versioned_mapping mapping = leased_seats();
    mapping.state = {};
    mapping.claimant = "me";
    mapping.available = {{"status", comparison::equal, "free"}};
    const versioned_claim claims{mapping};
    const auto tx = begin();
    auto seat = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(seat);
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {5}));
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 100).size(), 9U);
    EXPECT_EQ(claims.release_in(tx->ref(), *seat), change_outcome::done);
    seat = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(seat);
    EXPECT_EQ(claims.finish_in(tx->ref(), *seat, {{"status", "sold"}}), change_outcome::done);
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {5}));
    tx->commit();
    EXPECT_EQ(ask("buyer", 5), "me");
}

TEST_P(versioned_suite, a_change_of_a_row_that_others_have_locked_is_busy_and_hurts_nothing) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    versioned_mapping mapping = leased_seats();
    mapping.busy_timeout = 50ms;
    const versioned_claim claims{mapping};
    auto tx = begin();
    auto seat = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(seat);
    tx->commit();
    const auto other = begin();
    other->run("UPDATE " + table_ + " SET note = 'other' WHERE id = 5");
    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *seat), change_outcome::busy);
    other->rollback();
    EXPECT_EQ(claims.finish_in(tx->ref(), *seat), change_outcome::done);
    tx->commit();
    EXPECT_EQ(state_of(5), "sold/3");
}

TEST_P(versioned_suite, a_change_waits_for_a_lock_that_goes_within_its_timeout) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    versioned_mapping mapping = seats();
    mapping.busy_timeout = 20s;
    const versioned_claim claims{mapping};
    auto tx = begin();
    auto seat = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(seat);
    tx->commit();
    const auto other = begin();
    other->run("UPDATE " + table_ + " SET note = 'other' WHERE id = 5");
    std::atomic<bool> is_over = false;
    auto outcome = change_outcome::lost;
    const auto mine = begin();
    counted asked{mine->ref().inside()};
    thread finisher{[&] {
        outcome = claims.finish_in(asked, *seat);
        mine->commit();
        is_over = true;
    }};
    EXPECT_TRUE(eventually([&] { return asked.calls() >= calls_of_several_tries || is_over; }));
    EXPECT_FALSE(is_over);
    other->commit();
    finisher.join();
    EXPECT_EQ(outcome, change_outcome::done);
}

TEST_P(versioned_suite, a_row_claimed_by_an_uncommitted_heir_is_busy_and_then_lost) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    versioned_mapping mapping = leased_seats();
    mapping.busy_timeout = 0ms;
    const versioned_claim claims{mapping};
    auto tx = begin();
    auto seat = claims.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(seat);
    tx->commit();
    const auto heir = begin();
    heir->run("UPDATE " + table_ + " SET version = version + 1, buyer = 'heir' WHERE id = 5");
    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *seat), change_outcome::busy);
    heir->commit();
    EXPECT_EQ(claims.finish_in(tx->ref(), *seat), change_outcome::lost);
    tx->rollback();
    EXPECT_EQ(ask("buyer", 5), "heir");
}

TEST_P(versioned_suite, names_are_quoted_and_keys_may_have_several_columns) {
    const char quote = is_postgres() ? '"' : '`';
    const auto named = [&](const std::string& name) {
        std::string text{quote};
        for (const char each : name)
            text += each == quote ? std::string(2, quote) : std::string{each};
        return text + quote;
    };
    const std::string odd = table_ + " \"'`; DROP";
    define(
        "CREATE TABLE " + named(odd) + " (" + named("order") + " VARCHAR(10) NOT NULL, " +
        named("a \"b` '?") + " BIGINT NOT NULL, " + named("select") + " BIGINT NOT NULL, " +
        named("from") + " VARCHAR(10) NOT NULL, PRIMARY KEY (" + named("order") + ", " +
        named("a \"b` '?") + "))" + table_options()
    );
    define("INSERT INTO " + named(odd) + " VALUES ('it''s', 1, 1, 'f'), ('it''s', 2, 1, 'f')");
    versioned_mapping mapping;
    mapping.table = odd;
    mapping.key = {"order", "a \"b` '?"};
    mapping.version = "select";
    mapping.state = {"from", "f", "t'\"`?", "d"};
    mapping.order = {descending("a \"b` '?")};
    const versioned_claim claims{mapping};
    {
        const auto tx = begin();
        EXPECT_TRUE(claims.try_claim_in(tx->ref(), {"it's", 1}));
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {"it", 2}));
        auto rest = claims.try_claim_some_in(tx->ref(), 5);
        EXPECT_EQ(rest.size(), 1U);
        EXPECT_EQ(claims.finish_in(tx->ref(), rest.at(0)), change_outcome::done);
        tx->commit();
    }
    EXPECT_EQ(
        define("SELECT 1 FROM " + named(odd) + " WHERE " + named("select") + " = 3").rows.size(), 1U
    );
    define("DROP TABLE " + named(odd));
}

TEST_P(versioned_suite, times_may_be_zone_less_or_microseconds) {
    const std::string zoneless = is_postgres() ? "TIMESTAMP" : is_mysql() ? "DATETIME(6)" : "TEXT";
    const std::string tables[] = {table_ + "_utc", table_ + "_us"};
    for (const std::string& each : tables) {
        const bool is_utc = each.back() == 'c';
        define(
            "CREATE TABLE " + each + " (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, until " +
            (is_utc ? zoneless : "BIGINT") + ")" + table_options()
        );
        define("INSERT INTO " + each + " (id, version) VALUES (1, 1)");
        versioned_mapping mapping;
        mapping.table = each;
        mapping.key = {"id"};
        mapping.version = "version";
        mapping.expires_at = "until";
        mapping.term = 1h;
        mapping.times = is_utc ? time_kind::utc : time_kind::microseconds;
        const versioned_claim claims{mapping};
        const auto tx = begin();
        auto mine = claims.try_claim_in(tx->ref(), {1});
        ASSERT_TRUE(mine);
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1}));
        EXPECT_EQ(claims.update_in(tx->ref(), *mine), change_outcome::done);
        const std::string past = !is_utc         ? "until - 7200000000"
                                 : is_postgres() ? "until - interval '2 hours'"
                                 : is_mysql()    ? "until - INTERVAL 2 HOUR"
                                              : "strftime('%Y-%m-%d %H:%M:%f', until, '-2 hours')";
        tx->run("UPDATE " + each + " SET until = " + past);
        EXPECT_EQ(claims.update_in(tx->ref(), *mine), change_outcome::lost);
        EXPECT_TRUE(claims.try_claim_in(tx->ref(), {1}));
        tx->commit();
        define("DROP TABLE " + each);
    }
}

// Every row exactly once, whatever the interleaving; some claimers roll back.
TEST_P(versioned_suite, many_claimers_take_each_row_once) {
    const auto seed = testing::seed();
    const versioned_claim claims{seats()};
    std::mutex mutex;
    std::map<std::int64_t, int> taken;
    const auto deadline = std::chrono::steady_clock::now() + 60s;  // for a failure
    const auto is_over = [&] {
        const std::lock_guard guard{mutex};
        return taken.size() == 10 || std::chrono::steady_clock::now() >= deadline;
    };
    {
        std::vector<thread> workers;
        for (unsigned worker = 0; worker < 4; ++worker) {
            workers.emplace_back([&, worker] {
                unsigned random = static_cast<unsigned>(seed) + worker;
                while (!is_over()) {
                    const auto tx = begin();
                    const auto won = claims.try_claim_some_in(tx->ref(), 2);
                    random = random * 1664525U + 1013904223U;
                    if (random >> 30U == 0) {
                        tx->rollback();
                        continue;
                    }
                    tx->commit();
                    const std::lock_guard guard{mutex};
                    for (const auto id : ids_of(won)) ++taken[id];
                }
            });
        }
    }
    EXPECT_EQ(taken.size(), 10U);
    for (const auto& [id, times] : taken) EXPECT_EQ(times, 1) << "row " << id;
}

INSTANTIATE_TEST_SUITE_P(
    on,
    versioned_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
