// update, finish and release of many rows in one call: each row has its own outcome.
#include <algorithm>
#include <atomic>
#include <random>
#include <set>

#include "claim/counted.hpp"
#include "claim/suite.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using outcomes = std::vector<change_outcome>;
constexpr auto done = change_outcome::done;
constexpr auto lost = change_outcome::lost;
constexpr auto busy = change_outcome::busy;

class many_rows_suite : public other_table_suite {
protected:
    versioned_mapping impatient_seats() const {
        versioned_mapping made = leased_seats();
        made.busy_timeout = 0ms;
        return made;
    }
    // Claimed and committed, in the order of these ids.
    std::vector<versioned_row> claimed(
        const versioned_claim& claims, std::initializer_list<int> ids
    ) {
        std::vector<versioned_row> rows;
        const auto tx = begin();
        for (const int id : ids) rows.push_back(claims.try_claim_in(tx->ref(), {id}).value());
        tx->commit();
        return rows;
    }
    std::string id_list(int first, int last) const {
        std::string text;
        for (int id = first; id <= last; ++id) {
            text += (text.empty() ? "" : ", ") + std::to_string(id);
        }
        return text;
    }
    // Rows 1 to `count` of the other table, with a key of two columns, one of them text.
    void make_pairs(int count) {
        define(
            "CREATE TABLE " + other_ + " (name VARCHAR(60) NOT NULL, part BIGINT NOT NULL, " +
            "status VARCHAR(10) NOT NULL, version BIGINT NOT NULL, note VARCHAR(40), " +
            "PRIMARY KEY (name, part))" + table_options()
        );
        for (int first = 1; first <= count; first += 100) {
            std::string rows;
            for (int id = first; id < first + 100 && id <= count; ++id) {
                rows += (rows.empty() ? "('" : ", ('") + odd_name(id) + "', " +
                        std::to_string(id % 7) + ", 'free', 1)";
            }
            define("INSERT INTO " + other_ + " (name, part, status, version) VALUES " + rows);
        }
    }
    // A name as SQL writes it, with characters a list of values could stumble over.
    std::string odd_name(int id) const {
        const std::string backslash = is_mysql() ? "\\\\" : "\\";
        return std::to_string(id) + " it''s {\"" + backslash + "\", NULL}, (?, $1)";
    }
    versioned_mapping pairs() const {
        versioned_mapping made = tickets();
        made.key = {"name", "part"};
        made.order = {"name", "part"};
        return made;
    }
};

// It is in both ranges that a claim of several goes through.
TEST_P(many_rows_suite, a_row_that_is_free_and_past_its_term_is_one_row) {
    versioned_mapping mapping = leased_seats();
    mapping.state = {};
    define("CREATE INDEX " + table_ + "_b ON " + table_ + " (buyer, event, id)");
    define("CREATE INDEX " + table_ + "_t ON " + table_ + " (expires_at)");
    for (const int id : {1, 2}) expire(id);
    const versioned_claim claims{mapping};
    const auto tx = begin();
    auto got = claims.try_claim_some_in(tx->ref(), 3);
    EXPECT_EQ(got.size(), 3U);
    std::set<std::int64_t> ids;
    for (const versioned_row& each : got) ids.insert(std::get<std::int64_t>(each.key[0].held()));
    EXPECT_EQ(ids.size(), got.size());
    EXPECT_EQ(claims.update_in(tx->ref(), got), outcomes(got.size(), done));
    tx->commit();
}

// A program that has locked a row can change it, though a claim has passed the row by.
TEST_P(many_rows_suite, a_claim_of_several_keeps_no_lock_of_what_it_passes_over) {
    if (engine_ == engine::sqlite) GTEST_SKIP() << "the engine has one writer at a time";
    define("CREATE INDEX " + table_ + "_s ON " + table_ + " (status, event, id)");
    const versioned_claim claims{seats()};
    transaction other = way_->db.begin();
    other.execute("SELECT version FROM " + table_ + " WHERE id = 1 FOR UPDATE");
    const auto tx = begin();
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 1).size(), 1U);
    other.execute("UPDATE " + table_ + " SET status = 'kept' WHERE id = 1");
    other.commit();
    tx->commit();
    EXPECT_EQ(ask("status", 1), "kept");
}

