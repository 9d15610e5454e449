// Values that look like their column's and are none: refused before the engine does it, which on
// PostgreSQL would abort the transaction, and on MySQL would take another value.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class form_suite : public other_table_suite {
protected:
    // id, status, version and more, and a row with id 1.
    void make(const std::string& more, const std::string& status = "VARCHAR(9)") {
        define(
            "CREATE TABLE " + other_ + " (id BIGINT NOT NULL PRIMARY KEY, status " + status +
            ", version BIGINT NOT NULL" + more + ")" + table_options()
        );
        define("INSERT INTO " + other_ + " (id, status, version) VALUES (1, 'free', 1)");
    }

    // The message of the error of `run`; the transaction can still be used after it.
    template <class Run>
    static std::string refused(lent& tx, errc code, Run&& run) {
        const auto failure = thrown_by([&] { run(tx.ref()); });
        EXPECT_TRUE(failure) << "nothing was thrown";
        if (failure) {
            EXPECT_EQ(failure->code(), code) << failure->what();
        }
        EXPECT_EQ(tx.run("SELECT 1").rows.size(), 1U);
        return failure ? failure->what() : "";
    }
    static std::string problem_of(lent& tx, const versioned_mapping& mapping) {
        return refused(tx, errc::schema_mismatch, [&](auto at) {
            versioned_claim{mapping}.check_in(at);
        });
    }
};

TEST_P(form_suite, a_state_is_one_of_the_labels) {
    if (!is_mysql()) GTEST_SKIP() << "PostgreSQL's are types: unfit_test.cpp";
    make("", R"(ENUM('free', 'it''s', 'a\\b', 'x,y', 'p)'))");
    const auto tx = begin();
    EXPECT_TRUE(contains(problem_of(*tx, tickets()), "none of its labels"));
    versioned_mapping mapping = tickets();
    for (const char* label : {"it's", "a\\b", "x,y", "p)"}) {
        mapping.state = {"status", "free", label, nullptr};
        const versioned_claim claims{mapping};
        auto mine = claims.try_claim_in(tx->ref(), {1});
        ASSERT_TRUE(mine) << label;
        EXPECT_EQ(claims.release_in(tx->ref(), *mine), change_outcome::done);
    }
    for (const char* label : {"its", "it''s", "", "free'", ","}) {
        mapping.state = {"status", "free", label, nullptr};
        problem_of(*tx, mapping);
    }
    tx->rollback();
    // The catalogue has no characters of four bytes, and shows a question mark.
    define("DROP TABLE " + other_);
    make("", "ENUM('free', '\xf0\x9f\x8e\xab') CHARACTER SET utf8mb4");
    const auto again = begin();
    mapping.state = {"status", "free", "\xf0\x9f\x8e\xab", nullptr};
    EXPECT_TRUE(versioned_claim{mapping}.try_claim_in(again->ref(), {1}));
    again->rollback();
}

TEST_P(form_suite, what_has_no_order_is_not_compared) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    make(", doc JSON, docs JSONB, words TEXT[], jsons JSON[], name VARCHAR(9), spot POINT");
    const auto tx = begin();
    for (const char* column : {"doc", "jsons", "spot"}) {
        versioned_mapping mapping = tickets();
        mapping.order = {column};
        EXPECT_TRUE(contains(problem_of(*tx, mapping), "no order"));
        mapping = tickets();
        mapping.available = {{column, comparison::equal, "{}"}};
        EXPECT_TRUE(contains(problem_of(*tx, mapping), "no order"));
        mapping = tickets();
        mapping.state = {column, "1", "2", "3"};
        EXPECT_TRUE(contains(problem_of(*tx, mapping), "no order"));
        claim_choice choice;
        choice.where = {{column, comparison::equal, "{}"}};
        refused(*tx, errc::invalid_argument, [&](auto at) {
            (void)versioned_claim{tickets()}.try_claim_some_in(at, 1, choice);
        });
    }
    versioned_mapping mapping = tickets();
    mapping.order = {"docs", "words", "name", "id"};
    mapping.available = {{"doc", comparison::is_null, {}}};
    const versioned_claim claims{mapping};
    auto mine = claims.try_claim_some_in(tx->ref(), 1);
    ASSERT_EQ(mine.size(), 1U);
    EXPECT_EQ(claims.update_in(tx->ref(), mine[0], {{"doc", "{}"}}), change_outcome::done);
    tx->rollback();
}

