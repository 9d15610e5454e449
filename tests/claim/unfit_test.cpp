// Mappings, values and tables that cannot work: each is a clear error before anything was sent that
// could hurt, where it was once a wrong row, a failure half-way or an aborted transaction.
#include "claim/suite.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"

namespace leasehold::testing {
namespace {

class unfit_suite : public other_table_suite {
protected:
    // CREATE TABLE with these columns and constraints, and one row of the first ones.
    void make(const std::string& columns, const std::string& first_row) {
        define("CREATE TABLE " + other_ + " (" + columns + ")" + table_options());
        define("INSERT INTO " + other_ + " VALUES (" + first_row + ")");
    }
    // The message of the error of `run`, in a transaction that can still be used after it.
    template <class Run>
    std::string refused(Run&& run) {
        const auto tx = begin();
        const auto failure = thrown_by([&] { run(tx->ref()); });
        EXPECT_TRUE(failure) << "nothing was thrown";
        EXPECT_EQ(tx->run("SELECT 1").rows.size(), 1U);
        tx->rollback();
        return failure ? failure->what() : "";
    }
    std::string problem_of(const versioned_mapping& mapping) {
        return refused([&](transaction_ref tx) { versioned_claim{mapping}.check_in(tx); });
    }
    std::string problem_of(const row_mapping& mapping) {
        return refused([&](transaction_ref tx) { row_claim{mapping}.check_in(tx); });
    }
    template <class Mapping>
    std::vector<std::string> warnings_of(const Mapping& mapping) {
        const auto tx = begin();
        using claim =
            std::conditional_t<std::is_same_v<Mapping, row_mapping>, row_claim, versioned_claim>;
        auto warnings = claim{mapping}.check_in(tx->ref());
        tx->rollback();
        // These mappings have no claimant, which one test is about.
        std::erase_if(warnings, [](const auto& each) { return contains(each, "claimed_by"); });
        return warnings;
    }
    // The statement a message ends with, run; SQLite has none.
    void cure(const std::string& said) {
        const auto at = said.find("ALTER TABLE");
        if (engine_ == engine::sqlite) {
            EXPECT_TRUE(contains(said, "only a new table")) << said;
            return;
        }
        ASSERT_NE(at, std::string::npos) << said;
        define(said.substr(at, said.find(';', at) - at));
    }
};

TEST_P(unfit_suite, a_claim_does_not_change_its_own_key) {
    make(
        "id BIGINT NOT NULL, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "PRIMARY KEY (id, status)",
        "1, 'free', 1"
    );
    versioned_mapping mapping = tickets();
    mapping.key = {"id", "status"};
    EXPECT_TRUE(contains(problem_of(mapping), "status is named twice, as key and state"));
    mapping = seats();
    mapping.claimed_by = "note";
    mapping.state.column = "note";
    EXPECT_TRUE(contains(problem_of(mapping), "note is named twice"));
    mapping = seats();
    mapping.key = {"id", "id"};
    EXPECT_TRUE(contains(problem_of(mapping), "id is named twice"));
}

TEST_P(unfit_suite, what_a_table_is_partitioned_by_stays) {
    if (!is_postgres()) GTEST_SKIP() << "nowhere else does a row that moves abort others";
    define(
        "CREATE TABLE " + other_ + " (id BIGINT NOT NULL, status TEXT NOT NULL, version BIGINT" +
        " NOT NULL, PRIMARY KEY (id, status)) PARTITION BY LIST (status)"
    );
    define("CREATE TABLE " + other_ + "_f PARTITION OF " + other_ + " FOR VALUES IN ('free')");
    define("ALTER TABLE " + other_ + "_f ADD UNIQUE (id)");
    versioned_mapping mapping = tickets();
    mapping.table = other_ + "_f";
    EXPECT_TRUE(contains(problem_of(mapping), "partitioned by"));
    mapping.state = {};
    mapping.claimed_by = "status";
    EXPECT_TRUE(contains(problem_of(mapping), "partitioned by"));
    row_mapping locked;
    locked.table = other_;
    locked.key = {"id", "status"};
    locked.where = {{"status", comparison::equal, "free"}};
    const auto warnings = warnings_of(locked);
    ASSERT_FALSE(warnings.empty());
    EXPECT_TRUE(contains(warnings[0], "40001")) << warnings[0];
}

TEST_P(unfit_suite, values_are_of_their_columns_type) {
    versioned_mapping mapping = seats();
    mapping.state = {"status", 0, 1};
    EXPECT_TRUE(contains(problem_of(mapping), "the value for it is an integer"));
    mapping = seats();
    mapping.available = {{"event", comparison::equal, "soon"}};
    EXPECT_TRUE(contains(problem_of(mapping), "the value for it is text"));
    const std::vector<condition> bad{
        {"status", comparison::equal, 1},
        {"status", comparison::equal, 1.5},
        {"note", comparison::equal, blob{"free"}},
        {"event", comparison::at_least, 1.5},
        {"event", comparison::equal, "1-2"},
        {"event", comparison::equal, ""},
        {"event", comparison::equal, "99999999999999999999"},
        {"event", comparison::equal, blob{"1"}}};
    const row_claim locks{rows()};
    const versioned_claim versions{seats()};
    for (const condition& each : bad) {
        row_mapping locked = rows();
        locked.where = {each};
        problem_of(locked);
        refused([&](transaction_ref tx) { (void)locks.claim_some_in(tx, 1, nowait, {each}); });
        claim_choice choice;
        choice.where = {each};
        refused([&](transaction_ref tx) { (void)versions.try_claim_some_in(tx, 1, choice); });
    }
    const std::vector<value> keys{"three", "3 ", "0x3", 3.0, blob{"3"}};
    for (const value& key : keys) {
        refused([&](transaction_ref tx) { (void)versions.try_claim_in(tx, {key}); });
        refused([&](transaction_ref tx) { (void)locks.claim_in(tx, {key}, nowait); });
    }
    refused([&](transaction_ref tx) {
        (void)locks.claim_some_in(tx, 1, nowait, {{"event", comparison::is_due, {}}});
    });
    // Digits are a number.
    const auto tx = begin();
    EXPECT_TRUE(versions.try_claim_in(tx->ref(), {"3"}));
    tx->rollback();
}

TEST_P(unfit_suite, a_key_of_text_is_not_found_by_a_number) {
    make(
        "id VARCHAR(20) NOT NULL PRIMARY KEY, status VARCHAR(9), version BIGINT NOT NULL",
        "'7abc', 'free', 1"
    );
    const versioned_claim claims{tickets()};
    refused([&](transaction_ref tx) { (void)claims.try_claim_in(tx, {7}); });
    const auto tx = begin();
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {"7abc"}));
    tx->rollback();
}

