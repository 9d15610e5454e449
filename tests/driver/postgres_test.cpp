// The PostgreSQL driver on a healthy connection: values, results, states, and what errors mean.
#include <cmath>
#include <future>
#include <limits>
#include <type_traits>

#include "driver/postgres_server.hpp"
#include "driver/postgres_values.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/identity.hpp"
#include "postgres_support.hpp"
#include "statements.hpp"

namespace leasehold::testing_postgres {
namespace {

TEST_F(postgres_test, a_server_says_its_version) {
    const auto on = open();
    EXPECT_EQ(on->server().engine, engine::postgres);
    const auto number = on->execute("SELECT current_setting('server_version_num')::int").rows[0];
    const std::int64_t major = number.integer(0) / 10000;
    EXPECT_EQ(on->server().version, major * 10000 + number.integer(0) % 10000 * 100);
    EXPECT_EQ(on->server().version_text.find(std::to_string(major) + "."), 0U);
}

// They refer to the values. A value bound from a temporary was sent as garbage.
TEST(bound_parameters_test, are_made_of_no_temporary) {
    EXPECT_TRUE((std::is_constructible_v<postgres::bound_parameters, const parameters&>));
    EXPECT_FALSE((std::is_constructible_v<postgres::bound_parameters, parameters>));
    EXPECT_FALSE((std::is_constructible_v<postgres::bound_parameters, const parameters>));
}

TEST_F(postgres_test, values_of_every_type_come_back_as_they_went) {
    const auto on = open();
    std::string all_bytes;
    for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
    const parameters sent{
        std::numeric_limits<std::int64_t>::min(),
        0.1,
        "quote ' backslash \\ percent % umlaut \xc3\xbc",
        blob{all_bytes},
        blob{""},
        "",
        nullptr};
    const char* sql = "SELECT $1, $2, $3::text, $4, $5, $6::text, $7::text";
    for (int use = 0; use < 3; ++use) {  // first prepared, then reused
        const result got = on->execute(sql, sent);
        ASSERT_EQ(got.rows.size(), 1U);
        EXPECT_EQ(got.rows[0].columns, sent);
    }
}

// BEGIN travels with the first statement; until then nobody needs to ask for the level.
TEST_F(postgres_test, a_transaction_is_untouched_until_its_first_statement) {
    const auto on = open();
    EXPECT_FALSE(on->is_untouched());
    on->begin();
    EXPECT_TRUE(on->is_untouched());
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    const auto level = [&] { return on->execute("SHOW transaction_isolation").rows[0].text(0); };
    EXPECT_EQ(level(), "read committed");
    EXPECT_FALSE(on->is_untouched());
    on->commit();
    on->begin();
    on->commit();
    EXPECT_EQ(on->state(), connection_state::idle);
    on->begin();
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
    // The same where the first statement fails, and by a script.
    on->begin();
    EXPECT_THROW(on->execute("SELECT 1/0"), error);
    EXPECT_EQ(on->state(), connection_state::failed);
    on->rollback();
    on->begin();
    EXPECT_EQ(on->execute_script("SELECT 1; SELECT 2").rows.at(0).integer(0), 2);
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    EXPECT_EQ(level(), "read committed");
    on->rollback();
    // A script is taken apart as a whole before any of it is run.
    on->begin();
    EXPECT_THROW(on->execute_script("SELEC 1"), error);
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    on->execute("CREATE TEMPORARY TABLE gone (id int)");
    on->rollback();
    EXPECT_THROW(on->execute("SELECT id FROM gone"), error);
    on->execute("SET default_transaction_isolation = 'serializable'");
    on->begin();
    EXPECT_EQ(level(), "read committed");
    on->rollback();
    on->execute("SET default_transaction_read_only = on");
    on->begin();
    EXPECT_FALSE(on->is_untouched()) << "it may not write";
}

TEST_F(postgres_test, doubles_are_exact) {
    const auto on = open();
    for (const double each :
         {0.1, -1.0 / 3, 1e308, 5e-324, std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(on->execute("SELECT $1", {each}).rows[0].at(0).real(), each);
    }
    EXPECT_TRUE(std::isnan(on->execute("SELECT $1", {std::nan("")}).rows[0].at(0).real()));
}

TEST_F(postgres_test, columns_are_decoded_by_their_type) {
    const auto on = open();
    const row got = on->execute(
                          "SELECT 1::int2, -2::int4, 3::int8, 4::oid, true, false, 1.5::float4, "
                          "12.30::numeric, 'x'::varchar, '\\x00ff'::bytea, NULL, '2026-11-21'::date"
    )
                        .rows.at(0);
    const std::vector<value> expected{
        1, -2, 3, 4, 1, 0, 1.5, "12.30", "x", blob{std::string{"\0\xff", 2}}, {}, "2026-11-21"};
    EXPECT_EQ(got.columns, expected);
}

TEST_F(postgres_test, both_forms_of_bytea_output_are_read) {
    const auto on = open();
    on->execute("SET bytea_output = 'escape'");
    const blob sent{std::string{"a\0\\'\xff", 5}};
    EXPECT_EQ(on->execute("SELECT $1", {sent}).rows[0].at(0), value{sent});
}

TEST_F(postgres_test, a_null_and_a_number_may_take_turns_in_one_statement) {
    const auto on = open();
    on->execute("CREATE TEMP TABLE note (n int)");
    for (const value& each : {value{1}, value{}, value{2}}) {
        EXPECT_EQ(on->execute("INSERT INTO note VALUES ($1)", {each}).affected_rows, 1);
    }
    EXPECT_EQ(on->execute("SELECT count(n) FROM note").rows[0].integer(0), 2);
}

TEST_F(postgres_test, text_compares_with_columns_that_are_not_text) {
    const auto on = open();
    on->execute_script(
        "CREATE TYPE pg_temp.mood AS ENUM ('sad', 'glad');"
        "CREATE TEMP TABLE person (id uuid, feels pg_temp.mood, name varchar(9))"
    );
    const char* id = "00000000-0000-0000-0000-000000000007";
    on->execute("INSERT INTO person VALUES ($1, $2, $3)", {id, "glad", "Ann"});
    EXPECT_EQ(
        on->execute(
              "SELECT 1 FROM person WHERE id = $1 AND feels = $2 AND name = $3", {id, "glad", "Ann"}
        )
            .rows.size(),
        1U
    );
}

TEST_F(postgres_test, text_with_a_zero_byte_is_refused_and_not_cut_off) {
    const auto on = open();
    const std::string text{"a\0b", 3};
    EXPECT_EQ(
        failure_of([&] { on->execute("SELECT $1::text", {text}); }).code(), errc::invalid_argument
    );
    EXPECT_EQ(failure_of([&] { on->execute(text); }).code(), errc::invalid_argument);
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(postgres_test, only_changes_count_as_affected_rows) {
    const auto on = open();
    EXPECT_EQ(on->execute("CREATE TEMP TABLE seat (id int)").affected_rows, 0);
    EXPECT_EQ(on->execute("INSERT INTO seat VALUES (1), (2), (3)").affected_rows, 3);
    EXPECT_EQ(on->execute("UPDATE seat SET id = id WHERE id > $1", {1}).affected_rows, 2);
    EXPECT_EQ(on->execute("SELECT * FROM seat").affected_rows, 0);
    const result returned = on->execute("DELETE FROM seat WHERE id = 2 RETURNING id");
    EXPECT_EQ(returned.affected_rows, 1);
    EXPECT_EQ(returned.rows.at(0).integer(0), 2);
    EXPECT_EQ(on->execute("").rows.size(), 0U);
}

TEST_F(postgres_test, a_script_answers_with_the_last_rows_and_stops_at_a_failure) {
    const auto on = open();
    const result got = on->execute_script(
        "CREATE TEMP TABLE step (n int); SELECT 1; INSERT INTO step VALUES (1) RETURNING n + 1;"
        "UPDATE step SET n = 5; -- and a comment at the end"
    );
    EXPECT_EQ(got.rows.at(0).integer(0), 2);
    EXPECT_EQ(
        failure_of([&] { on->execute_script("INSERT INTO step VALUES (2); SELECT 1/0; SELECT 3"); }
        ).sqlstate(),
        "22012"
    );
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(on->execute("SELECT count(*) FROM step").rows[0].integer(0), 1);
    EXPECT_EQ(
        failure_of([&] { on->execute_script("SELECT $1; SELECT 2", {1}); }).code(),
        errc::unsupported
    );
}

TEST_F(postgres_test, each_state_answers_as_the_contract_says) {
    const auto on = open();
    const auto refused = [&](const std::function<void()>& action) {
        EXPECT_EQ(failure_of(action).code(), errc::wrong_transaction);
    };
    // idle
    EXPECT_EQ(on->state(), connection_state::idle);
    on->execute("CREATE TEMP TABLE mark (n int UNIQUE)");
    EXPECT_EQ(on->state(), connection_state::idle);
    refused([&] { on->commit(); });
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
    // in a transaction
    on->begin();
    EXPECT_EQ(on->state(), connection_state::in_transaction);
    refused([&] { on->begin(); });
    on->execute("INSERT INTO mark VALUES (1)");
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
    on->begin();
    on->execute("INSERT INTO mark VALUES (2)");
    on->commit();
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(on->execute("SELECT sum(n)::int FROM mark").rows[0].integer(0), 2);
    // failed
    on->begin();
    EXPECT_EQ(
        failure_of([&] { on->execute("INSERT INTO mark VALUES (2)"); }).code(), errc::constraint
    );
    EXPECT_EQ(on->state(), connection_state::failed);
    refused([&] { on->execute("SELECT 1"); });
    refused([&] { on->execute_script("SELECT 1"); });
    refused([&] { on->begin(); });
    refused([&] { on->commit(); });
    EXPECT_EQ(on->state(), connection_state::failed);
    on->rollback();
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(postgres_test, a_commit_that_fails_is_an_error_and_leaves_the_connection_idle) {
    const auto on = open();
    on->execute("CREATE TEMP TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    on->execute("INSERT INTO late VALUES (1)");
    on->begin();
    on->execute("INSERT INTO late VALUES (1)");
    const error failure = failure_of([&] { on->commit(); });
    EXPECT_EQ(failure.code(), errc::constraint);
    EXPECT_FALSE(failure.outcome_is_unknown());
    EXPECT_EQ(on->state(), connection_state::idle);
    // Outside a transaction the commit comes behind the statement's own answer.
    for (int use = 0; use < 2; ++use) {
        EXPECT_EQ(
            failure_of([&] { on->execute("INSERT INTO late VALUES ($1)", {1}); }).sqlstate(),
            "23505"
        );
    }
    EXPECT_EQ(on->execute("SELECT count(*) FROM late").rows[0].integer(0), 1);
}

TEST_F(postgres_test, transactions_and_statements_are_read_committed_whatever_the_default) {
    const address server{url_};
    const std::string options = "?options=-c%20default_transaction_isolation%3Dserializable";
    const auto on = postgres::connect(server.url() + options, 10s, {10s});
    const char* ask = "SELECT current_setting('transaction_isolation')";
    EXPECT_EQ(on->execute(ask).rows[0].text(0), "read committed");
    on->begin();
    EXPECT_EQ(on->execute(ask).rows[0].text(0), "read committed");
    on->rollback();
}

TEST_F(postgres_test, who_may_not_write_is_told_which_setting_it_is) {
    const auto on = open();
    on->execute("SET default_transaction_read_only = on");
    const error failure = failure_of([&] { on->execute("CREATE TABLE never_there (id int)"); });
    EXPECT_EQ(failure.code(), errc::read_only);
    const std::string words = failure.what();
    EXPECT_NE(words.find("set default_transaction_read_only = off"), std::string::npos) << words;
}

TEST_F(postgres_test, errors_say_what_a_caller_can_act_on) {
    const auto on = open();
    on->execute("CREATE TEMP TABLE seat (id int CONSTRAINT seat_pkey PRIMARY KEY, at text)");
    on->execute("INSERT INTO seat VALUES (1, 'x')");
    const auto expect = [&](const char* sql, errc code, const char* sqlstate) {
        const error failure = failure_of([&] { on->execute(sql); });
        EXPECT_STREQ(name_of(failure.code()), name_of(code)) << failure.what();
        EXPECT_EQ(failure.sqlstate(), sqlstate);
        EXPECT_FALSE(failure.outcome_is_unknown());
        EXPECT_FALSE(failure.server_message().empty());
        EXPECT_EQ(std::string{failure.what()}.find("secret"), std::string::npos);
    };
    expect("INSERT INTO seat VALUES (1, 'secret')", errc::constraint, "23505");
    expect("INSERT INTO seat VALUES (NULL, 'secret')", errc::constraint, "23502");
    expect("SELECT 'secret' FROM no_such_table", errc::schema_missing, "42P01");
    expect("SELECT secret FROM seat", errc::schema_mismatch, "42703");
    expect("SELECT * FROM pg_authid", errc::permission_denied, "42501");
    const error denied = failure_of([&] { on->execute("SELECT * FROM pg_authid"); });
    EXPECT_NE(std::string{denied.what()}.find("pg_authid"), std::string::npos) << denied.what();
    expect("SELECT 'secret'::int", errc::database_error, "22P02");
    expect("SELEKT", errc::database_error, "42601");
    on->begin();
    on->execute("SET TRANSACTION READ ONLY");
    expect("CREATE TABLE secret (id int)", errc::read_only, "25006");
    on->rollback();
    // The error is of class 08, yet the connection is as good as before.
    EXPECT_EQ(
        failure_of([&] { on->execute("SELECT $1::int, $2::int", {1}); }).code(),
        errc::database_error
    );
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(postgres_test, conflicts_between_transactions_are_transient) {
    const auto first = open();
    const auto second = open();
    const std::string table = "conflict_" + std::to_string(backend_of(*first));
    first->execute("CREATE TABLE " + table + " AS SELECT generate_series(1, 2) AS id, 0 AS n");
    const auto update = [&](connection& on, int id) {
        on.execute("UPDATE " + table + " SET n = n + 1 WHERE id = $1", {id});
    };
    // a lock that is not to be had
    first->begin();
    update(*first, 1);
    second->begin();
    second->execute("SET LOCAL lock_timeout = 50");
    EXPECT_EQ(failure_of([&] { update(*second, 1); }).code(), errc::transient);
    second->rollback();
    // a deadlock: one of the two is the victim
    second->begin();
    update(*second, 2);
    auto waiting = std::async(std::launch::async, [&]() -> std::string {
        try {
            update(*first, 2);
        } catch (const error& failure) {
            return failure.is_transient() ? failure.sqlstate() : "not transient";
        }
        return "";
    });
    std::string victim;
    try {
        update(*second, 1);
    } catch (const error& failure) {
        victim = failure.is_transient() ? failure.sqlstate() : "not transient";
    }
    second->rollback();
    EXPECT_EQ(victim + waiting.get(), "40P01");
    first->rollback();
    // a snapshot that is too old
    second->begin();
    second->execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    second->execute("SELECT n FROM " + table);
    update(*first, 1);
    const error failure = failure_of([&] { update(*second, 1); });
    EXPECT_EQ(failure.sqlstate(), "40001");
    EXPECT_TRUE(failure.is_transient());
    second->rollback();
    first->execute("DROP TABLE " + table);
}

TEST_F(postgres_test, the_server_gives_up_first_and_leaves_no_doubt) {
    auto on = open(2s);
    const auto give_up = [&] { return failure_of([&] { on->execute("SELECT pg_sleep(30)"); }); };
    error failure = give_up();
    // A machine that stands still for the 200 ms between both limits can let the client be first.
    for (int more = 4; more > 0 && failure.outcome_is_unknown(); --more) {
        on = open(2s);
        failure = give_up();
    }
    EXPECT_EQ(failure.code(), errc::timed_out);
    EXPECT_EQ(failure.sqlstate(), "57014");
    EXPECT_FALSE(failure.outcome_is_unknown());
    EXPECT_EQ(on->state(), connection_state::idle);
    // A longer limit reaches the server as well.
    on->set_statement_timeout(20s);
    EXPECT_EQ(on->execute("SELECT pg_sleep(2.5)").rows.size(), 1U);
}

TEST_F(postgres_test, prepared_statements_are_reused_bounded_and_survive_changed_tables) {
    const auto on = open();
    const auto count = [&] {
        return on->execute("SELECT count(*) FROM pg_prepared_statements").rows[0].integer(0);
    };
    on->execute("SELECT $1", {1});
    const auto before = count();
    on->execute("SELECT $1", {2});
    EXPECT_EQ(count(), before);
    for (int number = 0; number < 600; ++number) {
        const std::string text = std::to_string(number);
        EXPECT_EQ(on->execute("SELECT " + text).rows.at(0).integer(0), number);
    }
    EXPECT_LE(count(), 256);
    on->execute("CREATE TEMP TABLE grows AS SELECT 1 AS a");
    EXPECT_EQ(on->execute("SELECT * FROM grows").rows.at(0).columns.size(), 1U);
    on->execute("ALTER TABLE grows ADD b int");
    EXPECT_EQ(on->execute("SELECT * FROM grows").rows.at(0).columns.size(), 2U);
    // Within a transaction this fails and aborts it: the caller has to run it again.
    on->execute("ALTER TABLE grows ADD c int");
    on->begin();
    try {
        on->execute("SELECT * FROM grows");
        ADD_FAILURE() << "the plan of another table was executed";
    } catch (const error& failure) {
        EXPECT_TRUE(failure.is_transient()) << failure.what();
    }
    on->rollback();
    on->begin();
    EXPECT_EQ(on->execute("SELECT * FROM grows").rows.at(0).columns.size(), 3U);
    on->commit();
}

TEST_F(postgres_test, a_statement_is_one_round_trip_the_first_time_and_later) {
    proxy between{address{url_}};
    const auto on = postgres::connect(between.in_front_of(address{url_}).url(), 10s, {10s});
    for (int use = 0; use < 3; ++use) {
        const auto before = between.round_trips();
        on->execute("SELECT $1::int8 + 1", {use});
        EXPECT_EQ(between.round_trips(), before + 1);
    }
    const auto before = between.round_trips();
    on->begin();
    on->execute_script("SELECT 1; SELECT 2");
    on->commit();
    EXPECT_EQ(between.round_trips(), before + 2) << "BEGIN travels with the first";
}

TEST_F(postgres_test, large_values_travel_both_ways) {
    const auto on = open();
    const blob large{std::string(20'000'000, '\x7f')};
    EXPECT_EQ(on->execute("SELECT $1", {large}).rows.at(0).at(0), value{large});
}

TEST_F(postgres_test, a_copy_is_refused_and_does_not_hang) {
    const auto on = open();
    EXPECT_EQ(
        failure_of([&] { on->execute_script("COPY (SELECT 1) TO STDOUT"); }).code(),
        errc::unsupported
    );
    EXPECT_EQ(on->state(), connection_state::lost);
}

TEST_F(postgres_test, notifications_arrive_also_while_statements_run) {
    const auto hearing = open();
    const auto notifying = open();
    ASSERT_TRUE(hearing->can_notify());
    const std::string channel = "Channel \"of\" " + std::to_string(backend_of(*hearing));
    hearing->listen(channel);
    EXPECT_FALSE(hearing->wait_for_notification(0ms).has_value());
    const auto notify = [&](const char* payload) {
        notifying->execute("SELECT pg_notify($1, $2)", {channel, payload});
    };
    auto later = std::async(std::launch::async, [&] { notify("one"); });
    const auto heard = hearing->wait_for_notification(10s);
    later.get();
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->channel, channel);
    EXPECT_EQ(heard->payload, "one");
    notify("two");
    hearing->execute("SELECT 1");
    const auto kept = hearing->wait_for_notification(10s);
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->payload, "two");
    EXPECT_EQ(
        failure_of([&] { hearing->listen(std::string(64, 'x')); }).code(), errc::invalid_argument
    );
}

TEST(postgres_text_test, what_may_commit_is_recognised) {
    for (const char* each :
         {"COMMIT",
          "commit;",
          "  end",
          "SELECT 1; COMMIT",
          "SELECT 1 AS a$$; COMMIT; SELECT 2 AS b$$",
          "-- done\nCommit",
          "/* x */ COMMIT",
          "PREPARE TRANSACTION 'x'"}) {
        EXPECT_TRUE(postgres::may_commit(each)) << each;
    }
    for (const char* each :
         {"",
          "SELECT 1",
          "UPDATE commit SET x = 1",
          "committed",
          "endless",
          "SELECT 1 -- ; x",
          "/* COMMIT"}) {
        EXPECT_FALSE(postgres::may_commit(each)) << each;
    }
}

TEST_F(postgres_test, parameters_are_numbered_as_on_every_engine) {
    testing::expect_numbered_parameters(*open());
}

TEST_F(postgres_test, a_statement_outside_of_transactions_may_be_one_that_none_takes) {
    const database db = postgres::open(url_);
    const std::string table = "note_" + identity::random().text();
    db.execute("CREATE TABLE " + table + " (n int)");
    EXPECT_EQ(db.execute("INSERT INTO " + table + " VALUES ($1)", {7U}).affected_rows, 1);
    EXPECT_EQ(open()->execute("SELECT n FROM " + table).rows.at(0).integer(0), 7);
    EXPECT_NO_THROW(db.execute("CREATE INDEX CONCURRENTLY ON " + table + " (n)"));
    EXPECT_NO_THROW(db.execute("VACUUM " + table));
    db.execute("DROP TABLE " + table);
}

}  // namespace
}  // namespace leasehold::testing_postgres
