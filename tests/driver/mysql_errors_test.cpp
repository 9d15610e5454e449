// The MySQL driver translates a server's complaints, each provoked for real.
#include <future>

#include "mysql_support.hpp"

namespace leasehold::testing_mysql {
namespace {

TEST_F(mysql_test, constraints_are_told_apart_from_other_refusals) {
    const auto on = open();
    create_table(*on);
    const auto unique =
        failure_of([&] { on->execute(named("INSERT INTO {t} VALUES (1, 77), (9, 0)")); });
    EXPECT_EQ(unique.code(), errc::constraint);
    EXPECT_EQ(unique.native_code(), 1062);
    EXPECT_EQ(unique.sqlstate(), "23000");
    EXPECT_NE(unique.server_message().find("Duplicate entry"), std::string::npos);
    EXPECT_EQ(std::string_view{unique.what()}.find("Duplicate"), std::string_view::npos);
    EXPECT_NE(std::string_view{unique.what()}.find("1062"), std::string_view::npos);
    EXPECT_FALSE(unique.outcome_is_unknown());
    EXPECT_FALSE(unique.is_transient());
    EXPECT_FALSE(unique.connection_is_lost());
    const auto check = failure_of([&] { on->execute(named("UPDATE {t} SET n = 100")); });
    EXPECT_EQ(check.code(), errc::constraint);
    EXPECT_EQ(check.native_code(), is_mariadb() ? 4025 : 3819);
    const auto null = failure_of([&] { on->execute(named("INSERT INTO {t} VALUES (5, NULL)")); });
    EXPECT_EQ(null.code(), errc::constraint);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(mysql_test, what_is_missing_is_said) {
    const auto on = open();
    const auto table = failure_of([&] { on->execute(named("SELECT 1 FROM {t}")); });
    EXPECT_EQ(table.code(), errc::schema_missing);
    EXPECT_NE(std::string_view{table.what()}.find("leasehold migrate"), std::string_view::npos);
    EXPECT_NE(std::string_view{table.what()}.find(place_of(address_)), std::string_view::npos);
    const auto database = failure_of([&] { on->execute(named("USE {t}")); });
    EXPECT_EQ(database.code(), errc::schema_missing);
    EXPECT_EQ(database.native_code(), 1049);
    const auto column = failure_of([&] { on->execute("SELECT nothing"); });
    EXPECT_EQ(column.code(), errc::schema_mismatch);
    const auto syntax = failure_of([&] { on->execute("SELEKT 1"); });
    EXPECT_EQ(syntax.code(), errc::database_error);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(mysql_test, a_user_without_rights_is_told) {
    const auto on = open();
    create_table(*on);
    const auto theirs = create_account(*on, "");
    on->execute(named("GRANT SELECT ON " + address_.database + ".{t} TO {t}@'%'"));
    const auto limited = mysql::connect(theirs, 10s, 10s);
    EXPECT_EQ(limited->execute(named("SELECT * FROM {t}")).rows.size(), 2U);
    const auto write = failure_of([&] { limited->execute(named("UPDATE {t} SET n = 1")); });
    EXPECT_EQ(write.code(), errc::permission_denied);
    EXPECT_EQ(write.native_code(), 1142);
    const std::string_view said{write.what()};
    EXPECT_NE(said.find(named("{t}")), std::string_view::npos) << "which table? " << said;
    EXPECT_NE(said.find("UPDATE"), std::string_view::npos) << "which right? " << said;
    const auto rule = failure_of([&] { limited->execute("SET GLOBAL max_connections = 100"); });
    EXPECT_EQ(rule.code(), errc::permission_denied);
    EXPECT_EQ(rule.native_code(), 1227);
}

TEST_F(mysql_test, a_read_only_transaction_takes_no_changes) {
    const auto on = open();
    create_table(*on);
    on->execute("START TRANSACTION READ ONLY");
    const auto refused = failure_of([&] { on->execute(named("UPDATE {t} SET n = 1")); });
    EXPECT_EQ(refused.code(), errc::read_only);
    EXPECT_EQ(refused.native_code(), 1792);
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->rollback();
}

// Clusters and replicas answer so; one server alone says it on command.
TEST_F(mysql_test, what_members_of_a_cluster_say_is_explained) {
    const auto on = open();
    const auto said = [&](int code) {
        return failure_of([&] {
            on->execute(
                "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = " + std::to_string(code) +
                ", MESSAGE_TEXT = 'words'"
            );
        });
    };
    const error not_ready = said(1047);
    EXPECT_EQ(not_ready.code(), errc::transient);
    EXPECT_NE(std::string{not_ready.what()}.find("majority"), std::string::npos);
    EXPECT_EQ(std::string{not_ready.what()}.find("run it again"), std::string::npos);
    const error waited = said(1205);
    EXPECT_EQ(waited.code(), errc::transient);
    EXPECT_NE(std::string{waited.what()}.find("an open transaction has it"), std::string::npos);
    EXPECT_NE(std::string{waited.what()}.find("cluster"), std::string::npos);
    for (const int code : {1290, 1836}) {
        const error replica = said(code);
        EXPECT_EQ(replica.code(), errc::read_only);
        const std::string words = replica.what();
        EXPECT_NE(words.find("read-only, as replicas are"), std::string::npos) << words;
        EXPECT_EQ(words.find("transaction"), std::string::npos) << words;
    }
}

TEST_F(mysql_test, a_lock_wait_that_times_out_undoes_the_statement_alone) {
    const auto holder = open();
    const auto waiter = open();
    create_table(*holder);
    holder->begin();
    holder->execute(named("UPDATE {t} SET n = 1 WHERE id = 1"));
    waiter->begin();
    waiter->execute(named("UPDATE {t} SET n = 2 WHERE id = 2"));
    waiter->set_statement_timeout(1s);
    const auto before = std::chrono::steady_clock::now();
    const auto refused =
        failure_of([&] { waiter->execute(named("UPDATE {t} SET n = 2 WHERE id = 1")); });
    EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);  // the server by itself: 50 s
    EXPECT_EQ(refused.code(), errc::transient);
    EXPECT_EQ(refused.native_code(), 1205);
    EXPECT_TRUE(refused.is_transient());
    EXPECT_FALSE(refused.outcome_is_unknown());
    EXPECT_EQ(waiter->state(), connection_state::in_transaction);
    waiter->commit();
    EXPECT_EQ(number_from(*waiter, named("SELECT n FROM {t} WHERE id = 2")), 2);
    holder->rollback();
    // Outside of a transaction it proves that nothing was done, as well.
    holder->begin();
    holder->execute(named("SELECT * FROM {t} WHERE id = 1 FOR UPDATE"));
    const auto alone =
        failure_of([&] { waiter->execute(named("UPDATE {t} SET n = 2 WHERE id = 1")); });
    EXPECT_EQ(alone.native_code(), 1205);
    EXPECT_FALSE(alone.outcome_is_unknown());
    EXPECT_EQ(waiter->state(), connection_state::idle);
}

TEST_F(mysql_test, a_deadlock_undoes_the_whole_transaction_of_its_victim) {
    const auto one = open();
    const auto two = open();
    create_table(*one);
    one->begin();
    one->execute(named("UPDATE {t} SET n = 1 WHERE id = 1"));
    two->begin();
    two->execute(named("UPDATE {t} SET n = 2 WHERE id = 2"));
    const auto waiting = id_of(*one);
    const auto outcome_of = [this](connection& on, int id) {
        try {
            on.execute(named("UPDATE {t} SET n = n + 10 WHERE id = ?"), {id});
            return 0;
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::transient);
            EXPECT_FALSE(refused.outcome_is_unknown());
            return refused.native_code();
        }
    };
    auto first = std::async(std::launch::async, [&] { return outcome_of(*one, 2); });
    const auto watching = open();
    ASSERT_TRUE(is_busy_with(*watching, waiting, "n + 10"));
    const int second = outcome_of(*two, 1);
    const int outcomes[]{first.get(), second};
    ASSERT_EQ(outcomes[0] + outcomes[1], 1213);  // one of them, and the other went through
    connection& victim = outcomes[0] == 1213 ? *one : *two;
    connection& survivor = outcomes[0] == 1213 ? *two : *one;
    EXPECT_EQ(victim.state(), connection_state::idle);
    EXPECT_EQ(survivor.state(), connection_state::in_transaction);
    survivor.commit();
    const int own = outcomes[0] == 1213 ? 2 : 1;  // what the survivor had set before
    EXPECT_EQ(number_from(victim, named("SELECT CAST(SUM(n) AS SIGNED) FROM {t}")), own + 10);
    // The victim's next statement commits by itself.
    victim.execute(named("UPDATE {t} SET n = 50"));
    EXPECT_EQ(number_from(survivor, named("SELECT MIN(n) FROM {t}")), 50);
}

TEST_F(mysql_test, a_statement_stopped_by_hand_may_have_been_done) {
    const auto on = open();
    const auto other = open();
    create_table(*on);
    other->begin();
    other->execute(named("UPDATE {t} SET n = 1"));
    const auto id = id_of(*on);
    auto stopped = std::async(std::launch::async, [&] {
        return failure_of([&] { on->execute(named("UPDATE {t} SET n = 2 WHERE id = 1")); });
    });
    const auto watching = open();
    ASSERT_TRUE(is_busy_with(*watching, id, "n = 2"));
    watching->execute("KILL QUERY " + std::to_string(id));
    const auto said = stopped.get();
    EXPECT_EQ(said.code(), errc::timed_out);
    EXPECT_EQ(said.native_code(), 1317);
    EXPECT_TRUE(said.outcome_is_unknown());
    EXPECT_FALSE(said.connection_is_lost());
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(number_from(*on, "SELECT 1"), 1);
}

TEST_F(mysql_test, a_statement_that_runs_too_long_is_stopped_by_the_server) {
    const auto on = open();
    on->set_statement_timeout(1s);
    on->begin();
    const auto before = std::chrono::steady_clock::now();
    const auto said = failure_of([&] {
        on->execute(
            "SELECT COUNT(*) FROM information_schema.columns a, "
            "information_schema.columns b, information_schema.columns c"
        );
    });
    EXPECT_LT(std::chrono::steady_clock::now() - before, 8s);
    EXPECT_EQ(said.code(), errc::timed_out);
    EXPECT_EQ(said.native_code(), is_mariadb() ? 1969 : 3024);
    EXPECT_FALSE(said.outcome_is_unknown());  // the transaction is not committed
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->rollback();
    EXPECT_EQ(number_from(*on, "SELECT 1"), 1);
}

}  // namespace
}  // namespace leasehold::testing_mysql
