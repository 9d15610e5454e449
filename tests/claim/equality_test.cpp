// Values that C++ tells apart and the database takes for one: by a collation, or because a type
// pads, rounds or writes a value in several ways. They must not decide who gets a row.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

// Two values that a column of that type takes for one; how people hear of it.
struct alike {
    std::string type;
    value one;
    value other;
    std::string word;
};

class equality_suite : public other_table_suite {
protected:
    void SetUp() override {
        other_table_suite::SetUp();
        if (!is_postgres()) return;
        define(
            "CREATE COLLATION " + other_ +
            "_ci (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        );
        // Suites that run beside this one make it too, and one of them is told that it is there.
        const auto failure =
            thrown_by([&] { define("CREATE EXTENSION IF NOT EXISTS citext SCHEMA public"); });
        if (failure) define("SELECT 'there'::public.citext");
    }
    void TearDown() override {
        if (way_) define("DROP TABLE IF EXISTS " + other_);
        if (way_ && is_postgres()) {
            define("DROP DOMAIN IF EXISTS " + other_ + "_d");
            define("DROP COLLATION " + other_ + "_ci");
        }
        other_table_suite::TearDown();
    }

    std::string blind_type() const {  // to case
        if (is_postgres()) return "TEXT COLLATE " + other_ + "_ci";
        return is_mysql() ? "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
                          : "TEXT COLLATE NOCASE";
    }
    std::string blind_word() const {
        if (is_postgres()) return "with collation public." + other_ + "_ci";
        return is_mysql() ? "with collation utf8mb4_general_ci" : "with collation NOCASE";
    }
    std::string exact_type() const {
        if (is_postgres()) return "TEXT";
        return is_mysql() ? "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" : "TEXT";
    }

    std::vector<alike> all_alike() {
        std::vector<alike> all{
            {blind_type(), "p", "P", blind_word()}, {"BIGINT", "1", "01", "which takes"}};
        if (is_postgres()) {
            define("CREATE DOMAIN " + other_ + "_d AS public.citext CHECK (VALUE <> 'never')");
            all.push_back({blind_type(), "o", "\u00f6", blind_word()});
            all.push_back({"public.citext", "p", "P", "is citext"});
            all.push_back({other_ + "_d", "p", "P", "is " + other_ + "_d"});
            all.push_back({"CHAR(3)", "p", "p ", "is character(3)"});
            all.push_back({"NUMERIC(3, 0)", "1.2", "1.4", "is numeric(3,0)"});
            all.push_back({"NUMERIC", 1, 1.0, "is numeric"});
            all.push_back({"BOOLEAN", "t", "true", "is boolean"});
            all.push_back({"TIMESTAMPTZ", "2026-01-01 00:00:00Z", "2026-01-01 01:00:00+01", "is"});
        } else if (is_mysql()) {
            all.push_back({blind_type(), "o", "\u00f6", blind_word()});
            all.push_back({"VARCHAR(9) CHARACTER SET latin1", "o", "O", "with collation latin1_"});
            all.push_back({exact_type(), "p", "p ", "with collation utf8mb4_bin"});
            all.push_back({"CHAR(3) CHARACTER SET utf8mb4", "p", "p ", "char(3) with collation"});
            all.push_back({"TEXT CHARACTER SET utf8mb4", "p", "P", "text with collation utf8mb4_"});
            all.push_back({"BINARY(4)", blob{"p"}, blob{std::string{"p\0", 2}}, "is binary(4)"});
            all.push_back({"DECIMAL(3, 0)", "1.2", "1.4", "is decimal(3,0)"});
            all.push_back({"DOUBLE", 1, 1.0, "is double"});
            all.push_back({"DATETIME(0)", "2026-01-01", "2026-01-01 00:00:00", "is datetime"});
        } else {
            all.push_back({"TEXT COLLATE RTRIM", "p", "p ", "with collation RTRIM"});
            all.push_back({"NUMERIC", 1, "1.0", "is NUMERIC"});
            all.push_back({"REAL", 1, 1.0, "is REAL"});
            all.push_back({"BLOB COLLATE NOCASE", "p", "P", "is BLOB with collation NOCASE"});
        }
        return all;
    }

    void make(const std::string& type, const std::string& first) {
        define("DROP TABLE IF EXISTS " + other_);
        define(
            "CREATE TABLE " + other_ + " (id BIGINT NOT NULL PRIMARY KEY, status " + type +
            ", version BIGINT NOT NULL, buyer " + type + ", expires_at " + time_type() + ")" +
            table_options()
        );
        define("INSERT INTO " + other_ + " (id, status, version) VALUES (1, " + first + ", 1)");
    }

    // The message of the error of `run`, in a transaction that can still be used after it.
    template <class Run>
    std::string refused(Run&& run) {
        const auto tx = begin();
        const auto failure = thrown_by([&] { run(tx->ref()); });
        EXPECT_EQ(tx->run("SELECT 1").rows.size(), 1U);
        tx->rollback();
        if (!failure) return "nothing was thrown";
        EXPECT_EQ(failure->code(), errc::schema_mismatch) << failure->what();
        return failure->what();
    }
    template <class Claim>
    std::string problem_of(const Claim& claims) {
        return refused([&](transaction_ref tx) { claims.check_in(tx); });
    }
    versioned_claim claims_of(const value& from, const value& to, const value& done) const {
        versioned_mapping mapping = tickets();
        mapping.state = {"status", from, to, done};
        return versioned_claim{mapping};
    }
};

TEST_P(equality_suite, states_that_the_column_takes_for_one_are_refused) {
    for (const alike& each : all_alike()) {
        make(each.type, "NULL");
        const bool is_bytes = std::holds_alternative<blob>(each.one.held());
        const bool is_time = contains(each.type, "TIME");
        const value third = is_bytes                      ? value{blob{"z"}}
                            : is_time                     ? value{"2027-01-01 00:00:00"}
                            : contains(each.type, "BOOL") ? value{"f"}
                                                          : value{"7"};
        const auto expect_refused = [&](const versioned_claim& claims) {
            const std::string said = problem_of(claims);
            EXPECT_TRUE(contains(said, "column status (state)")) << each.type << ": " << said;
            EXPECT_TRUE(contains(said, each.word)) << each.type << ": " << said;
            EXPECT_TRUE(contains(said, "for one value")) << each.type << ": " << said;
        };
        expect_refused(claims_of(each.one, each.other, {}));
        expect_refused(claims_of(each.one, third, each.other));
        expect_refused(claims_of(third, each.other, each.one));
    }
}

TEST_P(equality_suite, one_row_goes_to_one_worker) {
    make(blind_type(), "'p'");
    int grants = 0;
    std::string said;
    for (int worker = 1; worker <= 2; ++worker) {
        const versioned_claim claims = claims_of("p", "P", "d");
        const auto tx = begin();
        const auto failure =
            thrown_by([&] { grants += claims.try_claim_in(tx->ref(), {1}) ? 1 : 0; });
        if (failure) said = failure->what();
        tx->commit();
    }
    EXPECT_LE(grants, 1);
    EXPECT_TRUE(contains(said, blind_word())) << said;
}

TEST_P(equality_suite, states_that_the_column_tells_apart_are_not) {
    std::vector<std::string> types{exact_type()};
    if (is_postgres()) types.insert(types.end(), {"VARCHAR(9)", "\"char\""});
    if (is_mysql()) types.emplace_back("CHAR(3) COLLATE utf8mb4_bin");
    if (engine_ == engine::sqlite)
        types.insert(types.end(), {"BLOB", "NUMERIC", "TEXT COLLATE RTRIM"});
    for (const std::string& type : types) {
        make(type, "'p'");
        const auto claims = claims_of("p", "P", "o");
        const auto tx = begin();
        const auto warnings = claims.check_in(tx->ref());
        ASSERT_EQ(warnings.size(), 1U) << type;
        EXPECT_TRUE(contains(warnings[0], "no column says who has claimed")) << warnings[0];
        auto row = claims.try_claim_in(tx->ref(), {1});
        ASSERT_TRUE(row) << type;
        EXPECT_EQ(claims.finish_in(tx->ref(), *row), change_outcome::done) << type;
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1})) << type;
        tx->commit();
    }
    make(blind_type(), "'p'");
    EXPECT_EQ(problem_of(claims_of("p", "q", "r")), "nothing was thrown");
    make("BIGINT", "0");
    EXPECT_EQ(problem_of(claims_of(0, 1, 2)), "nothing was thrown");
}

