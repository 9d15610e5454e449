// The PostgreSQL driver on a connection that is somebody else's: it works, and leaves no trace.
#include <future>

#include "leasehold/driver/postgres.hpp"
#include "postgres_support.hpp"

namespace leasehold::testing_postgres {
namespace {

class postgres_borrow_test : public postgres_test {
protected:
    static void run(PGconn* on, const char* sql) {
        PGresult* const got = PQexec(on, sql);
        const auto status = PQresultStatus(got);
        EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << PQerrorMessage(on);
        PQclear(got);
    }
    static std::string ask(PGconn* on, const char* sql) {
        PGresult* const got = PQexec(on, sql);
        std::string text = PQntuples(got) == 1 ? PQgetvalue(got, 0, 0) : "no row";
        PQclear(got);
        return text;
    }
};

TEST_F(postgres_borrow_test, it_takes_part_in_the_callers_transaction) {
    const auto lent = open_raw();
    run(lent.get(), "BEGIN; CREATE TEMP TABLE seat (id int) ON COMMIT DROP");
    const borrowed_connection borrowed = borrow(lent.get());
    connection& inside = borrowed.inside();
    EXPECT_EQ(inside.server().engine, engine::postgres);
    EXPECT_GE(inside.server().version, 130000);
    EXPECT_EQ(inside.state(), connection_state::in_transaction);
    EXPECT_EQ(inside.execute("INSERT INTO seat VALUES ($1)", {7}).affected_rows, 1);
    EXPECT_EQ(inside.execute_script("SELECT 1; SELECT id FROM seat").rows.at(0).integer(0), 7);
    for (const auto& action : std::vector<std::function<void()>>{
             [&] { inside.begin(); }, [&] { inside.commit(); }, [&] { inside.listen("news"); }}) {
        EXPECT_EQ(failure_of(action).code(), errc::unsupported);
    }
    inside.rollback();
    EXPECT_FALSE(inside.can_notify());
    EXPECT_EQ(PQtransactionStatus(lent.get()), PQTRANS_INTRANS);
    EXPECT_EQ(ask(lent.get(), "SELECT id FROM seat"), "7");
    run(lent.get(), "ROLLBACK");
    EXPECT_EQ(inside.state(), connection_state::idle);
}

TEST_F(postgres_borrow_test, settings_flags_and_statements_are_left_as_they_were) {
    const char* settings =
        "SELECT string_agg(name || '=' || setting, ',' ORDER BY name) FROM pg_settings";
    for (const int non_blocking : {0, 1}) {
        const auto lent = open_raw();
        const std::string before = ask(lent.get(), settings);
        ASSERT_EQ(PQsetnonblocking(lent.get(), non_blocking), 0);
        {
            const borrowed_connection borrowed = borrow(lent.get());
            borrowed.inside().set_statement_timeout(3s);
            borrowed.inside().execute("SELECT $1", {blob{"x"}});
            EXPECT_EQ(
                failure_of([&] { borrowed.inside().execute("SELECT 1/0"); }).sqlstate(), "22012"
            );
        }
        EXPECT_EQ(PQisnonblocking(lent.get()), non_blocking);
        EXPECT_EQ(PQpipelineStatus(lent.get()), PQ_PIPELINE_OFF);
        EXPECT_EQ(PQtransactionStatus(lent.get()), PQTRANS_IDLE);
        EXPECT_EQ(ask(lent.get(), settings), before);
        EXPECT_EQ(ask(lent.get(), "SELECT count(*) FROM pg_prepared_statements"), "0");
    }
}

TEST_F(postgres_borrow_test, what_cannot_take_part_is_refused) {
    const auto lent = open_raw();
    const borrowed_connection borrowed = borrow(lent.get());
    const auto code = [&] {
        return failure_of([&] { borrowed.inside().execute("SELECT 1"); }).code();
    };
    ASSERT_EQ(PQenterPipelineMode(lent.get()), 1);
    EXPECT_EQ(code(), errc::wrong_transaction);
    ASSERT_EQ(PQexitPipelineMode(lent.get()), 1);
    // a command of the caller's is under way
    ASSERT_EQ(PQsendQuery(lent.get(), "SELECT 1"), 1);
    EXPECT_EQ(code(), errc::wrong_transaction);
    while (PGresult* const each = PQgetResult(lent.get())) PQclear(each);
    EXPECT_EQ(borrowed.inside().execute("SELECT 1").rows.size(), 1U);
    // a failed transaction
    run(lent.get(), "BEGIN");
    PQclear(PQexec(lent.get(), "SELECT 1/0"));
    EXPECT_EQ(borrowed.inside().state(), connection_state::failed);
    EXPECT_EQ(code(), errc::wrong_transaction);
    run(lent.get(), "ROLLBACK");
    // a broken connection, and none at all
    const std::string backend = ask(lent.get(), "SELECT pg_backend_pid()");
    open()->execute("SELECT pg_terminate_backend($1)", {backend});
    EXPECT_EQ(code(), errc::connection_lost);
    EXPECT_EQ(borrowed.inside().state(), connection_state::lost);
    EXPECT_EQ(
        failure_of([] { borrow(static_cast<PGconn*>(nullptr)); }).code(), errc::invalid_argument
    );
}

TEST_F(postgres_borrow_test, a_time_out_leaves_the_callers_connection_open) {
    for (const bool in_transaction : {false, true}) {
        const auto lent = open_raw();
        if (in_transaction) run(lent.get(), "BEGIN");
        const borrowed_connection borrowed = borrow(lent.get());
        borrowed.inside().set_statement_timeout(200ms);
        const error failure = failure_of([&] { borrowed.inside().execute("SELECT pg_sleep(4)"); });
        EXPECT_EQ(failure.code(), errc::timed_out);
        EXPECT_EQ(failure.outcome_is_unknown(), !in_transaction);
        EXPECT_EQ(borrowed.inside().state(), connection_state::lost);
        EXPECT_EQ(PQstatus(lent.get()), CONNECTION_OK);
        EXPECT_EQ(PQisnonblocking(lent.get()), 0);
        EXPECT_EQ(PQtransactionStatus(lent.get()), PQTRANS_ACTIVE);
        // As promised, the caller may read to the end and go on.
        while (PGresult* const each = PQgetResult(lent.get())) PQclear(each);
        EXPECT_EQ(ask(lent.get(), "SELECT 1"), "1");
    }
}

TEST_F(postgres_borrow_test, notifications_stay_the_callers) {
    const auto lent = open_raw();
    run(lent.get(), "LISTEN news");
    const borrowed_connection borrowed = borrow(lent.get());
    borrowed.inside().execute("SELECT pg_notify('news', 'x')");
    PGnotify* const heard = PQnotifies(lent.get());
    EXPECT_NE(heard, nullptr);
    PQfreemem(heard);
}

TEST_F(postgres_borrow_test, what_would_bend_a_text_is_refused_by_name) {
    for (const char* each : {"client_encoding = 'LATIN1'", "standard_conforming_strings = off"}) {
        const auto lent = open_raw();
        const borrowed_connection borrowed = borrow(lent.get());
        run(lent.get(), "SET client_encoding = 'UTF8'");
        EXPECT_EQ(
            borrowed.inside().execute("SELECT $1::text", {"Z\u00fcrich"}).rows.at(0).text(0),
            "Z\u00fcrich"
        );
        run(lent.get(), (std::string{"SET "} + each).c_str());
        const auto refused = failure_of([&] { borrowed.inside().execute("SELECT 1"); });
        EXPECT_EQ(refused.code(), errc::unsupported) << each;
        const std::string name{each, std::string_view{each}.find(' ')};
        EXPECT_NE(std::string_view{refused.what()}.find(name), std::string_view::npos)
            << refused.what();
        run(lent.get(), ("RESET " + name).c_str());
        run(lent.get(), "SET client_encoding = 'UTF8'");
        EXPECT_EQ(borrowed.inside().execute("SELECT 1").rows.at(0).integer(0), 1);
    }
}

}  // namespace
}  // namespace leasehold::testing_postgres
