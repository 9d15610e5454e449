// The caller's own settings, on a connection that is lent: a claim means the same under each.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class lent_settings : public claim_suite {
protected:
    std::vector<std::string> harmless() const {
        if (is_postgres()) {
            return {
                "SET LOCAL DateStyle = 'SQL, DMY'",
                "SET LOCAL IntervalStyle = sql_standard",
                "SET LOCAL TimeZone = 'Asia/Kathmandu'",
                "SET LOCAL bytea_output = escape",
                "SET LOCAL array_nulls = off",
                "SET LOCAL transform_null_equals = on",
                "SET LOCAL quote_all_identifiers = on",
                "SET LOCAL plan_cache_mode = force_generic_plan",
                "SET LOCAL lock_timeout = 1"};
        }
        if (is_mysql()) {
            return {
                "SET completion_type = 1",
                "SET sql_safe_updates = 1",
                "SET time_zone = '-11:00'",
                "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
                "SET sql_auto_is_null = 1",
                "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
                "SET max_sort_length = 64, div_precision_increment = 0, group_concat_max_len = 4",
                "SET unique_checks = 0, foreign_key_checks = 0"};
        }
        return {
            "PRAGMA reverse_unordered_selects = 1",
            "PRAGMA case_sensitive_like = 1",
            "PRAGMA recursive_triggers = 1",
            "PRAGMA full_column_names = 1",
            "PRAGMA short_column_names = 0",
            "PRAGMA count_changes = 1",
            "PRAGMA automatic_index = 0",
            "PRAGMA cell_size_check = 1",
            "PRAGMA legacy_alter_table = 1"};
    }
};

TEST_P(lent_settings, change_nothing_of_a_claim) {
    if (GetParam().find('_') == std::string::npos) GTEST_SKIP() << "a connection of our own";
    for (const std::string& each : harmless()) {
        SCOPED_TRACE(each);
        define(
            "UPDATE " + table_ + " SET status = 'free', buyer = NULL, expires_at = NULL, " +
            "note = 'Z\u00fcrich'"
        );
        define("UPDATE " + table_ + " SET status = 'taken' WHERE id IN (2, 3)");
        define("UPDATE " + table_ + " SET expires_at = " + an_hour_ago() + " WHERE id = 2");
        versioned_mapping mapping = leased_seats();
        mapping.available = {{"note", comparison::equal, "Z\u00fcrich"}};
        const versioned_claim claims{mapping};
        const auto tx = begin();
        tx->run(each);
        const auto past_its_term = claims.try_claim_in(tx->ref(), {2});
        ASSERT_TRUE(past_its_term);
        EXPECT_EQ(past_its_term->columns.text(0), "Z\u00fcrich");
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {3})) << "claimed, without a term";
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {2})) << "claimed for an hour from now on";
        EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 20).size(), 8U);
        tx->rollback();
    }
}

INSTANTIATE_TEST_SUITE_P(on, lent_settings, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
