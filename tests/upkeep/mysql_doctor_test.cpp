// The doctor's findings about a MySQL or MariaDB server: each finding is provoked. Clusters:
// tests/cluster.
#include <gtest/gtest.h>

#include <algorithm>

#include "leasehold/driver/mysql.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "session/session_store.hpp"
#include "support/calm.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

class mysql_doctor_test : public ::testing::Test {
protected:
    mysql_doctor_test() { migrate(db_); }

    const place here_;
    const database db_ = here_.open();
};

TEST_F(mysql_doctor_test, nobody_there_is_a_finding) {
    const auto all = diagnose(mysql::open("mysql://a:b@127.0.0.1:1/c"));
    ASSERT_EQ(all.size(), 1u) << names_of(all);
    EXPECT_EQ(all[0].name, "unreachable");
}

// MySQL's server has a certificate of its own making, MariaDB's has none.
TEST_F(mysql_doctor_test, a_network_without_a_look_at_the_certificate_is_told) {
    const std::string afar = from_afar(here_.url());
    const bool is_mysql = db_.server().engine == engine::mysql;
    const auto preferred = diagnose(mysql::open(afar));
    EXPECT_EQ(find(preferred, "unverified_server").has_value(), is_mysql) << names_of(preferred);
    EXPECT_EQ(find(preferred, "clear_text").has_value(), !is_mysql) << names_of(preferred);
    const auto found = find(diagnose(mysql::open(afar + "?ssl-mode=DISABLED")), "clear_text");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, severity::warning);
    EXPECT_NE(found->remedy.find("VERIFY_IDENTITY"), std::string::npos) << found->remedy;
    for (const char* each : {"clear_text", "unverified_server"}) {
        EXPECT_FALSE(find(diagnose(db_), each)) << "nothing leaves this machine";
    }
}

TEST_F(mysql_doctor_test, a_server_that_may_forget_is_told) {
    const result flush = db_.execute("SELECT @@innodb_flush_log_at_trx_commit");
    const std::int64_t value = flush.rows.at(0).integer(0);
    const bool is_mariadb = db_.server().engine == engine::mariadb;
    const auto found = find(diagnose(db_), "weak_durability");
    const bool is_safe = value == 1 || (is_mariadb && value == 3);
    EXPECT_EQ(!found || found->severity == severity::warning, true);
    EXPECT_TRUE(found || is_safe);
}

TEST_F(mysql_doctor_test, a_server_with_few_connections_left_is_told) {
    EXPECT_TRUE(find(diagnose(db_, strict()), "connections"));
    EXPECT_FALSE(find(diagnose(db_), "connections"));
}

TEST_F(mysql_doctor_test, an_old_transaction_is_named) {
    const database other = here_.open();
    transaction open = other.begin();
    open.execute("SELECT * FROM leasehold_fence_mark FOR UPDATE");
    const auto found = soon_found(db_, "old_snapshot");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("is open for"), std::string::npos) << found->what;
    open.rollback();
}

TEST_F(mysql_doctor_test, the_length_of_the_history_is_known) {
    const auto found = find(diagnose(db_, strict()), "history_length");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->what.starts_with("InnoDB keeps ")) << found->what;
    EXPECT_FALSE(find(diagnose(db_), "history_length"));
}

TEST_F(mysql_doctor_test, a_user_without_rights_is_told_which_and_what_could_not_be_asked) {
    here_.load(here_.grants());
    const auto all = diagnose(here_.open_as_program());
    EXPECT_FALSE(find(all, "missing_rights")) << names_of(all);
    // It has neither PROCESS nor what tells of replication.
    for (const char* each : {"replicas", "the replica's source", "open transactions"}) {
        const bool is_told = std::any_of(all.begin(), all.end(), [&](const finding& one) {
            return one.name == "not_looked_at" && one.severity == severity::good &&
                   one.what.starts_with(each);
        });
        EXPECT_TRUE(is_told) << each << ": " << names_of(all);
    }
    const std::string name = db_.execute("SELECT DATABASE()").rows.at(0).bytes(0);
    run_in(
        db_,
        {"REVOKE INSERT, DELETE ON " + name + ".leasehold_job FROM '" + place::program_name() +
         "'@'%'"}
    );
    const auto found = find(diagnose(here_.open_as_program()), "missing_rights");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("INSERT, DELETE ON leasehold_job"), std::string::npos)
        << found->what;
}

