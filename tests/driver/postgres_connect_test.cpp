// The PostgreSQL driver where no connection comes about, and that no message tells a password.
#include "core/program_name.hpp"
#include "leasehold/driver/postgres.hpp"

#include "postgres_support.hpp"
#include "support/inherited.hpp"

namespace leasehold::testing_postgres {
namespace {

constexpr const char* password = "geheim-7Fq";

void expect_discreet(const error& failure) {
    EXPECT_EQ(std::string{failure.what()}.find("geheim"), std::string::npos) << failure.what();
    EXPECT_EQ(std::string{failure.what()}.find("7Fq"), std::string::npos) << failure.what();
    EXPECT_EQ(failure.server_message().find(password), std::string::npos);
}

error connect_failure(const std::string& url, milliseconds timeout = 10s) {
    const error failure = failure_of([&] { postgres::connect(url, 10s, {timeout}); });
    EXPECT_STREQ(name_of(failure.code()), "connection_failed") << failure.what();
    EXPECT_FALSE(failure.outcome_is_unknown());
    expect_discreet(failure);
    return failure;
}

bool mentions(const error& failure, const std::string& words) {
    return std::string{failure.what()}.find(words) != std::string::npos;
}

class postgres_connect_test : public postgres_test {};

TEST_F(postgres_connect_test, a_wrong_password_is_said_to_be_one) {
    address there{url_};
    there.password = password;
    const error failure = connect_failure(there.url());
    EXPECT_EQ(failure.sqlstate(), "28P01");
    EXPECT_FALSE(failure.is_transient());
    EXPECT_TRUE(mentions(failure, "refused the password of user " + there.user)) << failure.what();
    EXPECT_TRUE(mentions(failure, there.host + ":" + there.port + "/" + there.database));
    EXPECT_TRUE(mentions(failure, "PGPASSFILE"));
}

TEST_F(postgres_connect_test, a_missing_password_is_said_to_be_missing) {
    address there{url_};
    there.password = "";
    const error failure = connect_failure(there.url() + "?passfile=/nonexistent");
    EXPECT_TRUE(mentions(failure, "asks for a password")) << failure.what();
    EXPECT_FALSE(mentions(failure, "fe_sendauth"));
    EXPECT_FALSE(failure.is_transient());
}

// The error names each of several hosts: the last one alone would lead to the wrong machine.
TEST_F(postgres_connect_test, hosts_of_which_none_takes_writes_are_all_named) {
    const address there{url_};
    const auto url = [&](const std::string& hosts) {
        return "postgresql://" + there.user + ":" + there.password + "@" + hosts + "/" +
               there.database +
               "?target_session_attrs=read-write&options=-cdefault_transaction_read_only%3Don";
    };
    const std::string one = there.host + ":" + there.port;
    const error failure = connect_failure(url("127.0.0.1:1," + one));
    EXPECT_TRUE(mentions(failure, "no host of the URL takes writes")) << failure.what();
    EXPECT_TRUE(mentions(failure, "127.0.0.1:1 (")) << failure.what();
    EXPECT_TRUE(mentions(failure, one + " (takes no writes)")) << failure.what();
    EXPECT_TRUE(failure.is_transient()) << "one of them may be promoted";
    EXPECT_TRUE(mentions(connect_failure(url(one)), one + " (takes no writes)"));
}

// The server goes while the handle asks whether it is the right one. The caller's first statement
// tells the caller.
TEST_F(postgres_connect_test, a_connection_that_is_lost_while_it_is_admitted_is_only_lost) {
    const address there{url_};
    const std::string one = there.host + ":" + there.port;
    const std::string url = "postgresql://" + there.user + ":" + there.password + "@" + one + "," +
                            one + "/" + there.database;
    connect_limits within{10s};
    within.admit = [](connection& on) {
        EXPECT_TRUE(failure_of([&] {
                        on.execute("SELECT pg_terminate_backend(pg_backend_pid())", {});
                    }).is_transient());
    };
    const auto made = postgres::connect(
        url, 10s, within, std::make_shared<postgres::handle_memory>(), "leasehold"
    );
    EXPECT_EQ(made->state(), connection_state::lost);
}

TEST_F(postgres_connect_test, an_unknown_database_is_named) {
    address there{url_};
    there.database = "no_such_database";
    const error failure = connect_failure(there.url());
    EXPECT_EQ(failure.sqlstate(), "3D000");
    EXPECT_FALSE(failure.is_transient());
    EXPECT_TRUE(mentions(failure, "/no_such_database has no such database")) << failure.what();
}

TEST_F(postgres_connect_test, too_many_connections_may_pass) {
    const auto on = open(60s);  // a database made or dropped waits for a checkpoint
    address there{url_};
    there.database = "full_" + std::to_string(backend_of(*on));
    on->execute("CREATE DATABASE " + there.database + " CONNECTION LIMIT 0");
    const error failure = connect_failure(there.url());
    EXPECT_EQ(failure.sqlstate(), "53300");
    EXPECT_TRUE(failure.is_transient());
    on->execute("DROP DATABASE " + there.database);
}

TEST_F(postgres_connect_test, several_hosts_are_tried_in_turn) {
    const address there{url_};
    const std::string url = "postgresql://" + there.user + ":" + there.password + "@127.0.0.1:1," +
                            there.host + ":" + there.port + "/" + there.database;
    EXPECT_EQ(postgres::connect(url, 10s, {10s})->state(), connection_state::idle);
}

// The host is like a server whose processes are stopped: its kernel takes the connection.
TEST_F(postgres_connect_test, a_host_that_says_nothing_leaves_time_for_those_behind_it) {
    const address there{url_};
    const listener first, second;
    const auto memory = std::make_shared<postgres::handle_memory>();
    const auto connect_to = [&](const std::string& end) {
        return postgres::connect(
            "postgresql://" + there.user + ":" + there.password + "@127.0.0.1:" + first.port +
                ",127.0.0.1:" + second.port + "," + end,
            10s,
            {1500ms},
            memory
        );
    };
    const std::string end = there.host + ":" + there.port + "/" + there.database;
    EXPECT_EQ(connect_to(end)->state(), connection_state::idle);
    EXPECT_EQ(first.takes(), 1);
    EXPECT_EQ(second.takes(), 1);
    // The one that took their place is asked first from then on.
    EXPECT_EQ(connect_to(end)->state(), connection_state::idle);
    EXPECT_EQ(first.takes() + second.takes(), 0);
    // When the last one refuses, those that said nothing are not forgotten.
    const error failure = failure_of([&] {
        postgres::connect(
            "postgresql://me:" + std::string{password} + "@127.0.0.1:" + first.port +
                ",127.0.0.1:1/app",
            10s,
            {400ms}
        );
    });
    expect_discreet(failure);
    EXPECT_TRUE(failure.is_transient());
    EXPECT_TRUE(mentions(failure, "127.0.0.1:1/app cannot be reached")) << failure.what();
    EXPECT_TRUE(
        mentions(failure, "no answer came in time from PostgreSQL at 127.0.0.1:" + first.port)
    ) << failure.what();
}

// It lets us in, and the server behind it is silent: as a pooler.
TEST_F(postgres_connect_test, a_host_that_is_silent_after_its_greeting_is_passed_over) {
    const address there{url_};
    const fake_server server{{fake_server::greeting("15.4"), "", "", ""}};
    const std::string first = server.url();
    const auto at = first.find('@') + 1;
    const std::string url = "postgresql://" + there.user + ":" + there.password + "@" +
                            first.substr(at, first.find('/', at) - at) + "," + there.host + ":" +
                            there.port + "/" + there.database +
                            "?sslmode=disable&gssencmode=disable";
    EXPECT_EQ(backend_of(*postgres::connect(url, 10s, {2s})) > 0, true);
}

TEST_F(postgres_connect_test, the_session_is_bounded_at_the_server_and_named) {
    const auto on = open(2s);
    const row got = on->execute(
                          "SELECT current_setting('statement_timeout'),"
                          " current_setting('lock_timeout'),"
                          " current_setting('client_encoding'),"
                          " current_setting('application_name')"
    )
                        .rows.at(0);
    EXPECT_EQ(got.text(0), "1800ms");
    EXPECT_EQ(got.text(1), "1800ms");
    EXPECT_EQ(got.text(2), "UTF8");
    EXPECT_EQ(got.text(3), connection_name({}));
    if (on->server().version >= 140000) {
        EXPECT_EQ(
            on->execute("SELECT current_setting('client_connection_check_interval')")
                .rows.at(0)
                .text(0),
            "1s"
        );
    }
    const auto named = postgres::connect(
        address{url_}.url() + "?application_name=billing&options=-c%20search_path%3Dpg_temp",
        2s,
        {10s}
    );
    const row kept = named
                         ->execute(
                             "SELECT current_setting('application_name'),"
                             " current_setting('search_path')"
                         )
                         .rows.at(0);
    EXPECT_EQ(kept.text(0), "billing");
    EXPECT_EQ(kept.text(1), "pg_temp");
    // A long name is not cut at its end, which says which process it is.
    const auto memory = std::make_shared<postgres::handle_memory>();
    const auto called = postgres::connect(url_, 2s, {10s}, memory, std::string(200, 'n'));
    const std::string shown =
        called->execute("SELECT current_setting('application_name')").rows.at(0).text(0);
    EXPECT_EQ(shown.size(), 63U);
    EXPECT_TRUE(shown.starts_with("nnn")) << shown;
    EXPECT_TRUE(shown.ends_with(":" + std::to_string(getpid()))) << shown;
}

// The planner is held to indexes for the statements of the library alone. The role gives one
// setting here that is not the server's.
TEST_F(postgres_connect_test, a_transaction_of_the_caller_is_planned_as_the_role_wants) {
    const char* ask =
        "SELECT current_setting('enable_seqscan') || ' ' || current_setting('enable_bitmapscan')";
    const auto on =
        postgres::connect(address{url_}.url() + "?options=-c%20enable_bitmapscan%3Doff", 2s, {10s});
    for (int round = 0; round < 2; ++round) {
        on->set_is_callers(false);
        EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "off off");
        on->begin();
        EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "off off") << "of the library's own";
        on->commit();
        on->set_is_callers(true);
        on->begin();
        EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "on off");
        on->commit();
        on->begin();
        on->execute_script("SELECT 1");
        EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "on off");
        on->rollback();
    }
}

