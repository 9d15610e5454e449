// The doctor's findings about a PostgreSQL server: each finding is provoked. A pooler and standbys:
// tests/fault, tests/cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

class postgres_doctor_test : public ::testing::Test {
protected:
    postgres_doctor_test() { migrate(db_); }

    // The finding for a user with this default.
    std::optional<finding> with_default(const std::string& setting, std::string_view name) const {
        return find(diagnose(postgres::open(here_.url() + "%20-c" + setting, patient())), name);
    }

    const place here_;
    const database db_ = here_.open();
};

TEST_F(postgres_doctor_test, defaults_that_weaken_a_transaction_of_ones_own_are_told) {
    const auto all = diagnose(db_);
    for (const char* each : {"isolation", "read_only_default", "asynchronous_commit"}) {
        EXPECT_FALSE(find(all, each)) << names_of(all);
    }
    EXPECT_TRUE(with_default("default_transaction_isolation%3Dserializable", "isolation"));
    EXPECT_TRUE(with_default("default_transaction_read_only%3Don", "read_only_default"));
    EXPECT_TRUE(with_default("default_transaction_read_only%3Don", "unsuitable"));
    EXPECT_TRUE(with_default("synchronous_commit%3Doff", "asynchronous_commit"));
}

TEST_F(postgres_doctor_test, a_server_that_may_forget_is_told) {
    const bool is_safe = db_.execute("SHOW fsync").rows.at(0).text(0) == "on" &&
                         db_.execute("SHOW full_page_writes").rows.at(0).text(0) == "on";
    EXPECT_EQ(find(diagnose(db_), "weak_durability").has_value(), !is_safe);
}

// Encrypted connections: docs/guides/tls.md, which a test carries out.
TEST_F(postgres_doctor_test, a_network_without_encryption_is_told) {
    const std::string url = with_option(from_afar(here_.url()), "sslmode=disable");
    const auto found = find(diagnose(postgres::open(url)), "clear_text");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, severity::warning);
    EXPECT_NE(found->remedy.find("sslmode=verify-full"), std::string::npos) << found->remedy;
    EXPECT_FALSE(find(diagnose(db_), "clear_text")) << "nothing leaves this machine";
}

TEST_F(postgres_doctor_test, rows_that_a_policy_hides_are_told) {
    here_.load(here_.grants());
    const database program = here_.open_as_program();
    EXPECT_FALSE(find(diagnose(program), "row_security"));
    run_in(db_, {"ALTER TABLE leasehold_job ENABLE ROW LEVEL SECURITY"});
    const auto hidden = find(diagnose(program), "row_security");
    ASSERT_TRUE(hidden);
    EXPECT_EQ(hidden->severity, severity::error);
    EXPECT_EQ(hidden->remedy, "ALTER TABLE leasehold_job DISABLE ROW LEVEL SECURITY");
    const auto of_owner = find(diagnose(db_), "row_security");
    ASSERT_TRUE(of_owner);
    EXPECT_EQ(of_owner->severity, severity::warning) << "an owner sees all";
    run_in(db_, {hidden->remedy});
    EXPECT_FALSE(find(diagnose(program), "row_security"));
    // Without the records there seem to be no tables.
    run_in(db_, {"ALTER TABLE leasehold_migration ENABLE ROW LEVEL SECURITY"});
    EXPECT_TRUE(find(diagnose(program), "row_security"));
}

TEST_F(postgres_doctor_test, a_dropped_function_is_told) {
    const std::vector<std::pair<std::string, std::string>> functions{
        {"enqueue", "(text, text, text, timestamptz, text, text, integer, integer)"},
        {"prove", "(text, text, bigint)"},
        {"prove_job", "(bigint, bigint)"}};
    for (const auto& [name, takes] : functions) run_in(db_, {"DROP FUNCTION leasehold_" + name});
    const auto all = diagnose(db_);
    for (const auto& [name, takes] : functions) {
        const std::string line = ": " + name + " function " + takes;
        const auto found = std::ranges::find_if(all, [&](const finding& each) {
            return each.what.ends_with(line);
        });
        ASSERT_NE(found, all.end()) << line << " in " << names_of(all);
        EXPECT_EQ(found->name, "schema_drift");
        EXPECT_EQ(found->severity, severity::error);
        EXPECT_NE(found->remedy.find("makes " + name + ","), std::string::npos) << found->remedy;
    }
}

TEST_F(postgres_doctor_test, a_function_without_its_search_path_is_told) {
    const std::string name = "leasehold_prove(text, text, bigint)";
    const std::string told = "has lost its search_path: prove function (text, text, bigint)";
    for (const char* change : {"RESET search_path", "SET search_path = pg_temp, public"}) {
        run_in(db_, {"ALTER FUNCTION " + name + " " + change});
        const auto all = diagnose(db_);
        const auto is_drift = [](const finding& each) { return each.name == "schema_drift"; };
        EXPECT_EQ(std::ranges::count_if(all, is_drift), 1) << names_of(all);
        const auto found = find(all, "schema_drift");
        ASSERT_TRUE(found);
        EXPECT_NE(found->what.find(told), std::string::npos) << found->what;
    }
    const auto quoting = postgres::open(here_.url() + "%20-cquote_all_identifiers%3Don", patient());
    const std::string schema = db_.execute("SELECT current_schema()").rows.at(0).text(0);
    const std::string path = "pg_catalog, " + schema + ", pg_temp";
    run_in(quoting, {"ALTER FUNCTION " + name + " SET search_path = " + path});
    EXPECT_FALSE(find(diagnose(db_), "schema_drift"));
}