TEST_P(unfit_suite, assignments_are_held_against_their_columns) {
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "small SMALLINT NOT NULL, code VARCHAR(3), twice BIGINT GENERATED ALWAYS AS (id * 2) "
        "STORED",
        is_mysql() ? "1, 'free', 1, 1, 'abc', DEFAULT" : "1, 'free', 1, 1, 'abc'"
    );
    const versioned_claim claims{tickets()};
    const auto tx = begin();
    auto mine = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(mine);
    std::vector<assignments> bad{
        {{"small", "x"}},
        {{"small", nullptr}},
        {{"code", 7}},
        {{"code", "x"}, {"code", "y"}},
        {{"twice", 9}},
        {{"code", "\xff"}}};
    if (engine_ != engine::sqlite) {
        bad.push_back({{"small", 70000}});
        bad.push_back({{"code", "abcd"}});
    }
    for (const assignments& each : bad) {
        const auto failure = thrown_by([&] { (void)claims.update_in(tx->ref(), *mine, each); });
        ASSERT_TRUE(failure) << each[0].column;
        EXPECT_EQ(failure->code(), errc::invalid_argument) << failure->what();
    }
    EXPECT_EQ(
        claims.update_in(
            tx->ref(), *mine, {{"small", -32768}, {"code", "\xc3\xa4\xc3\xb6\xc3\xbc"}}
        ),
        change_outcome::done
    );
    tx->rollback();
    versioned_mapping generated = tickets();
    generated.version = "twice";
    EXPECT_TRUE(contains(problem_of(generated), "by the database alone"));
}