TEST_F(postgres_connect_test, an_opened_database_works_and_connects_only_when_used) {
    EXPECT_EQ(postgres::open(url_).server().engine, engine::postgres);
    // Nobody listens there: only a use would notice.
    const database nowhere = postgres::open("postgresql://nobody@127.0.0.1:1/app");
    EXPECT_EQ(failure_of([&] { nowhere.server(); }).code(), errc::connection_failed);
}

TEST(postgres_unreachable_test, a_closed_port_is_transient_and_named) {
    const error failure =
        connect_failure(std::string{"postgresql://me:"} + password + "@127.0.0.1:1/app");
    EXPECT_TRUE(failure.is_transient());
    EXPECT_TRUE(mentions(failure, "127.0.0.1:1/app cannot be reached: Connection refused"))
        << failure.what();
}

TEST(postgres_unreachable_test, an_unknown_host_is_named) {
    const error failure =
        connect_failure(std::string{"postgresql://me:"} + password + "@no-such-host.invalid/app");
    EXPECT_TRUE(mentions(failure, "no-such-host.invalid")) << failure.what();
}

TEST(postgres_unreachable_test, a_host_that_says_nothing_is_given_up_in_time) {
    const listener silent;
    const auto from = std::chrono::steady_clock::now();
    const error failure = connect_failure(
        std::string{"postgresql://me:"} + password + "@127.0.0.1:" + silent.port + "/app", 300ms
    );
    EXPECT_LT(std::chrono::steady_clock::now() - from, 300ms + margin);
    EXPECT_TRUE(failure.is_transient());
    EXPECT_TRUE(mentions(failure, "in time")) << failure.what();
}