TEST_F(postgres_doctor_test, nobody_there_is_a_finding) {
    const auto all = diagnose(postgres::open("postgresql://a@127.0.0.1:1/b?connect_timeout=2"));
    ASSERT_EQ(all.size(), 1u) << names_of(all);
    EXPECT_EQ(all[0].name, "unreachable");
    EXPECT_EQ(all[0].severity, severity::error);
}

TEST_F(postgres_doctor_test, a_server_with_few_connections_left_is_told) {
    EXPECT_TRUE(find(diagnose(db_, strict()), "connections"));
    EXPECT_FALSE(find(diagnose(db_), "connections"));
}

TEST_F(postgres_doctor_test, an_old_transaction_is_named) {
    const database other = here_.open();
    transaction open = other.begin();
    open.execute("SET LOCAL application_name = 'the_old_one'");
    open.execute("CREATE TABLE probe (id int)");  // so that it has a number
    const auto found = soon_found(db_, "old_snapshot");
    ASSERT_TRUE(found);
    EXPECT_NE(found->remedy.find("pg_terminate_backend("), std::string::npos) << found->remedy;
    open.rollback();
}

TEST_F(postgres_doctor_test, a_prepared_transaction_is_named) {
    const std::string name = fresh_prefix() + "prepared";
    const database other = here_.open();
    other.inner()->use_unchecked([&](connection& on, store_set&) {
        on.execute("BEGIN");
        on.execute("CREATE TABLE probe (id int)");
        on.execute("PREPARE TRANSACTION '" + name + "'");
    });
    const bool is_found = eventually([&] {
        const auto found = find(diagnose(db_, strict()), "prepared_transaction");
        // Others' tests have some, too.
        return found && found->remedy.find("PREPARED '") != std::string::npos;
    });
    other.execute("ROLLBACK PREPARED '" + name + "'");
    EXPECT_TRUE(is_found);
}

TEST_F(postgres_doctor_test, a_replication_slot_that_nobody_reads_is_named) {
    const std::string name = fresh_prefix() + "slot";
    db_.execute("SELECT pg_create_physical_replication_slot('" + name + "', true)");
    const auto all = diagnose(db_, strict());
    db_.execute("SELECT pg_drop_replication_slot('" + name + "')");
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const finding& each) {
        return each.name == "idle_slot" && each.what.find(name) != std::string::npos;
    });
    EXPECT_TRUE(is_there) << names_of(all);
}

TEST_F(postgres_doctor_test, dead_rows_are_counted) {
    db_.execute("ALTER TABLE leasehold_fence_mark SET (autovacuum_enabled = false)");
    for (int times = 0; times < 5; ++times) {
        db_.execute("UPDATE leasehold_fence_mark SET fence = fence + 1, id = id");
    }
    const auto found = soon_found(db_, "dead_rows");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("never vacuumed"), std::string::npos) << found->what;
    EXPECT_EQ(found->remedy.substr(found->remedy.find("VACUUM")), "VACUUM leasehold_fence_mark");
    const auto off = find(diagnose(db_), "no_vacuum");
    ASSERT_TRUE(off);
    EXPECT_EQ(off->remedy, "ALTER TABLE leasehold_fence_mark RESET (autovacuum_enabled)");
}

TEST_F(postgres_doctor_test, a_user_without_rights_is_told_which) {
    here_.load(here_.grants());
    EXPECT_FALSE(find(diagnose(here_.open_as_program()), "missing_rights"));
    run_in(db_, {"REVOKE INSERT, DELETE ON leasehold_job FROM " + place::program_name()});
    const auto found = find(diagnose(here_.open_as_program()), "missing_rights");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("INSERT, DELETE ON "), std::string::npos) << found->what;
    EXPECT_NE(found->what.find("leasehold_job"), std::string::npos) << found->what;
}

TEST_F(postgres_doctor_test, a_user_who_may_not_even_read_the_migrations_lacks_rights) {
    // The user may not use the schema, either.
    EXPECT_TRUE(find(diagnose(here_.open_as_program()), "missing_rights"));
    here_.load(here_.grants());
    run_in(db_, {"REVOKE SELECT ON leasehold_migration FROM " + place::program_name()});
    const auto found = find(diagnose(here_.open_as_program()), "missing_rights");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("SELECT ON "), std::string::npos) << found->what;
    EXPECT_NE(found->what.find("leasehold_migration"), std::string::npos) << found->what;
}

TEST_F(postgres_doctor_test, what_a_user_may_not_see_of_others_is_told) {
    const auto others = [](const finding& each) {
        return each.name == "not_looked_at" &&
               each.what.find("pg_read_all_stats") != each.what.npos;
    };
    here_.load(here_.grants());
    const auto theirs = diagnose(here_.open_as_program()), ours = diagnose(db_);
    EXPECT_TRUE(std::any_of(theirs.begin(), theirs.end(), others)) << names_of(theirs);
    EXPECT_FALSE(std::any_of(ours.begin(), ours.end(), others)) << names_of(ours);
}

TEST_F(postgres_doctor_test, names_in_quotes_are_the_same_names) {
    EXPECT_FALSE(with_default("quote_all_identifiers%3Don", "schema_drift"));
}

}  // namespace
}  // namespace leasehold::testing