TEST_P(unfit_suite, what_becomes_null_may_be_null) {
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "who VARCHAR(200) NOT NULL, ends BIGINT NOT NULL, begun BIGINT NOT NULL",
        "1, 'free', 1, '', 0, 0"
    );
    versioned_mapping mapping = tickets();
    mapping.times = time_kind::microseconds;
    mapping.claimed_by = "who";
    std::string said = problem_of(mapping);
    EXPECT_TRUE(contains(said, "who (claimed by) is NOT NULL")) << said;
    cure(said);
    mapping.claimed_by.clear();
    mapping.expires_at = "ends";
    mapping.term = 1h;
    said = problem_of(mapping);
    EXPECT_TRUE(contains(said, "ends (time) is NOT NULL")) << said;
    cure(said);
    mapping.claimed_at = "begun";
    said = problem_of(mapping);
    EXPECT_TRUE(contains(said, "begun (time) is NOT NULL")) << said;
    cure(said);
    if (engine_ == engine::sqlite) GTEST_SKIP() << "not of SQLite";
    mapping.claimed_by = "who";
    const versioned_claim claims{mapping};
    const auto tx = begin();
    auto mine = claims.try_claim_in(tx->ref(), {1});
    ASSERT_TRUE(mine);
    EXPECT_EQ(claims.release_in(tx->ref(), *mine), change_outcome::done);
    tx->commit();
}

TEST_P(unfit_suite, a_null_that_a_claim_needs_is_named_with_its_table) {
    make("id BIGINT PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT", "1, 'free', NULL");
    define("INSERT INTO " + other_ + " VALUES (2, 'free', 1)");
    versioned_mapping mapping = tickets();
    mapping.order = {"id"};
    const versioned_claim claims{mapping};
    const auto tx = begin();
    const auto expect_named = [&](errc code, const std::string& column, auto ask) {
        const auto failure = thrown_by(ask);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), code);
        const std::string said = failure->what();
        EXPECT_TRUE(contains(said, column)) << said;
        EXPECT_TRUE(contains(said, "of table " + mapping.table.name)) << said;
    };
    const auto claimed = [&](const value& key) {
        return [&claims, &tx, key] { (void)claims.try_claim_in(tx->ref(), {key}); };
    };
    expect_named(errc::constraint, "column version", claimed(1));
    expect_named(errc::constraint, "column version", [&] { (void)claims.read_in(tx->ref(), {1}); });
    expect_named(errc::invalid_argument, "column id", claimed(nullptr));
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 2).size(), 1U) << "passes over that row";
    tx->rollback();
}

TEST_P(unfit_suite, truth_values_are_keys_and_states) {
    make(
        "tenant BIGINT NOT NULL, wing BOOLEAN NOT NULL, taken BOOLEAN NOT NULL, version BIGINT "
        "NOT NULL, PRIMARY KEY (tenant, wing)",
        "1, TRUE, FALSE, 1"
    );
    define("INSERT INTO " + other_ + " VALUES (1, FALSE, FALSE, 1), (2, FALSE, TRUE, 1)");
    versioned_mapping mapping = tickets();
    mapping.key = {"tenant", "wing"};
    mapping.state = {"taken", 0, 1};
    mapping.order = {"tenant", "wing"};
    row_mapping locked;
    locked.table = other_;
    locked.key = mapping.key;
    locked.where = {{"taken", comparison::equal, 0}};
    locked.order = mapping.order;
    const versioned_claim claims{mapping};
    const row_claim locks{locked};
    auto tx = begin();
    EXPECT_EQ(locks.claim_some_in(tx->ref(), 5, nowait).rows.size(), 2U);
    EXPECT_EQ(
        locks.claim_some_in(
                 tx->ref(), 5, skip_locked, {{"wing", comparison::equal, 1}}
        ).rows.size(),
        1U
    );
    EXPECT_TRUE(locks.claim_in(tx->ref(), {1, 1}, nowait));
    auto mine = claims.try_claim_in(tx->ref(), {1, 1});
    ASSERT_TRUE(mine);
    EXPECT_EQ(claims.release_in(tx->ref(), *mine), change_outcome::done);
    EXPECT_EQ(claims.try_claim_some_in(tx->ref(), 5).size(), 2U);
    EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1, 0}));
    tx->rollback();
    if (!is_postgres()) GTEST_SKIP() << "where any number is one";
    EXPECT_TRUE(contains(
        refused([&](transaction_ref in) {
            (void)claims.try_claim_in(in, {1, 2});
        }),
        "neither 0 nor 1"
    ));
}

