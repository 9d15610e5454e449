// A table that is not where the connection looks first: named with its schema on PostgreSQL, its
// database on MySQL and MariaDB, its attached file on SQLite.
#include <fstream>

#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class elsewhere_suite : public claim_suite {
protected:
    // On SQLite there is a table of the same name in the file itself, too.
    void SetUp() override {
        claim_suite::SetUp();
        on_ = begin(begun::not_at_all);
        if (engine_ == engine::sqlite) {
            attach();
        } else if (is_mysql()) {
            schema_ = ask_here("SELECT DATABASE()", 0);
            on_->run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
            on_->run("USE information_schema");
        } else {
            schema_ = ask_here("SELECT current_schema()", 0);
        }
        start();
    }
    void TearDown() override {
        on_.reset();
        claim_suite::TearDown();
    }

    void attach() {
        schema_ = "else where";
        const std::string file =
            ask_here("SELECT file FROM pragma_database_list", 0) + "-" + table_;
        std::ofstream{file};  // our own connections make none
        on_->run("ATTACH '" + file + "' AS `else where`");
        const result made = on_->run(
            "SELECT sql FROM main.sqlite_schema WHERE tbl_name = '" + table_ +
            "' AND sql IS NOT NULL ORDER BY type DESC"
        );
        for (const row& each : made.rows) {  // CREATE TABLE …, CREATE INDEX …
            std::string text = each.text(0);
            on_->run(text.insert(text.find(table_), "`else where`."));
        }
        on_->run("INSERT INTO `else where`." + table_ + " SELECT * FROM main." + table_);
    }
    void start() {
        on_->run(is_mysql() ? "START TRANSACTION" : "BEGIN");
        if (is_postgres()) on_->run("SET LOCAL search_path = pg_catalog");
    }
    transaction_ref tx() { return on_->ref(); }
    std::string ask_here(const std::string& sql, std::size_t column) {
        return on_->run(sql).rows.at(0).bytes(column);
    }
    std::string status_of(int id) {
        const std::string named = is_postgres() ? schema_ + "." : "`" + schema_ + "`.";
        return ask_here(
            "SELECT status FROM " + named + table_ + " WHERE id = " + std::to_string(id), 0
        );
    }
    template <class Mapping>
    Mapping moved(Mapping mapping) const {
        mapping.table = {table_, schema_};
        return mapping;
    }

    std::unique_ptr<lent> on_;
    std::string schema_;
};

TEST_P(elsewhere_suite, rows_are_claimed_and_finished) {
    const versioned_claim versions{moved(leased_seats())};
    const row_claim locks{moved(rows())};
    EXPECT_FALSE(thrown_by([&] { versions.check_in(tx()); }));
    EXPECT_FALSE(thrown_by([&] { locks.check_in(tx()); }));
    auto one = versions.try_claim_in(tx(), {1});
    auto some = versions.try_claim_some_in(tx(), 2);
    ASSERT_TRUE(one);
    ASSERT_EQ(some.size(), 2U);
    EXPECT_EQ(versions.update_in(tx(), *one), change_outcome::done);
    EXPECT_EQ(versions.finish_in(tx(), *one), change_outcome::done);
    EXPECT_EQ(versions.release_in(tx(), some[0]), change_outcome::done);
    EXPECT_TRUE(locks.claim_in(tx(), some[0].key, nowait));
    EXPECT_EQ(locks.claim_in(tx(), some[1].key, nowait).status, claim_status::none);
    EXPECT_EQ(locks.claim_some_in(tx(), 3, nowait).rows.size(), 3U);
    EXPECT_EQ(locks.claim_some_in(tx(), 10, skip_locked).rows.size(), 8U);
    on_->run("COMMIT");
    EXPECT_EQ(status_of(1), "sold");
    EXPECT_EQ(state_of(1), engine_ == engine::sqlite ? "free/1" : "sold/4");
}

TEST_P(elsewhere_suite, the_index_that_is_offered_can_be_made) {
    row_mapping mapping = moved(rows());
    mapping.order = {"event", descending("id")};
    const auto said = row_claim{mapping}.check_in(tx());
    ASSERT_EQ(said.size(), 1U);
    const auto at = said[0].find("CREATE INDEX");
    ASSERT_NE(at, std::string::npos) << said[0];
    on_->run(said[0].substr(at));
    on_->run("COMMIT");
    start();
    EXPECT_TRUE(row_claim{mapping}.check_in(tx()).empty());
    EXPECT_EQ(ids_of(row_claim{mapping}.claim_some_in(tx(), 2, nowait)).front(), 10);
    on_->run("ROLLBACK");
}

TEST_P(elsewhere_suite, the_column_that_is_offered_can_be_made) {
    versioned_mapping mapping = moved(seats());
    mapping.version = "revision";
    const auto failure = thrown_by([&] { versioned_claim{mapping}.check_in(tx()); });
    ASSERT_TRUE(failure);
    const std::string said = failure->what();
    const auto at = said.find("ALTER TABLE");
    ASSERT_NE(at, std::string::npos) << said;
    on_->run(said.substr(at));
    on_->run("COMMIT");
    start();
    EXPECT_TRUE(versioned_claim{mapping}.try_claim_in(tx(), {1}));
    on_->run("ROLLBACK");
}

INSTANTIATE_TEST_SUITE_P(
    on,
    elsewhere_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