TEST_P(many_rows_suite, each_has_its_own_outcome_in_the_order_given) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {7, 2, 9, 4, 1, 5});
    expire(9);                                                               // no heir yet
    define("UPDATE " + table_ + " SET version = version + 1 WHERE id = 4");  // changed by others
    define("DELETE FROM " + table_ + " WHERE id = 1");
    expire(5);
    const auto heirs = claimed(claims, {5});
    const auto before = rows;
    {
        const auto tx = begin();
        EXPECT_EQ(
            claims.finish_in(tx->ref(), rows, {{"note", "paid"}}),
            (outcomes{done, done, lost, lost, lost, lost})
        );
        tx->commit();
    }
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const bool is_done = at < 2;
        EXPECT_EQ(rows[at].version, before[at].version + (is_done ? 1 : 0)) << at;
        EXPECT_EQ(rows[at].is_claimed, !is_done) << at;
        EXPECT_EQ(rows[at].claimed_as, before[at].claimed_as) << at;
    }
    EXPECT_EQ(state_of(7) + " " + ask("note", 7), "sold/3 paid");
    EXPECT_EQ(ask("expires_at", 7), "null");
    EXPECT_EQ(state_of(2), "sold/3");
    EXPECT_EQ(state_of(9) + " " + ask("note", 9), "taken/2 row 9");
    EXPECT_EQ(state_of(4), "taken/3");
    EXPECT_EQ(ask("buyer", 5), heirs[0].claimed_as);
}

TEST_P(many_rows_suite, updates_and_releases_are_of_many_too_and_rows_only_read_may_be_among_them) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {3, 6, 8});
    define("UPDATE " + table_ + " SET expires_at = NULL WHERE id = 6");  // by hand: for ever
    {
        const auto tx = begin();
        rows.push_back(claims.read_in(tx->ref(), {1}).value());
        rows.push_back(claims.read_in(tx->ref(), {10}).value());
        EXPECT_EQ(claims.update_in(tx->ref(), rows, {{"note", nullptr}}), outcomes(5, done));
        EXPECT_EQ(claims.update_in(tx->ref(), rows), outcomes(5, done));
        tx->commit();
    }
    EXPECT_EQ(ask("note", 10), "null");
    EXPECT_EQ(state_of(10), "free/3");
    EXPECT_EQ(ask("expires_at", 10), "null") << "a row that was only read has no term";
    EXPECT_NE(ask("expires_at", 6), "null");
    rows.resize(3);
    const auto tx = begin();
    EXPECT_EQ(claims.release_in(tx->ref(), rows), outcomes(3, done));
    tx->commit();
    for (const int id : {3, 6, 8}) {
        EXPECT_EQ(state_of(id), "free/5");
        EXPECT_EQ(ask("buyer", id), "null");
    }
    for (const auto& each : rows) EXPECT_EQ(each.claimed_as, "");
}

TEST_P(many_rows_suite, what_is_locked_is_busy_and_its_mates_are_done) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2, 3, 4});
    expire(4);
    const auto other = begin();
    other->run("UPDATE " + table_ + " SET note = 'other' WHERE id IN (2, 4)");
    const auto tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), rows), (outcomes{done, busy, done, lost}));
    tx->commit();
    other->rollback();
    std::vector<versioned_row> rest{rows[1]};
    const auto again = begin();
    EXPECT_EQ(claims.finish_in(again->ref(), rest), outcomes{done});
    again->commit();
    EXPECT_EQ(state_of(1) + " " + state_of(2) + " " + state_of(3), "sold/3 sold/3 sold/3");
}

TEST_P(many_rows_suite, only_what_is_busy_is_waited_for) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    versioned_mapping mapping = leased_seats();
    mapping.busy_timeout = 20s;
    const versioned_claim claims{mapping};
    auto rows = claimed(claims, {5, 2, 8});
    const auto other = begin();
    other->run("UPDATE " + table_ + " SET note = 'other' WHERE id = 5");
    const auto mine = begin();
    counted asked{mine->ref().inside()};
    std::atomic<bool> is_over = false;
    outcomes said;
    thread finisher{[&] {
        said = claims.finish_in(asked, rows);
        mine->commit();
        is_over = true;
    }};
    EXPECT_TRUE(eventually([&] { return asked.calls() >= calls_of_several_tries || is_over; }));
    EXPECT_FALSE(is_over);
    other->commit();
    finisher.join();
    EXPECT_EQ(said, outcomes(3, done));
    for (const int id : {5, 2, 8}) EXPECT_EQ(state_of(id), "sold/3");
}