TEST_P(unfit_suite, a_version_has_room_to_count) {
    if (engine_ == engine::sqlite) GTEST_SKIP() << "every integer has 64 bits there";
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version SMALLINT NOT NULL",
        "1, 'free', 32767"
    );
    const std::string said = problem_of(tickets());
    EXPECT_TRUE(contains(said, "version (version) is smallint")) << said;
    cure(said);
    EXPECT_TRUE(warnings_of(tickets()).empty());
    define(
        is_mysql() ? "ALTER TABLE " + other_ + " MODIFY version INT NOT NULL"
                   : "ALTER TABLE " + other_ + " ALTER version TYPE integer"
    );
    const auto warnings = warnings_of(tickets());
    ASSERT_EQ(warnings.size(), 1U);
    cure(warnings[0]);
    EXPECT_TRUE(warnings_of(tickets()).empty());
}

TEST_P(unfit_suite, an_expiry_is_finer_than_its_term) {
    if (engine_ == engine::sqlite) GTEST_SKIP() << "text has what is written";
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "ends " +
            std::string(is_mysql() ? "TIMESTAMP NULL" : "TIMESTAMPTZ(0)"),
        "1, 'free', 1, NULL"
    );
    versioned_mapping mapping = tickets();
    mapping.expires_at = "ends";
    mapping.term = 1s;
    EXPECT_TRUE(contains(problem_of(mapping), "rounded"));
    mapping.term = 1min;
    const auto warnings = warnings_of(mapping);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_TRUE(contains(warnings[0], "rounded"));
    cure(warnings[0]);
    mapping.term = 1s;
    EXPECT_TRUE(warnings_of(mapping).empty());
}

TEST_P(unfit_suite, a_key_names_one_row_at_every_moment) {
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "code BIGINT UNIQUE",
        "1, 'free', 1, NULL"
    );
    versioned_mapping mapping = tickets();
    mapping.key = {"code"};
    const std::string said = problem_of(mapping);
    EXPECT_TRUE(contains(said, "code (key) may be null")) << said;
    define("UPDATE " + other_ + " SET code = 1");
    cure(said);
    if (engine_ != engine::sqlite) {
        EXPECT_TRUE(warnings_of(mapping).empty());
    }
    if (!is_postgres()) GTEST_SKIP() << "nobody else has deferred keys";
    define("ALTER TABLE " + other_ + " ADD late BIGINT NOT NULL DEFAULT 1");
    define("ALTER TABLE " + other_ + " ADD UNIQUE (late) DEFERRABLE INITIALLY DEFERRED");
    mapping.key = {"late"};
    EXPECT_TRUE(contains(problem_of(mapping), "DEFERRABLE"));
    define("CREATE TABLE " + other_ + "_more (extra BIGINT) INHERITS (" + other_ + ")");
    EXPECT_TRUE(contains(problem_of(tickets()), "inherit"));
    define("DROP TABLE " + other_ + "_more");
}

TEST_P(unfit_suite, a_primary_key_that_may_be_null_is_sqlites) {
    if (engine_ != engine::sqlite) GTEST_SKIP() << "of SQLite alone";
    make("id TEXT PRIMARY KEY, status TEXT", "NULL, 'free'");
    define("INSERT INTO " + other_ + " VALUES ('b', 'free')");
    row_mapping locked;
    locked.table = other_;
    locked.key = {"id"};
    locked.order = {"id"};
    EXPECT_EQ(warnings_of(locked).size(), 1U);
    const auto tx = begin();
    EXPECT_EQ(row_claim{locked}.claim_some_in(tx->ref(), 5, nowait).rows.size(), 1U);
    tx->rollback();
}