TEST_P(equality_suite, done_is_a_state_of_its_own) {
    for (const char* const done : {"free", "taken"}) {
        versioned_mapping mapping = seats();
        mapping.state.done = done;
        const auto failure = thrown_by([&] { versioned_claim{mapping}; });
        ASSERT_TRUE(failure) << done;
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

// A void row changes no claim of somebody whose name the column takes for its own.
TEST_P(equality_suite, claimants_are_told_apart_letter_by_letter) {
    versioned_mapping mapping = tickets();
    mapping.state = {};
    mapping.claimed_by = "buyer";
    const std::vector<std::string> heirs = engine_ == engine::sqlite
                                               ? std::vector<std::string>{"ONE"}
                                               : std::vector<std::string>{"ONE", "\u00f6ne"};
    for (const std::string& heir : heirs) {
        make(blind_type(), "NULL");
        mapping.claimant = "one";
        const versioned_claim claims{mapping};
        mapping.claimant = heir;
        const versioned_claim others{mapping};
        auto tx = begin();
        auto gone = claims.try_claim_in(tx->ref(), {1});
        ASSERT_TRUE(gone);
        tx->rollback();
        tx = begin();
        auto held = others.try_claim_in(tx->ref(), {1});
        ASSERT_TRUE(held);
        tx->commit();
        tx = begin();
        EXPECT_EQ(claims.update_in(tx->ref(), *gone), change_outcome::lost) << heir;
        EXPECT_EQ(claims.release_in(tx->ref(), *gone), change_outcome::lost) << heir;
        EXPECT_EQ(others.release_in(tx->ref(), *held), change_outcome::done) << heir;
        tx->commit();
    }
}

// A caller that names two values of one column means them to be two.
TEST_P(equality_suite, conditions_that_the_column_takes_for_one_are_refused) {
    make(blind_type(), "'p'");
    row_mapping mapping;
    mapping.table = other_;
    mapping.key = {"id"};
    mapping.where = {{"status", comparison::equal, "p"}, {"status", comparison::not_equal, "P"}};
    const std::string said = problem_of(row_claim{mapping});
    EXPECT_TRUE(contains(said, "column status (condition)")) << said;
    EXPECT_TRUE(contains(said, blind_word())) << said;
    versioned_mapping versions = tickets();
    versions.state = {"status", "p", "q", "r"};
    versions.available = {{"status", comparison::not_equal, "R"}};
    EXPECT_TRUE(contains(problem_of(versioned_claim{versions}), "'r' and 'R'"));
    mapping.where = {{"status", comparison::equal, "p"}, {"status", comparison::not_equal, "q"}};
    EXPECT_EQ(problem_of(row_claim{mapping}), "nothing was thrown");
}

// Here only the values that finish() assigns keep the row from being claimed again.
TEST_P(equality_suite, a_finish_makes_of_a_condition_another_value) {
    make(blind_type(), "'p'");
    versioned_mapping mapping = tickets();
    mapping.state = {};
    mapping.expires_at = "expires_at";
    mapping.term = 1h;
    mapping.available = {{"status", comparison::equal, "p"}};
    const versioned_claim claims{mapping};
    const auto tx = begin();
    auto row = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(row);
    const auto failure = thrown_by([&] {
        (void)claims.finish_in(tx->ref(), *row, {{"status", "P"}});
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_TRUE(contains(failure->what(), blind_word())) << failure->what();
    EXPECT_EQ(claims.finish_in(tx->ref(), *row, {{"status", "q"}}), change_outcome::done);
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1}));
    tx->commit();
}

// An index that tells apart what the column does not: a key names two rows.
TEST_P(equality_suite, a_key_is_unique_as_it_is_compared) {
    if (is_mysql()) GTEST_SKIP() << "an index has the collations of its columns there";
    const std::string exact = is_postgres() ? "\"C\"" : "BINARY";
    define(
        "CREATE TABLE " + other_ + " (id " + blind_type() +
        " NOT NULL, status VARCHAR(9), version BIGINT NOT NULL)"
    );
    define("CREATE UNIQUE INDEX " + other_ + "_u ON " + other_ + " (id COLLATE " + exact + ")");
    define("INSERT INTO " + other_ + " VALUES ('a', 'free', 1), ('A', 'free', 1)");
    const std::string said = problem_of(versioned_claim{tickets()});
    EXPECT_TRUE(contains(said, "not unique")) << said;
    EXPECT_TRUE(contains(said, other_ + "_u")) << said;
    define("DELETE FROM " + other_ + " WHERE id = 'A'");
    define("INSERT INTO " + other_ + " VALUES ('b', 'free', 1)");
    define("CREATE UNIQUE INDEX " + other_ + "_v ON " + other_ + " (id)");
    EXPECT_EQ(problem_of(versioned_claim{tickets()}), "nothing was thrown");
}

INSTANTIATE_TEST_SUITE_P(
    on,
    equality_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