TEST_F(mysql_doctor_test, tables_that_a_user_may_not_see_are_not_missing) {
    const std::string name = db_.execute("SELECT DATABASE()").rows.at(0).bytes(0);
    const std::string to = " TO '" + place::program_name() + "'@'%'";
    for (const char* table : {"migration", "session"}) {
        run_in(db_, {"GRANT SELECT ON " + name + ".leasehold_" + table + to});
    }
    const auto all = diagnose(here_.open_as_program());
    EXPECT_FALSE(find(all, "schema_drift")) << names_of(all);
    EXPECT_TRUE(find(all, "missing_rights")) << names_of(all);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const finding& each) {
        return each.name == "not_looked_at" &&
               each.what.starts_with("the columns of leasehold_fence_guard, ");
    }));
    run_in(db_, {"DROP TABLE leasehold_job_need"});
    EXPECT_TRUE(find(diagnose(db_), "schema_drift"));
}

TEST_F(mysql_doctor_test, a_user_who_may_not_even_read_the_migrations_lacks_rights) {
    const std::string name = db_.execute("SELECT DATABASE()").rows.at(0).bytes(0);
    run_in(
        db_, {"GRANT SELECT ON " + name + ".leasehold_lock TO '" + place::program_name() + "'@'%'"}
    );
    const auto found = find(diagnose(here_.open_as_program()), "missing_rights");
    ASSERT_TRUE(found);
    for (const char* each : {"SELECT ON leasehold_migration", "UPDATE, DELETE ON leasehold_lock"}) {
        EXPECT_NE(found->what.find(each), std::string::npos) << found->what;
    }
}

// MySQL lets no user lock a row without the right to change it, and MariaDB lets everybody. A row
// that is locked to be changed is found either way; a shared one may be found.
TEST_F(mysql_doctor_test, who_may_only_read_learns_of_the_transaction_or_that_nobody_knows) {
    {
        session one{db_, calm("one")};
        EXPECT_TRUE((mutex{one, "k"}.try_acquire()));
    }
    const std::string name = db_.execute("SELECT DATABASE()").rows.at(0).bytes(0);
    run_in(db_, {"GRANT SELECT ON " + name + ".* TO '" + place::program_name() + "'@'%'"});
    const bool is_mariadb = db_.server().engine == engine::mariadb;
    const database reader = here_.open_as_program(), other = here_.open();
    const auto of_key = [&] { return diagnose_key(reader, key{"k"}).findings; };
    const auto expect_known_or_told = [&] {
        EXPECT_FALSE(find(of_key(), "row_locked"));
        const auto unknown = find(of_key(), "not_looked_at");
        EXPECT_EQ(unknown.has_value(), !is_mariadb);
        EXPECT_TRUE(!unknown || unknown->severity == severity::good);
    };
    expect_known_or_told();
    for (const char* each : {"FOR UPDATE", "LOCK IN SHARE MODE"}) {
        transaction open = other.begin();
        open.execute(std::string{"SELECT fence FROM leasehold_lock "} + each);
        const auto found = find(of_key(), "row_locked");
        const bool is_shared = std::string_view{each} != "FOR UPDATE";
        EXPECT_EQ(found.has_value(), is_mariadb || !is_shared) << each;
        if (found) {
            EXPECT_EQ(found->severity, severity::warning);
            EXPECT_NE(found->remedy.find("this user needs PROCESS"), std::string::npos);
            EXPECT_FALSE(find(of_key(), "not_looked_at")) << "it is known";
        } else {
            expect_known_or_told();
        }
        open.rollback();
    }
    expect_known_or_told();
}

TEST_F(mysql_doctor_test, transactions_that_begin_read_only_are_an_error) {
    const bool is_mariadb = db_.server().engine == engine::mariadb;
    const std::string name = is_mariadb ? "tx_read_only" : "transaction_read_only";
    EXPECT_FALSE(find(diagnose(db_), "unsuitable"));
    db_.inner()->use_unchecked([&](connection& on, store_set& stores) {
        on.execute("SET SESSION " + name + " = ON");
        const std::string said = stores.get<session_store>().environment(on).unsuitable;
        on.execute("SET SESSION " + name + " = OFF");
        EXPECT_NE(said.find(name), std::string::npos) << said;
    });
}

}  // namespace
}  // namespace leasehold::testing