TEST_P(unfit_suite, a_claimant_fits_its_column) {
    if (engine_ == engine::sqlite) GTEST_SKIP() << "text has no length there";
    make(
        "id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL, "
        "who VARCHAR(5)",
        "1, 'free', 1, NULL"
    );
    versioned_mapping mapping = tickets();
    mapping.claimed_by = "who";
    mapping.claimant = "worker";
    EXPECT_TRUE(contains(problem_of(mapping), "is longer"));
    mapping.claimant = "w\xc3\xb6rks";
    EXPECT_TRUE(warnings_of(mapping).empty());
}

TEST_P(unfit_suite, text_for_a_type_of_its_own_is_of_its_form) {
    if (!is_postgres()) GTEST_SKIP() << "where a comparison that cannot be made aborts";
    define("CREATE TYPE " + other_ + "_e AS ENUM ('free', 'taken')");
    define("CREATE DOMAIN " + other_ + "_d AS VARCHAR(4) NOT NULL");
    make(
        "id UUID NOT NULL PRIMARY KEY, status " + other_ + "_e, version BIGINT NOT NULL, code " +
            other_ + "_d, at TIMESTAMPTZ",
        "'00000000-0000-0000-0000-00000000000a', 'free', 1, 'abc'"
    );
    versioned_mapping mapping = tickets();
    EXPECT_TRUE(contains(problem_of(mapping), "none of its labels"));
    mapping.state.done = nullptr;
    const versioned_claim claims{mapping};
    refused([&](transaction_ref tx) { (void)claims.try_claim_in(tx, {"a"}); });
    refused([&](transaction_ref tx) { (void)claims.try_claim_in(tx, {7}); });
    claim_choice choice;
    for (const char* text : {"yesterday", "2026-02-30", "2026-01-01 25:00:00", "2026-01-01x"}) {
        choice.where = {{"at", comparison::less, text}};
        refused([&](transaction_ref tx) { (void)claims.try_claim_some_in(tx, 1, choice); });
    }
    const auto tx = begin();
    for (const char* text : {"2026-02-28", "2026-01-01 23:00", "2026-01-01T23:00:00.5+02:00"}) {
        choice.where = {{"at", comparison::less, text}};
        EXPECT_TRUE(claims.try_claim_some_in(tx->ref(), 1, choice).empty());
    }
    auto mine = claims.try_claim_in(tx->ref(), {"00000000-0000-0000-0000-00000000000a"});
    ASSERT_TRUE(mine);
    for (const value& each : {value{nullptr}, value{"abcde"}}) {
        const auto failure = thrown_by([&] {
            (void)claims.update_in(tx->ref(), *mine, {{"code", each}});
        });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
    EXPECT_EQ(claims.update_in(tx->ref(), *mine, {{"code", "abcd"}}), change_outcome::done);
    tx->rollback();
    define("DROP TABLE " + other_);
    define("DROP TYPE " + other_ + "_e");
    define("DROP DOMAIN " + other_ + "_d");
}

// The check could not know this: the key has lost its index since.
TEST_P(unfit_suite, a_statement_about_one_row_that_changed_two_is_an_error) {
    make("id BIGINT NOT NULL, status VARCHAR(9) NOT NULL, version BIGINT NOT NULL", "1, 'free', 1");
    define("CREATE UNIQUE INDEX " + other_ + "_ix ON " + other_ + " (id)");
    const versioned_claim claims{tickets()};
    claims.check(way_->db);
    define(
        is_mysql() ? "DROP INDEX " + other_ + "_ix ON " + other_ : "DROP INDEX " + other_ + "_ix"
    );
    define("INSERT INTO " + other_ + " VALUES (1, 'free', 1)");
    const auto tx = begin();
    const auto failure = thrown_by([&] { (void)claims.try_claim_in(tx->ref(), {1}); });
    ASSERT_TRUE(failure) << "two rows were claimed as one";
    EXPECT_TRUE(contains(failure->what(), "2 rows")) << failure->what();
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(on, unfit_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
