// The MySQL driver when its connection breaks, or its answers do not come.
#include <future>

#include "mysql_support.hpp"

namespace leasehold::testing_mysql {
namespace {

// Statements that no server stops by its own limits.
constexpr const char* endless_of_mariadb = "SET STATEMENT max_statement_time = 0 FOR DO SLEEP(60)";
constexpr const char* endless_of_mysql = "DO SLEEP(60)";

// For a statement that is killed: a busy machine may take long to connect the killer, and where a
// limit ends the sleep before, MySQL's answer is a row and no error.
constexpr auto asleep_at_most = 1min;

class mysql_fault : public mysql_test {
protected:
    // The error that `action` throws when the connection is killed meanwhile.
    error killed_during(connection& on, const std::function<void()>& action) const {
        const auto id = id_of(on);
        auto failed = std::async(std::launch::async, [&] { return failure_of(action); });
        const auto killer = open();
        EXPECT_TRUE(is_busy_with(*killer, id, "SLEEP"));
        killer->execute("KILL CONNECTION " + std::to_string(id));
        return failed.get();
    }

    const char* endless() const { return is_mariadb() ? endless_of_mariadb : endless_of_mysql; }
};

void expect_lost(connection& on) {
    EXPECT_EQ(on.state(), connection_state::lost);
    for (const auto& each : std::vector<std::function<void()>>{
             [&] { on.execute("SELECT 1"); },
             [&] { on.execute_script("SELECT 1; SELECT 2"); },
             [&] { on.begin(); },
             [&] { on.commit(); },
             [&] { on.set_statement_timeout(3s); },
         }) {
        const auto refused = failure_of(each);
        EXPECT_EQ(refused.code(), errc::connection_lost);
        EXPECT_FALSE(refused.outcome_is_unknown());  // nothing was sent
    }
    on.rollback();
    EXPECT_EQ(on.state(), connection_state::lost);
    EXPECT_FALSE(on.answers());
}

TEST_F(mysql_fault, a_connection_killed_outside_of_a_transaction_leaves_the_outcome_unknown) {
    const auto on = open(asleep_at_most);
    const auto said = killed_during(*on, [&] { on->execute("SELECT SLEEP(60)"); });
    EXPECT_EQ(said.code(), errc::connection_lost);
    EXPECT_TRUE(said.outcome_is_unknown());
    EXPECT_TRUE(said.connection_is_lost());
    EXPECT_TRUE(said.is_transient());
    expect_lost(*on);
}

TEST_F(mysql_fault, a_connection_killed_inside_of_a_transaction_has_not_committed) {
    const auto on = open(asleep_at_most);
    create_table(*on);
    on->begin();
    on->execute(named("UPDATE {t} SET n = 1"));
    const auto said = killed_during(*on, [&] { on->execute("SELECT SLEEP(60)"); });
    EXPECT_EQ(said.code(), errc::connection_lost);
    EXPECT_FALSE(said.outcome_is_unknown());
    expect_lost(*on);
    // The server rolls back when it has noticed; until then the rows are locked.
    EXPECT_EQ(number_from(*open(), named("SELECT SUM(n) = 0 FROM {t} LOCK IN SHARE MODE")), 1);
}

TEST_F(mysql_fault, a_script_that_commits_is_in_doubt_when_the_connection_breaks) {
    const auto on = open(asleep_at_most);
    on->begin();
    const auto said =
        killed_during(*on, [&] { on->execute_script("SELECT SLEEP(60); COMMIT; SELECT 1"); });
    EXPECT_EQ(said.code(), errc::connection_lost);
    EXPECT_TRUE(said.outcome_is_unknown());
    expect_lost(*on);
}

TEST_F(mysql_fault, a_connection_killed_while_idle_is_found_out) {
    const auto on = open();
    const auto other = open();
    const auto id = id_of(*on);
    other->execute("KILL CONNECTION " + std::to_string(id));
    ASSERT_TRUE(poll_until([&] {
        const result left =
            other->execute("SELECT 1 FROM information_schema.processlist WHERE id = ?", {id});
        return left.rows.empty();
    }));
    EXPECT_EQ(on->state(), connection_state::idle);  // nobody has said anything yet
    EXPECT_EQ(failure_of([&] { on->begin(); }).code(), errc::connection_lost);
    expect_lost(*on);
}

TEST_F(mysql_fault, a_server_that_says_nothing_is_given_up) {
    const auto on = open(2s);
    const auto before = std::chrono::steady_clock::now();
    const auto said = failure_of([&] { on->execute(endless()); });
    const auto waited = std::chrono::steady_clock::now() - before;
    EXPECT_GE(waited, 2s);
    EXPECT_LT(waited, 8s);  // the limit, a second, and a busy machine; three tries would take nine
    EXPECT_EQ(said.code(), errc::timed_out);
    EXPECT_TRUE(said.outcome_is_unknown());
    expect_lost(*on);
}

TEST_F(mysql_fault, inside_of_a_transaction_what_is_given_up_is_not_committed) {
    const auto on = open(1s);
    on->begin();
    const auto said = failure_of([&] { on->execute(endless()); });
    EXPECT_EQ(said.code(), errc::timed_out);
    EXPECT_FALSE(said.outcome_is_unknown());
    expect_lost(*on);
}

TEST_F(mysql_fault, a_commit_whose_answer_is_lost_is_in_doubt) {
    create_table(*open());
    proxy between{address_};
    const auto on = mysql::connect(between.in_front(), 1s, 10s);
    on->begin();
    on->execute(named("UPDATE {t} SET n = 7"));
    between.withhold_answers();
    const auto said = failure_of([&] { on->commit(); });
    EXPECT_EQ(said.code(), errc::timed_out);
    EXPECT_TRUE(said.outcome_is_unknown());
    EXPECT_GT(between.withheld_bytes(), 0);
    expect_lost(*on);
    EXPECT_EQ(number_from(*open(), named("SELECT MIN(n) FROM {t}")), 7);  // and here it was done
}

TEST_F(mysql_fault, a_rollback_that_fails_leaves_a_lost_connection) {
    proxy between{address_};
    const auto on = mysql::connect(between.in_front(), 1s, 10s);
    on->begin();
    between.withhold_answers();
    on->rollback();
    expect_lost(*on);
}

}  // namespace
}  // namespace leasehold::testing_mysql