TEST(postgres_unreachable_test, a_server_that_goes_silent_after_the_greeting_is_given_up_in_time) {
    const fake_server server{{fake_server::greeting("15.4"), "", "", ""}};
    const auto from = std::chrono::steady_clock::now();
    connect_failure(server.url(), 300ms);
    EXPECT_LT(std::chrono::steady_clock::now() - from, 300ms + margin);
}

TEST(postgres_unreachable_test, a_server_that_is_starting_up_may_be_tried_again) {
    const fake_server server{
        {fake_server::report('E', "FATAL", "57P03", "das Datenbanksystem startet")}};
    const error failure = connect_failure(server.url());
    EXPECT_EQ(failure.sqlstate(), "57P03");
    EXPECT_TRUE(failure.is_transient());
    EXPECT_EQ(failure.server_message(), "das Datenbanksystem startet");
}

// The table of docs/decisions/engines.md, row by row: whether a caller may go on.
struct condition {
    const char* name;
    const char* sqlstate;
    bool is_transient;
};

TEST(postgres_conditions, of_statements_pass_or_stay) {
    for (const condition& each : {
             condition{"disk full", "53100", true},
             condition{"out of memory", "53200", true},
             condition{"too many connections", "53300", true},
             condition{"other resources", "53000", true},
             condition{"other resources", "53400", true},
             condition{"serialization", "40001", true},
             condition{"deadlock", "40P01", true},
             condition{"lock not available", "55P03", true},
             condition{"cancelled", "57014", true},
             condition{"read-only", "25006", false},
             condition{"disk that fails", "58030", false},
             condition{"damaged", "XX001", false},
             condition{"wrong", "42601", false},
         }) {
        const fake_server server{
            {fake_server::greeting("15.4"),
             fake_server::set_up_answer(),
             fake_server::report('E', "ERROR", each.sqlstate, "what it says") +
                 fake_server::message('Z', "I"),
             ""}};
        const auto on = postgres::connect(server.url(), 10s, {10s});
        const error said = failure_of([&] { on->execute_script("SELECT 1"); });
        EXPECT_EQ(said.sqlstate(), each.sqlstate);
        EXPECT_EQ(said.is_transient(), each.is_transient) << each.name << ": " << said.what();
    }
}