TEST_P(many_rows_suite, of_several_that_name_one_row_one_is_done) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2});
    rows = {rows[0], rows[1], rows[0], rows[1], rows[0]};
    rows[4].version = 1;
    const auto tx = begin();
    EXPECT_EQ(claims.update_in(tx->ref(), rows), (outcomes{done, done, lost, lost, lost}));
    EXPECT_EQ(rows[0].version, 3);
    EXPECT_EQ(rows[2].version, 2);
    tx->commit();
    EXPECT_EQ(state_of(1) + " " + state_of(2), "taken/3 taken/3");
}

// Its mate's change makes the row look like the result that a void row expected.
TEST_P(many_rows_suite, nor_is_a_void_row_done_by_what_its_mate_has_made_of_it) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1});
    rows.push_back(rows[0]);
    rows[1].version = 3;
    rows.push_back(rows[1]);
    rows.push_back(rows[1]);
    rows[3].is_claimed = false;
    rows[3].claimed_as.clear();
    auto tx = begin();
    EXPECT_EQ(claims.update_in(tx->ref(), rows), (outcomes{done, lost, lost, lost}));
    tx->rollback();
    rows[0].version = 2;
    std::reverse(rows.begin(), rows.end());
    tx = begin();
    EXPECT_EQ(claims.update_in(tx->ref(), rows), (outcomes{lost, lost, lost, done}));
    tx->commit();
    EXPECT_EQ(state_of(1), "taken/3");
}

// A collation may take two keys for one.
TEST_P(many_rows_suite, nor_are_two_done_whose_keys_differ_in_case_alone) {
    if (!is_mysql()) GTEST_SKIP() << "its columns tell them apart by default";
    make_pairs(0);
    define("INSERT INTO " + other_ + " VALUES ('a', 1, 'taken', 5, ''), ('b', 1, 'taken', 5, '')");
    const versioned_claim claims{pairs()};
    std::vector<versioned_row> rows;
    for (const char* name : {"A", "B", "a"}) rows.push_back({{name, 1}, 5, {}, true, {}});
    const auto tx = begin();
    const outcomes said = claims.finish_in(tx->ref(), rows);
    EXPECT_EQ(said[1], done);
    EXPECT_EQ(std::count(said.begin(), said.end(), done), 2);
    EXPECT_EQ(std::count(said.begin(), said.end(), lost), 1);
    tx->commit();
}

TEST_P(many_rows_suite, a_void_row_among_them_finishes_nobody_elses_claim) {
    const versioned_claim claims{impatient_seats()};
    std::vector<versioned_row> rows = claimed(claims, {1, 2});
    {
        const auto tx = begin();
        rows.push_back(claims.try_claim_in(tx->ref(), {3}).value());
        tx->rollback();
    }
    const auto heirs = claimed(claims, {3});
    ASSERT_EQ(heirs[0].version, rows[2].version);
    const auto tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), rows), (outcomes{done, done, lost}));
    tx->commit();
    EXPECT_EQ(state_of(3), "taken/2");
}

TEST_P(many_rows_suite, after_a_rollback_they_are_as_void_as_single_ones) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2});
    {
        const auto tx = begin();
        EXPECT_EQ(claims.update_in(tx->ref(), rows), outcomes(2, done));
        tx->rollback();
    }
    EXPECT_EQ(rows[0].version, 3);
    const auto tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), rows), outcomes(2, lost));
    tx->commit();
    EXPECT_EQ(state_of(1) + " " + state_of(2), "taken/2 taken/2");
}

TEST_P(many_rows_suite, what_can_never_be_is_said_before_anything_is_changed) {
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2});
    const auto tx = begin();
    const auto refused = [&](errc expected, const assignments& to = {}) {
        const auto failure = thrown_by([&] { (void)claims.finish_in(tx->ref(), rows, to); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), expected) << failure->what();
    };
    rows[1].version = 9223372036854775807;
    refused(errc::constraint);
    rows[1].version = 2;
    rows[1].is_claimed = false;
    refused(errc::invalid_argument);
    rows[1].is_claimed = true;
    rows[1].key = {"two"};
    refused(errc::invalid_argument);
    rows[1].key = {2};
    refused(errc::invalid_argument, {{"version", 1}});
    std::vector<versioned_row> none;
    EXPECT_TRUE(claims.finish_in(tx->ref(), none).empty());
    EXPECT_EQ(claims.finish_in(tx->ref(), rows), outcomes(2, done));
    tx->commit();
}

