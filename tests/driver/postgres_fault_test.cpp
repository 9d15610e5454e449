// The PostgreSQL driver when the other side goes away, stops, or says nothing any more.
#include <csignal>
#include <future>

#include "postgres_support.hpp"

namespace leasehold::testing_postgres {
namespace {

using std::chrono::steady_clock;

class postgres_fault_test : public postgres_test {
protected:
    void terminate(std::int64_t backend) {
        open()->execute("SELECT pg_terminate_backend($1::int)", {backend});
    }
    bool is_running(std::int64_t backend) {
        const auto on = open();
        return !on->execute("SELECT 1 FROM pg_stat_activity WHERE pid = $1", {backend})
                    .rows.empty();
    }
    bool is_sleeping(std::int64_t backend) {
        const auto on = open();
        return !on->execute(
                      "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = "
                      "'PgSleep'",
                      {backend}
        )
                    .rows.empty();
    }
    // Runs a statement that takes long, and kills its server process meanwhile.
    error failure_when_killed(connection& on) {
        const auto backend = backend_of(on);
        auto running = std::async(std::launch::async, [&] {
            return failure_of([&] { on.execute("SELECT pg_sleep(30)"); });
        });
        EXPECT_TRUE(poll_until([&] { return is_sleeping(backend); }));
        terminate(backend);
        return running.get();
    }
    static void expect_lost_for_good(connection& on) {
        EXPECT_EQ(on.state(), connection_state::lost);
        const auto lost = [&](const std::function<void()>& action) {
            const error failure = failure_of(action);
            EXPECT_EQ(failure.code(), errc::connection_lost);
            EXPECT_FALSE(failure.outcome_is_unknown());
        };
        lost([&] { on.execute("SELECT 1"); });
        lost([&] { on.execute_script("SELECT 1"); });
        lost([&] { on.begin(); });
        lost([&] { on.commit(); });
        on.rollback();
        EXPECT_EQ(on.state(), connection_state::lost);
    }
};

// A stopped process: its kernel still acknowledges what is sent to it.
class stopped {
public:
    explicit stopped(std::int64_t process) : process_(static_cast<pid_t>(process)) {
        EXPECT_EQ(::kill(process_, SIGSTOP), 0)
            << "the server runs as another user: run the tests as root or as that user";
    }
    stopped(const stopped&) = delete;
    stopped& operator=(const stopped&) = delete;
    ~stopped() { ::kill(process_, SIGCONT); }

private:
    pid_t process_;
};

TEST_F(postgres_fault_test, a_read_that_requires_a_standby_is_done_without_one) {
    expect_nothing_is_required_of_reads(*open());
}

TEST_F(postgres_fault_test, a_killed_statement_outside_a_transaction_is_in_doubt) {
    const auto on = open();
    const error failure = failure_when_killed(*on);
    EXPECT_EQ(failure.code(), errc::connection_lost);
    EXPECT_EQ(failure.sqlstate(), "57P01");
    EXPECT_TRUE(failure.outcome_is_unknown());
    EXPECT_TRUE(failure.connection_is_lost());
    expect_lost_for_good(*on);
}

TEST_F(postgres_fault_test, a_killed_statement_inside_a_transaction_is_undone) {
    const auto on = open();
    on->begin();
    const error failure = failure_when_killed(*on);
    EXPECT_EQ(failure.code(), errc::connection_lost);
    EXPECT_FALSE(failure.outcome_is_unknown());
    expect_lost_for_good(*on);
}

TEST_F(postgres_fault_test, a_connection_closed_while_idle_sends_nothing_and_is_in_no_doubt) {
    const auto on = open();
    const auto backend = backend_of(*on);
    terminate(backend);
    ASSERT_TRUE(poll_until([&] { return !is_running(backend); }));
    const error failure = failure_of([&] { on->execute("SELECT 1"); });
    EXPECT_EQ(failure.code(), errc::connection_lost);
    EXPECT_EQ(failure.sqlstate(), "57P01");
    EXPECT_FALSE(failure.outcome_is_unknown());
    expect_lost_for_good(*on);
}

TEST_F(postgres_fault_test, waiting_for_a_wake_up_ends_with_the_connection) {
    const auto on = open();
    on->listen("news");
    const auto backend = backend_of(*on);
    auto waiting = std::async(std::launch::async, [&] {
        return failure_of([&] { on->wait_for_notification(30s); });
    });
    terminate(backend);
    EXPECT_EQ(waiting.get().code(), errc::connection_lost);
    expect_lost_for_good(*on);
}

TEST_F(postgres_fault_test, a_stopped_server_process_is_waited_for_no_longer_than_the_limit) {
    for (const bool in_transaction : {false, true}) {
        const auto on = open();
        if (in_transaction) on->begin();
        const auto backend = backend_of(*on);
        on->set_statement_timeout(500ms);
        {
            const stopped server{backend};
            const auto from = steady_clock::now();
            const error failure = failure_of([&] { on->execute("SELECT 1"); });
            const auto took = steady_clock::now() - from;
            EXPECT_GE(took, 499ms);
            EXPECT_LT(took, 500ms + margin);
            EXPECT_EQ(failure.code(), errc::timed_out);
            EXPECT_EQ(failure.outcome_is_unknown(), !in_transaction);
            expect_lost_for_good(*on);
        }
        EXPECT_TRUE(poll_until([&] { return !is_running(backend); }));
    }
}

TEST_F(postgres_fault_test, a_rollback_that_gets_no_answer_ends_in_time_and_does_not_throw) {
    const auto on = open();
    on->begin();
    on->set_statement_timeout(300ms);
    const stopped server{backend_of(*on)};
    const auto from = steady_clock::now();
    on->rollback();
    EXPECT_LT(steady_clock::now() - from, 300ms + margin);
    EXPECT_EQ(on->state(), connection_state::lost);
}

TEST_F(postgres_fault_test, a_server_that_does_not_read_does_not_block_the_writer) {
    const auto on = open();
    const auto backend = backend_of(*on);
    on->set_statement_timeout(500ms);
    const stopped server{backend};
    // More than both socket buffers hold.
    const parameters large{blob{std::string(64'000'000, 'x')}};
    const auto from = steady_clock::now();
    EXPECT_EQ(failure_of([&] { on->execute("SELECT $1", large); }).code(), errc::timed_out);
    EXPECT_LT(steady_clock::now() - from, 500ms + margin);
}

TEST_F(postgres_fault_test, a_statement_given_up_by_the_client_is_ended_at_the_server) {
    const auto on = open(30s);
    const auto backend = backend_of(*on);
    on->set_statement_timeout(300ms);
    const error failure = failure_of([&] { on->execute("SELECT pg_sleep(30)"); });
    EXPECT_EQ(failure.code(), errc::timed_out);
    EXPECT_TRUE(failure.outcome_is_unknown());
    if (on->server().version >= 140000) {
        EXPECT_TRUE(poll_until([&] { return !is_running(backend); }));
    }
}

TEST_F(postgres_fault_test, a_link_that_vanished_without_a_word_is_given_up_in_time) {
    proxy between{address{url_}};
    const auto on = postgres::connect(between.in_front_of(address{url_}).url(), 10s, {10s});
    on->set_statement_timeout(400ms);
    between.withhold_answers();
    const auto from = steady_clock::now();
    const error failure = failure_of([&] { on->execute("SELECT 1"); });
    EXPECT_LT(steady_clock::now() - from, 400ms + margin);
    EXPECT_EQ(failure.code(), errc::timed_out);
    EXPECT_TRUE(failure.is_transient());
    expect_lost_for_good(*on);
}

TEST_F(postgres_fault_test, a_commit_whose_answer_was_lost_is_in_doubt_and_may_have_been_done) {
    proxy between{address{url_}};
    const auto seeing = open();
    const std::string table = "doubt_" + std::to_string(backend_of(*seeing));
    seeing->execute("CREATE TABLE " + table + " (id int)");
    for (const bool as_text : {false, true}) {
        proxy one{address{url_}};
        const auto on = postgres::connect(one.in_front_of(address{url_}).url(), 10s, {10s});
        on->begin();
        on->execute("INSERT INTO " + table + " VALUES (1)");
        one.withhold_answers();
        auto committing = std::async(std::launch::async, [&] {
            return failure_of([&] { as_text ? void(on->execute("COMMIT")) : on->commit(); });
        });
        EXPECT_TRUE(poll_until([&] { return one.withheld_bytes() > 0; }));
        one.cut();
        const error failure = committing.get();
        EXPECT_EQ(failure.code(), errc::connection_lost);
        EXPECT_TRUE(failure.outcome_is_unknown());
    }
    EXPECT_EQ(seeing->execute("SELECT count(*) FROM " + table).rows[0].integer(0), 2);
    seeing->execute("DROP TABLE " + table);
}

TEST_F(postgres_fault_test, a_statement_whose_answer_was_lost_inside_a_transaction_is_undone) {
    proxy between{address{url_}};
    const auto on = postgres::connect(between.in_front_of(address{url_}).url(), 10s, {10s});
    on->begin();
    between.withhold_answers();
    auto running = std::async(std::launch::async, [&] {
        return failure_of([&] { on->execute("SELECT 1"); });
    });
    EXPECT_TRUE(poll_until([&] { return between.withheld_bytes() > 0; }));
    between.cut();
    const error failure = running.get();
    EXPECT_EQ(failure.code(), errc::connection_lost);
    EXPECT_FALSE(failure.outcome_is_unknown());
}

// A healthy server says this only when an administrator ends its wait for a standby.
TEST(postgres_standby_test, a_commit_the_standby_did_not_confirm_is_in_doubt) {
    const std::string warning =
        fake_server::report('N', "WARNING", "01000", "irgendwas", "SyncRepWaitForLSN");
    const fake_server server{
        {fake_server::greeting("15.4"),
         fake_server::set_up_answer(),
         fake_server::answer_to("BEGIN"),
         warning + fake_server::answer_to("COMMIT")}};
    const auto on = postgres::connect(server.url(), 10s, {10s});
    on->begin();
    on->execute_script("SELECT 1");  // takes BEGIN along
    const error failure = failure_of([&] { on->commit(); });
    EXPECT_TRUE(failure.outcome_is_unknown());
    EXPECT_EQ(failure.code(), errc::timed_out);
}

// A refused change may pass only at a server that says that it is a standby: a transaction that may
// not write stays so.
TEST(postgres_standby_test, a_change_that_a_standby_refuses_may_be_done_elsewhere) {
    const std::string refusal =
        fake_server::report('E', "ERROR", "25006", "irgendwas") + fake_server::message('Z', "I");
    for (const char* in_hot_standby : {"on", "off"}) {
        const std::string report = fake_server::message(
            'S', fake_server::text("in_hot_standby") + fake_server::text(in_hot_standby)
        );
        const fake_server server{
            {fake_server::greeting("15.4"), report + fake_server::set_up_answer(), refusal, ""}};
        const auto on = postgres::connect(server.url(), 10s, {10s});
        const error failure = failure_of([&] { on->execute_script("CREATE TABLE t ()"); });
        const bool is_standby = std::string_view{in_hot_standby} == "on";
        EXPECT_EQ(failure.code(), errc::read_only);
        EXPECT_EQ(failure.is_transient(), is_standby) << failure.what();
        EXPECT_EQ(on->state(), is_standby ? connection_state::lost : connection_state::idle);
    }
}

TEST(postgres_standby_test, a_commit_answered_with_rollback_is_an_error) {
    const fake_server server{
        {fake_server::greeting("15.4"),
         fake_server::set_up_answer(),
         fake_server::answer_to("BEGIN"),
         fake_server::answer_to("ROLLBACK")}};
    const auto on = postgres::connect(server.url(), 10s, {10s});
    on->begin();
    on->execute_script("SELECT 1");  // takes BEGIN along
    const error failure = failure_of([&] { on->commit(); });
    EXPECT_EQ(failure.code(), errc::wrong_transaction);
    EXPECT_FALSE(failure.outcome_is_unknown());
}

}  // namespace
}  // namespace leasehold::testing_postgres