TEST(postgres_conditions, of_attempts_to_connect_pass_or_stay) {
    for (const condition& each : {
             condition{"starts or stops", "57P03", true},
             condition{"starts or stops", "57P01", true},
             condition{"another process crashed", "57P02", true},
             condition{"too many connections", "53300", true},
             condition{"out of memory", "53200", true},
             condition{"a pooler without a server", "08006", true},
             condition{"wrong password", "28P01", false},
             condition{"not let in", "28000", false},
             condition{"no database", "3D000", false},
             condition{"takes no connections", "55000", false},
             condition{"damaged", "XX001", false},
         }) {
        const fake_server server{{fake_server::report('E', "FATAL", each.sqlstate, "says")}};
        const error said = connect_failure(server.url());
        EXPECT_EQ(said.sqlstate(), each.sqlstate);
        EXPECT_EQ(said.is_transient(), each.is_transient) << each.name << ": " << said.what();
    }
}

TEST(postgres_unreachable_test, words_that_hold_the_password_are_left_out) {
    const fake_server server{{fake_server::report('E', "FATAL", "XX000", "you said hidden")}};
    const error failure = failure_of([&] { postgres::connect(server.url(), 10s, {10s}); });
    EXPECT_FALSE(mentions(failure, "hidden")) << failure.what();
}

TEST(postgres_unreachable_test, an_old_server_is_refused) {
    const fake_server server{{fake_server::greeting("12.22")}};
    const error failure = failure_of([&] { postgres::connect(server.url(), 10s, {10s}); });
    EXPECT_EQ(failure.code(), errc::unsupported);
    EXPECT_TRUE(mentions(failure, "12.22")) << failure.what();
}

TEST(postgres_url_test, a_malformed_url_is_refused_at_once_and_not_repeated) {
    const std::string secret = password;
    for (const std::string& url :
         {std::string{},
          std::string{"app"},
          "postgresql://me:" + secret + "@host:port/app",
          "postgresql://me:" + secret + "@host:65536/app",
          "postgresql://me:" + secret + "@host:0/app",
          "postgresql://me:" + secret + "@a:1,b:99999999999/app",
          "postgresql://me:" + secret + "@host/app?no_such_option=1",
          "postgresql://me:" + secret + "@host/app?sslmode",
          "postgresql://me:" + secret + "@[::1/app",
          "host=a password='" + secret,
          "no_such_key=1 password=" + secret,
          // a password that was not encoded
          "postgresql://me:pa@" + secret + "@host/app",
          "postgresql://me:" + secret + "/x@host/app",
          "postgresql://me:" + secret + "?/x@host/app",
          "postgresql://me:" + secret + "%zz@host/app",
          std::string{"postgresql://me@host/app\0x", 26}}) {
        const error failure = failure_of([&] { postgres::open(url); });
        EXPECT_EQ(failure.code(), errc::invalid_argument) << failure.what();
        expect_discreet(failure);
    }
}

TEST(postgres_url_test, what_libpq_takes_is_taken) {
    for (const char* url :
         {"postgresql://",
          "postgres://me@host",
          "postgresql://me:a%40b%2Fc@h1:1,h2:2/app?sslmode=require",
          "postgresql:///app?host=/run/postgresql",
          "postgresql://[::1]:5432/app",
          "dbname=app",
          "host=a,b port=1,2 password='x@y/z'",
          "host=a,b port=,65535",
          "service=billing"}) {
        EXPECT_NO_THROW(postgres::open(url)) << url;
    }
}

TEST_F(postgres_connect_test, a_program_that_is_started_inherits_no_connection) {
    const int before = testing::inherited_sockets();
    ASSERT_GE(before, 0);
    const auto on = open();
    EXPECT_EQ(testing::inherited_sockets(), before);
    EXPECT_EQ(on->execute("SELECT 7").rows.at(0).integer(0), 7);
}

}  // namespace
}  // namespace leasehold::testing_postgres