TEST_P(form_suite, dates_and_numbers_are_within_their_columns) {
    if (!is_postgres()) GTEST_SKIP() << "of PostgreSQL alone";
    make(", day DATE, price NUMERIC(5, 2), share NUMERIC(3, 3), small REAL");
    const versioned_claim claims{tickets()};
    const auto tx = begin();
    auto mine = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(mine);
    const std::vector<assignments> bad{
        {{"day", "2026-02-30"}},
        {{"day", "soon"}},
        {{"price", 1000}},
        {{"price", -1000}},
        {{"price", 1e5}},
        {{"price", 999.996}},
        {{"price", "999.995"}},
        {{"price", "-1e3"}},
        {{"price", "+-5"}},
        {{"price", "+"}},
        {{"price", 999.9949999999999}},
        {{"share", 1}},
        {{"share", "0.9996"}},
        {{"small", 1e39}},
        {{"small", "1e39"}},
        {{"small", "+1e-60"}}};
    for (const assignments& each : bad) {
        refused(*tx, errc::invalid_argument, [&](auto at) {
            (void)claims.update_in(at, *mine, each);
        });
    }
    const std::vector<assignments> good{
        {{"day", "2026-02-28"}},
        {{"price", 999}},
        {{"price", -999.99}},
        {{"price", "999.994"}},
        {{"price", "000999.99"}},
        {{"price", "0.0000001"}},
        {{"price", "9.9e2"}},
        {{"price", 99.999}},
        {{"price", 0}},
        {{"share", "0.9994"}},
        {{"share", "0.00999"}},
        {{"small", 1e38}},
        {{"small", "-1e-30"}},
        {{"small", 7}}};
    for (const assignments& each : good) {
        EXPECT_EQ(claims.update_in(tx->ref(), *mine, each), change_outcome::done) << each[0].column;
    }
    claim_choice choice;
    for (const condition& each : std::vector<condition>{
             {"day", comparison::less, "2026-02-30"}, {"small", comparison::less, "1e39"}}) {
        choice.where = {each};
        refused(*tx, errc::invalid_argument, [&](auto at) {
            (void)claims.try_claim_some_in(at, 1, choice);
        });
    }
    // Compared with, a number may be beyond what the column holds.
    choice.where = {{"price", comparison::less, 100000}, {"small", comparison::less, 1e39}};
    EXPECT_TRUE(claims.try_claim_some_in(tx->ref(), 1, choice).empty());
    tx->rollback();
}

TEST_P(form_suite, a_version_does_not_go_beyond_its_column) {
    make("");
    const std::string most = "9223372036854775807";
    define("INSERT INTO " + other_ + " VALUES (2, 'free', " + most + ")");
    define("INSERT INTO " + other_ + " VALUES (3, 'free', " + most + " - 1)");
    versioned_mapping mapping = tickets();
    mapping.order = {"id"};
    const versioned_claim claims{mapping};
    const auto tx = begin();
    const auto as_read = claims.read_in(tx->ref(), {2});
    ASSERT_TRUE(as_read);
    refused(*tx, errc::constraint, [&](auto at) { (void)claims.try_claim_in(at, {2}); });
    refused(*tx, errc::constraint, [&](auto at) { (void)claims.try_claim_in(at, *as_read); });
    auto mine = claims.try_claim_some_in(tx->ref(), 3);
    ASSERT_EQ(mine.size(), 2U) << "one row at its end stopped the others";
    for (versioned_row& each : mine) {
        if (each.key != parameters{3}) continue;
        refused(*tx, errc::constraint, [&](auto at) { (void)claims.finish_in(at, each); });
    }
    tx->rollback();
    if (!has_row_locks()) GTEST_SKIP() << "SQLite has integers of one size";
    define("DROP TABLE " + other_);
    other_ += "_narrow";
    define(
        "CREATE TABLE " + other_ + " (id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9), " +
        "version INTEGER NOT NULL)" + table_options()
    );
    define("INSERT INTO " + other_ + " VALUES (1, 'free', 2147483647)");
    const versioned_claim narrow{tickets()};
    const auto again = begin();
    refused(*again, errc::constraint, [&](auto at) { (void)narrow.try_claim_in(at, {1}); });
    again->rollback();
    // The claim looks at the table again.
    define(
        "ALTER TABLE " + other_ +
        (is_mysql() ? " MODIFY version BIGINT NOT NULL" : " ALTER version TYPE BIGINT")
    );
    auto last = begin();
    const auto failure = thrown_by([&] { EXPECT_TRUE(narrow.try_claim_in(last->ref(), {1})); });
    last->rollback();
    if (!failure) return;
    ASSERT_TRUE(failure->is_transient()) << failure->what();  // its plans are of the old table
    last = begin();
    EXPECT_TRUE(narrow.try_claim_in(last->ref(), {1}));
    last->rollback();
}

INSTANTIATE_TEST_SUITE_P(on, form_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