// The winner would wait for the loser's transaction.
TEST_P(many_rows_suite, who_has_lost_a_row_does_not_keep_it_locked) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2, 3, 4});
    expire(2);
    expire(3);
    auto heirs = claimed(claims, {2, 3});
    const auto tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), rows), (outcomes{done, lost, lost, done}));
    const auto winner = begin();
    EXPECT_EQ(claims.finish_in(winner->ref(), heirs), outcomes(2, done));
    winner->commit();
    tx->commit();
}

TEST_P(many_rows_suite, there_may_be_very_many_with_keys_of_any_text) {
    constexpr int count = 1203;
    make_pairs(count);
    const versioned_claim claims{pairs()};
    std::vector<versioned_row> rows;
    {
        const auto tx = begin();
        while (rows.size() < count) {
            const auto more = claims.try_claim_some_in(tx->ref(), 500);
            ASSERT_FALSE(more.empty());
            rows.insert(rows.end(), more.begin(), more.end());
        }
        tx->commit();
    }
    std::shuffle(rows.begin(), rows.end(), std::mt19937{seed()});
    define("UPDATE " + other_ + " SET version = 9 WHERE part = 3");
    const auto tx = begin();
    const outcomes said = claims.finish_in(tx->ref(), rows, {{"note", "it's \"{done}\\"}});
    tx->commit();
    ASSERT_EQ(said.size(), rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
        EXPECT_EQ(said[at], rows[at].key[1].integer() == 3 ? lost : done) << at;
    }
    EXPECT_EQ(
        define("SELECT count(*) FROM " + other_ + " WHERE status = 'sold' AND version = 3")
            .rows[0]
            .integer(0),
        std::count(said.begin(), said.end(), done)
    );
}

TEST_P(many_rows_suite, they_are_few_statements) {
    if (!has_row_locks()) GTEST_SKIP() << "there is nobody to travel to";
    define("DELETE FROM " + table_);
    for (int first = 1; first <= 100; first += 50) {
        std::string rows;
        for (int id = first; id < first + 50; ++id) {
            rows += (rows.empty() ? "(" : ", (") + std::to_string(id) + ", 'free', 0, 1)";
        }
        define("INSERT INTO " + table_ + " (id, status, event, version) VALUES " + rows);
    }
    const versioned_claim claims{impatient_seats()};
    auto tx = begin();
    claims.check_in(tx->ref());
    counted asked{tx->ref().inside()};
    auto rows = claims.try_claim_some_in(asked, 100);
    ASSERT_EQ(rows.size(), 100U);
    // The level of isolation is asked for each time: nobody says that this transaction is ours.
    // MariaDB and MySQL look, lock and change; a list is of 200 at most.
    const int calls_to_enter = is_postgres() ? 1 : 2;
    EXPECT_LE(asked.calls(), calls_to_enter + (is_postgres() ? 1 : 3));
    tx->commit();
    tx = begin();
    counted finishing{tx->ref().inside()};
    EXPECT_EQ(claims.finish_in(finishing, rows), outcomes(100, done));
    EXPECT_LE(finishing.calls(), calls_to_enter + (is_postgres() ? 1 : 2));
    tx->commit();
}

TEST_P(many_rows_suite, they_are_changed_at_repeatable_read_too) {
    const auto tx = is_mysql() ? begin(begun::repeatable) : nullptr;
    if (!tx) GTEST_SKIP() << "claims are not made at that level here";
    const versioned_claim claims{impatient_seats()};
    auto rows = claimed(claims, {1, 2, 3});
    // The snapshot is of now, and what comes is not in it.
    tx->run("SELECT 1 FROM " + table_);
    define("UPDATE " + table_ + " SET version = 7 WHERE id = 2");
    const auto failure = thrown_by([&] {
        EXPECT_EQ(claims.finish_in(tx->ref(), rows), (outcomes{done, lost, done}));
    });
    // MariaDB may refuse here where it would roll back for a newer row.
    if (failure) {
        EXPECT_EQ(failure->code(), errc::wrong_transaction) << failure->what();
    }
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(
    on,
    many_rows_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
