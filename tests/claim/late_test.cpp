// Rows whose term has passed: how they are found, and in which time zone.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class late_suite : public claim_suite {
protected:
    std::vector<std::string> warnings_of(const versioned_mapping& mapping) {
        const auto tx = begin();
        auto warnings = versioned_claim{mapping}.check_in(tx->ref());
        tx->rollback();
        // These warnings are about the time zone of this machine.
        std::erase_if(warnings, [](const auto& each) { return contains(each, "daylight saving"); });
        return warnings;
    }
};

// The clock that goes on while a statement runs bounds no range: of those whose term has not passed
// none is to be read.
TEST_P(late_suite, those_past_their_term_are_a_range_of_their_index) {
    if (!has_row_locks())
        GTEST_SKIP() << "SQLite's clock stands still in a statement, and counts nothing";
    define("CREATE INDEX " + table_ + "_late ON " + table_ + " (status, expires_at)");
    const std::string later =
        is_postgres() ? "clock_timestamp() + interval '1 hour'" : "SYSDATE(6) + INTERVAL 1 HOUR";
    std::string rows;
    for (int id = 1001; id <= 3000; ++id) {
        rows +=
            (rows.empty() ? "(" : ", (") + std::to_string(id) + ", 'taken', 0, 1, " + later + ")";
    }
    define("INSERT INTO " + table_ + " (id, status, event, version, expires_at) VALUES " + rows);
    define(std::string{is_postgres() ? "ANALYZE " : "ANALYZE TABLE "} + table_);
    row_mapping due;
    due.table = table_;
    due.key = {"id"};
    due.where = {{"status", comparison::equal, "taken"}, {"expires_at", comparison::is_due, {}}};
    due.order = {"expires_at"};
    const versioned_claim claims{leased_seats()};
    const row_claim others{due};
    auto tx = begin();
    const auto rows_read = [&] {
        const row said = tx->run(
                               is_postgres() ? "SELECT 0, seq_tup_read + idx_tup_fetch "
                                               "FROM pg_stat_xact_user_tables WHERE relname = '" +
                                                   table_ + "'"
                                             : "SHOW SESSION STATUS LIKE 'Handler_read_next'"
        )
                             .rows.at(0);
        const value& found = said.at(1);
        const auto* number = std::get_if<std::int64_t>(&found.held());
        return number ? *number : std::stoll(said.bytes(1));
    };
    (void)others.claim_some_in(tx->ref(), 1, skip_locked);
    auto before = rows_read();
    EXPECT_EQ(others.claim_some_in(tx->ref(), 1, skip_locked).status, claim_status::none);
    EXPECT_LT(rows_read() - before, 100);
    tx->rollback();
    expire(2222);
    tx = begin();
    claims.check_in(tx->ref());
    before = rows_read();
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 11).size(), 11U);
    EXPECT_LT(rows_read() - before, 200);
    tx->rollback();
}

TEST_P(late_suite, an_index_on_the_term_alone_will_do) {
    EXPECT_EQ(warnings_of(leased_seats()).size(), 1U);
    define("CREATE INDEX " + table_ + "_late ON " + table_ + " (expires_at)");
    EXPECT_TRUE(warnings_of(leased_seats()).empty());
}

TEST_P(late_suite, no_index_for_those_past_their_term_is_a_warning_that_cures) {
    versioned_mapping mapping = leased_seats();
    mapping.state.done = nullptr;
    auto warnings = warnings_of(mapping);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_TRUE(contains(warnings[0], "`done` is null")) << warnings[0];
    warnings = warnings_of(leased_seats());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_FALSE(contains(warnings[0], "`done` is null")) << warnings[0];
    const auto at = warnings[0].find("CREATE INDEX");
    ASSERT_NE(at, std::string::npos) << warnings[0];
    define(warnings[0].substr(at));
    EXPECT_TRUE(warnings_of(leased_seats()).empty());
    EXPECT_TRUE(warnings_of(mapping).empty());
    mapping.state = {};
    EXPECT_EQ(warnings_of(mapping).size(), 2U) << "neither buyer nor expires_at begins an index";
    mapping.order.clear();
    EXPECT_TRUE(warnings_of(mapping).empty()) << "single rows are claimed by their keys";
}

// With an index of its own each of the two ranges finds its rows, and without one too.
TEST_P(late_suite, rows_past_their_term_are_found_with_and_without_their_index) {
    const versioned_claim claims{leased_seats()};
    const std::string index = table_ + "_late";
    for (const bool has_index : {false, true}) {
        if (has_index) define("CREATE INDEX " + index + " ON " + table_ + " (status, expires_at)");
        claims.check(way_->db);
        auto tx = begin();
        ASSERT_EQ(claims.try_claim_some_in(tx->ref(), 10).size(), 10U);
        tx->commit();
        for (const int id : {2, 5}) expire(id);
        tx = begin();
        EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 10).size(), 2U);
        tx->rollback();
        define("UPDATE " + table_ + " SET status = 'free', expires_at = NULL");
    }
    // Gone since it was looked at, where its name is in the statement.
    define(is_mysql() ? "DROP INDEX " + index + " ON " + table_ : "DROP INDEX " + index);
    const auto tx = begin();
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 10).size(), 10U);
    tx->rollback();
}

TEST_P(late_suite, a_session_with_daylight_saving_is_a_warning) {
    if (!is_mysql()) GTEST_SKIP() << "nowhere else are times reckoned with in the session's zone";
    define("CREATE INDEX " + table_ + "_late ON " + table_ + " (status, expires_at)");
    const auto tx = begin();
    tx->run("SET time_zone = '+02:00'");
    EXPECT_TRUE(versioned_claim{leased_seats()}.check_in(tx->ref()).empty());
    tx->run("SET time_zone = 'Europe/Berlin'");  // by name: mysql_tzinfo_to_sql has loaded it
    const auto warnings = versioned_claim{leased_seats()}.check_in(tx->ref());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_TRUE(contains(warnings[0], "daylight saving")) << warnings[0];
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(on, late_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
