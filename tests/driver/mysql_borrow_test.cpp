// The MySQL driver on a caller's own connection: takes part, and changes nothing of it.
#include <utility>

#include "leasehold/driver/mysql.hpp"
#include "mysql_support.hpp"

namespace leasehold::testing_mysql {
namespace {

class mysql_borrow : public mysql_test {
protected:
    static void run(sql::Connection& on, const std::string& statement) {
        const std::unique_ptr<sql::Statement> each{on.createStatement()};
        if (each->execute(statement)) {
            const std::unique_ptr<sql::ResultSet> unread{each->getResultSet()};
            while (unread->next()) continue;
        }
    }

    std::vector<std::string> settings_of(sql::Connection& on) const {
        const std::unique_ptr<sql::Statement> each{on.createStatement()};
        const std::unique_ptr<sql::ResultSet> said{each->executeQuery(
            std::string{"SELECT @@autocommit, @@time_zone, @@sql_mode, @@character_set_client, "} +
            "@@collation_connection, @@innodb_lock_wait_timeout, @@lock_wait_timeout, " +
            (is_mariadb() ? "@@tx_isolation, @@max_statement_time"
                          : "@@transaction_isolation, @@max_execution_time")
        )};
        said->next();
        std::vector<std::string> found;
        for (unsigned column = 1; column <= said->getMetaData()->getColumnCount(); ++column) {
            found.push_back(said->getString(column).asStdString());
        }
        return found;
    }
};

TEST_F(mysql_borrow, takes_part_in_the_transaction_of_the_caller) {
    create_table(*open());
    const auto own = open_raw();
    own->setAutoCommit(false);
    const borrowed_connection lent = borrow(own.get());
    connection& on = lent.inside();
    EXPECT_EQ(on.server().engine, is_mariadb() ? engine::mariadb : engine::mysql);
    EXPECT_EQ(on.server().version, open()->server().version);
    EXPECT_EQ(on.state(), connection_state::in_transaction);
    EXPECT_EQ(on.execute(named("UPDATE {t} SET n = ? WHERE id = ?"), {5, 1}).affected_rows, 1);
    EXPECT_EQ(
        on.execute("SELECT ?, ?", {"it's", blob{"\0\xff"s}}).rows.at(0).columns,
        (parameters{"it's", blob{"\0\xff"s}})
    );
    EXPECT_EQ(number_from(*open(), named("SELECT n FROM {t} WHERE id = 1")), 0);
    own->rollback();
    EXPECT_EQ(number_from(on, named("SELECT n FROM {t} WHERE id = 1")), 0);
}

TEST_F(mysql_borrow, leaves_every_setting_as_it_is) {
    create_table(*open());
    const auto own = open_raw();
    run(*own, "SET time_zone = '+05:30', sql_mode = 'ANSI_QUOTES', innodb_lock_wait_timeout = 33");
    run(*own, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    for (const bool autocommit : {true, false}) {
        own->setAutoCommit(autocommit);
        const auto before = settings_of(*own);
        {
            const borrowed_connection lent = borrow(own.get());
            connection& on = lent.inside();
            on.state();
            on.set_statement_timeout(1s);
            on.execute(named("UPDATE {t} SET n = ?"), {3});
            on.execute_script(named("UPDATE {t} SET n = 4; SELECT * FROM {t}"));
            failure_of([&] { on.execute("SELECT nothing"); });
            failure_of([&] { on.execute_script("SELECT 1; SELECT nothing; SELECT 2"); });
            on.rollback();
        }
        EXPECT_EQ(settings_of(*own), before);
        EXPECT_FALSE(own->isClosed());
    }
    own->commit();
    EXPECT_EQ(number_from(*open(), named("SELECT MAX(n) FROM {t}")), 4);
}

TEST_F(mysql_borrow, neither_begins_nor_ends_a_transaction) {
    create_table(*open());
    const auto own = open_raw();
    own->setAutoCommit(false);
    const borrowed_connection lent = borrow(own.get());
    connection& on = lent.inside();
    on.execute(named("UPDATE {t} SET n = 1"));
    EXPECT_EQ(failure_of([&] { on.begin(); }).code(), errc::unsupported);
    EXPECT_EQ(failure_of([&] { on.commit(); }).code(), errc::unsupported);
    on.rollback();
    EXPECT_EQ(number_from(on, named("SELECT MIN(n) FROM {t}")), 1);
    own->commit();
    EXPECT_EQ(number_from(*open(), named("SELECT MIN(n) FROM {t}")), 1);
}

TEST_F(mysql_borrow, runs_scripts_without_being_allowed_several_statements_at_once) {
    create_table(*open());
    const auto own = open_raw();
    const borrowed_connection lent = borrow(own.get());
    const result got = lent.inside().execute_script(
        named("UPDATE {t} SET n = ?; SELECT id FROM {t}; UPDATE {t} SET n = 6 WHERE id = ?; "
              "SELECT n FROM {t} WHERE id = 1; DO 0"),
        {5, 1}
    );
    ASSERT_EQ(got.rows.size(), 1U);
    EXPECT_EQ(got.rows[0].integer(0), 6);
    EXPECT_EQ(got.affected_rows, 2);
}

TEST_F(mysql_borrow, knows_an_explicit_transaction) {
    create_table(*open());
    const auto own = open_raw();
    const borrowed_connection lent = borrow(own.get());
    EXPECT_EQ(lent.inside().state(), connection_state::idle);
    run(*own, "START TRANSACTION");
    EXPECT_EQ(lent.inside().state(), connection_state::in_transaction);
    run(*own, named("UPDATE {t} SET n = 7"));
    EXPECT_EQ(lent.inside().state(), connection_state::in_transaction);
    run(*own, "COMMIT");
    EXPECT_EQ(lent.inside().state(), connection_state::idle);
    EXPECT_EQ(number_from(*open(), named("SELECT MIN(n) FROM {t}")), 7);
}

TEST_F(mysql_borrow, reads_rows_of_a_connection_that_fetches_one_by_one) {
    sql::ConnectOptionsMap options;
    options["defaultStatementResultType"] = static_cast<int>(sql::ResultSet::TYPE_FORWARD_ONLY);
    const auto own = open_raw(options);
    const borrowed_connection lent = borrow(own.get());
    const result got = lent.inside().execute_script("SELECT 1 UNION SELECT 2; DO 0");
    EXPECT_EQ(got.rows.size(), 2U);
    EXPECT_EQ(number_from(lent.inside(), "SELECT 3"), 3);
}

TEST_F(mysql_borrow, says_what_the_server_refused) {
    create_table(*open());
    const auto own = open_raw();
    own->setAutoCommit(false);
    const borrowed_connection lent = borrow(own.get());
    const auto refused =
        failure_of([&] { lent.inside().execute(named("INSERT INTO {t} VALUES (1, 0)")); });
    EXPECT_EQ(refused.code(), errc::constraint);
    EXPECT_FALSE(refused.outcome_is_unknown());
    EXPECT_EQ(lent.inside().state(), connection_state::in_transaction);
}

TEST_F(mysql_borrow, a_connection_that_broke_is_lost) {
    for (const bool autocommit : {true, false}) {
        const auto own = open_raw();
        own->setAutoCommit(autocommit);
        const borrowed_connection lent = borrow(own.get());
        const auto id = id_of(lent.inside());
        open()->execute("KILL CONNECTION " + std::to_string(id));
        const auto said = failure_of([&] {
            for (int use = 0; use < 100; ++use) lent.inside().execute("DO SLEEP(0.1)");
        });
        EXPECT_EQ(said.code(), errc::connection_lost);
        EXPECT_EQ(said.outcome_is_unknown(), autocommit);
        EXPECT_EQ(lent.inside().state(), connection_state::lost);
        const auto after = failure_of([&] { lent.inside().execute("SELECT 1"); });
        EXPECT_EQ(after.code(), errc::connection_lost);
        EXPECT_FALSE(after.outcome_is_unknown());
    }
}

TEST_F(mysql_borrow, there_must_be_an_open_connection) {
    EXPECT_EQ(
        failure_of([] { borrow(static_cast<sql::Connection*>(nullptr)); }).code(),
        errc::invalid_argument
    );
    const auto own = open_raw();
    const borrowed_connection lent = borrow(own.get());
    own->close();
    EXPECT_EQ(lent.inside().state(), connection_state::lost);
    EXPECT_EQ(failure_of([&] { lent.inside().execute("SELECT 1"); }).code(), errc::connection_lost);
}

TEST_F(mysql_borrow, what_would_bend_a_statement_is_refused_by_name) {
    struct bend {
        const char* hostile;
        const char* word;
        const char* cure;
    };
    for (const bend& each :
         {bend{"SET timestamp = 1000000000", "timestamp", "SET timestamp = DEFAULT"},
          bend{"SET sql_select_limit = 1", "sql_select_limit", "SET sql_select_limit = DEFAULT"},
          bend{"SET sql_select_limit = 0", "sql_select_limit", "SET sql_select_limit = DEFAULT"},
          bend{"SET NAMES latin1", "latin1", "SET NAMES utf8mb4"},
          bend{"SET character_set_results = utf8mb3", "utf8mb3", "SET NAMES utf8mb4"}}) {
        const auto own = open_raw();
        run(*own, each.hostile);
        run(*own, "START TRANSACTION");
        const borrowed_connection lent = borrow(own.get());
        EXPECT_EQ(lent.inside().state(), connection_state::in_transaction) << each.hostile;
        const auto refused = failure_of([&] { lent.inside().execute("SELECT 'Z\u00fcrich'"); });
        EXPECT_EQ(refused.code(), errc::unsupported) << each.hostile;
        EXPECT_NE(std::string_view{refused.what()}.find(each.word), std::string_view::npos)
            << refused.what();
        run(*own, each.cure);
        EXPECT_EQ(lent.inside().execute("SELECT 'Z\u00fcrich'").rows.at(0).text(0), "Z\u00fcrich");
    }
}

}  // namespace
}  // namespace leasehold::testing_mysql
