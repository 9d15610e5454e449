// The function by which triggers and other languages enqueue on PostgreSQL does what the library
// does, as a user who has the rights of a program and no more.
#include "conformance/job_suite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::testing {
namespace {

class job_function_suite : public job_suite {
protected:
    std::string function() const { return first_.settings().names.prefix + "enqueue"; }
    std::string table() const { return first_.settings().names.prefix + "job"; }

    // SELECT …enqueue(of the queue of this test, arguments): the id.
    job_id call_in(transaction& tx, const std::string& arguments = "") const {
        const std::string call = function() + "(queue => $1" + arguments + ")";
        return tx.execute("SELECT " + call, {queue_}).rows.at(0).integer(0);
    }
    job_id call(const std::string& arguments = "") const {
        transaction tx = first_.begin();
        const job_id id = call_in(tx, arguments);
        tx.commit();
        return id;
    }
    std::string refusal_of(const std::string& call) const {
        transaction tx = first_.begin();
        const auto thrown = thrown_by([&] { tx.execute("SELECT " + call); });
        if (!thrown) return "not refused";
        EXPECT_EQ(thrown->sqlstate(), "22023") << thrown->what();
        const std::string said = thrown->server_message();
        return said.substr(0, said.find('\n'));
    }
};

TEST_F(job_function_suite, what_is_left_out_is_as_usual) {
    const job_id plain = enqueue(), called = call();
    const job_info one = info(plain), other = info(called);
    EXPECT_EQ(other.queue, queue_);
    EXPECT_EQ(other.state, one.state);
    EXPECT_EQ(other.kind + other.payload + other.unique_key + other.ordering_key, "");
    EXPECT_EQ(other.priority, one.priority);
    EXPECT_EQ(other.max_attempts, one.max_attempts);
    EXPECT_LT(other.enqueued_ago, 1min);
    const auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), (std::vector{plain, called}));
    EXPECT_EQ(got[1].retry.delay, got[0].retry.delay);
    EXPECT_EQ(got[1].retry.max_delay, got[0].retry.max_delay);
    EXPECT_EQ(got[1].attempt_timeout, got[0].attempt_timeout);
}

TEST_F(job_function_suite, what_is_given_is_described) {
    const job_id id = call(
        ", kind => 'kind', payload => 'payload', unique_key => 'unique', priority => -32768,"
        " ordering_key => 'ordering', attempts_max => 10000"
    );
    const job_info seen = info(id);
    EXPECT_EQ(seen.kind, "kind");
    EXPECT_EQ(seen.payload, "payload");
    EXPECT_EQ(seen.unique_key, "unique");
    EXPECT_EQ(seen.ordering_key, "ordering");
    EXPECT_EQ(seen.priority, -32'768);
    EXPECT_EQ(seen.max_attempts, 10'000);
    EXPECT_EQ(seen.state, job_state::available);
    EXPECT_EQ(state(call(", priority => NULL, unique_key => '', run_at => NULL")), seen.state);
}

TEST_F(job_function_suite, three_plain_arguments_are_queue_kind_and_payload) {
    transaction tx = first_.begin();
    const std::string call = function() + "($1, 'confirm', '{\"purchase\":42}')";
    const job_id id = tx.execute("SELECT " + call, {queue_}).rows.at(0).integer(0);
    tx.commit();
    EXPECT_EQ(info(id).kind, "confirm");
    EXPECT_EQ(info(id).payload, "{\"purchase\":42}");
}

TEST_F(job_function_suite, what_is_not_due_yet_is_scheduled) {
    const job_id later = call(", run_at => now() + interval '1 hour'");
    const job_id past = call(", run_at => now() - interval '1 hour'");
    const job_id oldest = call(", run_at => 'epoch'");
    EXPECT_EQ(state(later), job_state::scheduled);
    EXPECT_GT(info(later).due_in, 59min);
    EXPECT_LE(info(later).due_in, 1h);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{past, oldest}));
    make_due(later);
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{later});
}

TEST_F(job_function_suite, who_has_others_of_his_ordering_key_before_him_is_blocked) {
    set_limits({.max_running_per_key = 2});
    const std::string keyed_so = ", ordering_key => 'o'";
    const job_id early = call(keyed_so + ", run_at => now() + interval '1 hour'");
    const job_id first = call(keyed_so), second = call(keyed_so), third = call(keyed_so);
    EXPECT_EQ(state(early), job_state::scheduled);
    EXPECT_EQ(state(first), job_state::available);
    EXPECT_EQ(state(second), job_state::available);
    EXPECT_EQ(state(third), job_state::blocked);
    EXPECT_EQ(state(call(", ordering_key => 'other'")), job_state::available);
    EXPECT_EQ(one_.claim(10).size(), 3U);
}

TEST_F(job_function_suite, of_one_unique_key_the_first_is_kept) {
    const job_id first = call(", unique_key => 'u'");
    EXPECT_EQ(call(", unique_key => 'u', payload => 'other'"), first);
    EXPECT_EQ(info(first).payload, "");
    EXPECT_EQ(try_enqueue(unique("u")).id, first);
    const claimed_job got = one_.claim_one();
    EXPECT_EQ(call(", unique_key => 'u'"), first) << "it runs";
    EXPECT_TRUE(one_.complete(got));
    EXPECT_NE(call(", unique_key => 'u'"), first);
}

TEST_F(job_function_suite, the_job_is_there_with_the_transaction_or_not_at_all) {
    transaction tx = first_.begin();
    const job_id id = call_in(tx, ", unique_key => 'u'");
    EXPECT_FALSE(find(id));
    EXPECT_TRUE(two_.claim(10).empty());
    tx.rollback();
    EXPECT_FALSE(find(id));
    EXPECT_NE(call(", unique_key => 'u'"), id);
}

TEST_F(job_function_suite, a_commit_that_enqueues_is_durable_whatever_its_session_says) {
    transaction tx = first_.begin();
    const auto durability = [&] {
        return tx.execute("SELECT current_setting('synchronous_commit')").rows.at(0).text(0);
    };
    tx.execute("SET LOCAL synchronous_commit = off");
    call_in(tx);
    EXPECT_EQ(durability(), "on");
    tx.execute("SET LOCAL synchronous_commit = remote_apply");
    call_in(tx);
    EXPECT_EQ(durability(), "remote_apply");
}

// A snapshot that is older than the other job cannot answer with its id.
TEST_F(job_function_suite, in_an_old_snapshot_a_taken_key_is_a_serialization_failure) {
    for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        SCOPED_TRACE(level);
        const std::string key = ", unique_key => '" + fresh("u") + "'";
        transaction tx = first_.begin();
        tx.execute(std::string{"SET TRANSACTION ISOLATION LEVEL "} + level);
        const job_id own = call_in(tx, ", ordering_key => 'o'");
        const job_id other = [&] {
            transaction beside = second_.begin();
            const job_id id = call_in(beside, key);
            beside.commit();
            return id;
        }();
        const auto thrown = thrown_by([&] { call_in(tx, key); });
        ASSERT_TRUE(thrown);
        EXPECT_EQ(thrown->sqlstate(), "40001") << thrown->what();
        EXPECT_TRUE(thrown_by([&] { call_in(tx); })) << "its transaction is aborted";
        tx.rollback();
        EXPECT_FALSE(find(own));
        EXPECT_EQ(call(key), other);
    }
}

// A call waits for another one that inserts the same key: then there is one job, whoever made it.
TEST_F(job_function_suite, two_at_once_of_one_unique_key_are_one) {
    for (const bool commits : {true, false}) {
        const std::string key = ", unique_key => '" + fresh("u") + "'";
        transaction tx = first_.begin();
        const job_id first = call_in(tx, key);
        std::atomic<job_id> second = 0;
        thread beside{[&] {
            transaction other = second_.begin();
            second = call_in(other, key);
            other.commit();
        }};
        commits ? tx.commit() : tx.rollback();
        beside.join();
        EXPECT_EQ(second == first, commits);
        EXPECT_TRUE(find(second));
    }
}

TEST_F(job_function_suite, what_the_library_refuses_is_refused_in_its_words) {
    const std::string longest(255, 'x'), longer = longest + "x";
    const auto words_of = [&](const std::string& queue, const new_job& what) {
        const auto thrown = thrown_by([&] { job_queue{first_, queue}.enqueue(what); });
        return thrown ? std::string{thrown->what()} : "nothing";
    };
    const auto expect_alike = [&](const std::string& arguments, const new_job& what) {
        EXPECT_EQ(refusal_of(function() + "('q'" + arguments + ")"), words_of("q", what));
    };
    for (const std::string& name : {std::string{}, longer}) {
        EXPECT_EQ(refusal_of(function() + "('" + name + "')"), words_of(name, {}));
    }
    EXPECT_EQ(refusal_of(function() + "(NULL)"), words_of("", {}));
    expect_alike(", kind => '" + longer + "'", {.kind = longer});
    expect_alike(", unique_key => '" + longer + "'", {.unique_key = longer});
    expect_alike(", ordering_key => '" + longer + "'", {.ordering_key = longer});
    expect_alike(", payload => repeat('x', 1048577)", {.payload = std::string(1'048'577, 'x')});
    for (const int number : {-32'769, 32'768}) {
        expect_alike(", priority => " + std::to_string(number), {.priority = number});
    }
    for (const int number : {0, -1, 10'001}) {
        expect_alike(
            ", attempts_max => " + std::to_string(number), {.retry = {.max_attempts = number}}
        );
    }
    const new_job before{.run_at = schedule::instant{} - 1us};
    expect_alike(", run_at => '1969-12-31 23:59:59.999999+00'", before);
    expect_alike(", run_at => '-infinity'", before);
    expect_alike(", run_at => 'infinity'", before);
    expect_alike(", run_at => '3000-01-01 00:00:00+00'", before);
    EXPECT_NE(refusal_of(function() + "('q', payload => NULL)").find("null"), std::string::npos);
    EXPECT_NE(refusal_of(function() + "('q', kind => NULL)").find("null"), std::string::npos);
    EXPECT_EQ(info(call(", kind => '" + longest + "'")).kind, longest);
    EXPECT_EQ(info(call(", payload => repeat('x', 1048576)")).payload.size(), 1'048'576U);
}

// Bytes count, not characters.
TEST_F(job_function_suite, a_name_is_measured_in_bytes) {
    EXPECT_NE(refusal_of(function() + "('q', kind => repeat(U&'\\00e4', 128))"), "not refused");
    EXPECT_EQ(info(call(", kind => repeat(U&'\\00e4', 127)")).kind.size(), 254U);
}

// Tables, functions and operators of its caller's search path are not taken for its own.
TEST_F(job_function_suite, whatever_the_search_path_is_the_job_is_in_the_table) {
    transaction tx = first_.begin();
    const std::string schema = tx.execute("SELECT current_schema()").rows.at(0).text(0);
    for (const std::string& of : {table(), first_.settings().names.prefix + "queue"}) {
        tx.execute("CREATE TEMPORARY TABLE " + of + " (LIKE " + schema + "." + of + ")");
    }
    for (const char* path : {"pg_temp, public", "pg_catalog", "''"}) {
        tx.execute(std::string{"SET LOCAL search_path = "} + path);
        const std::string call = schema + "." + function() + "($1, ordering_key => 'o')";
        tx.execute("SELECT " + call, {queue_});
    }
    const auto count_in = [&](const std::string& where) {
        return tx
            .execute(
                "SELECT count(*) FROM " + where + "." + table() + " WHERE queue = $1", {queue_}
            )
            .rows.at(0)
            .integer(0);
    };
    EXPECT_EQ(count_in(schema), 3);
    EXPECT_EQ(count_in("pg_temp"), 0);
}

// The caller's rights are what it does its work with.
TEST_F(job_function_suite, who_may_not_insert_may_not_enqueue) {
    const std::string program = [&] {
        transaction tx = first_.begin();
        return tx.execute("SELECT quote_ident(current_user)").rows.at(0).text(0);
    }();
    const auto by_owner = [&](const std::string& statement) {
        transaction tx = current().open_as_owner({}).begin();
        tx.execute(statement);
        tx.commit();
    };
    by_owner("REVOKE INSERT ON " + table() + " FROM " + program);
    const auto thrown = thrown_by([&] { call(); });
    by_owner("GRANT INSERT ON " + table() + " TO " + program);
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code(), errc::permission_denied) << thrown->what();
    EXPECT_TRUE(find(call()));
}

// The schema is of its own, and names are not in lower case.
TEST_F(job_function_suite, it_is_named_as_the_tables_are) {
    const std::string odd = "Odd" + identity::random().text().substr(0, 12);
    database_settings of_schema;
    of_schema.names.schema = odd;
    for (const database& own :
         {current().open_as_owner(of_schema), current().open_with_prefix(odd, nullptr)}) {
        migrate(own);
        const auto [prefix, schema] = own.settings().names;
        const std::string name =
            schema.empty() ? prefix + "enqueue" : '"' + schema + "\"." + prefix + "enqueue";
        transaction tx = own.begin();
        if (!schema.empty()) tx.execute("SET LOCAL search_path = pg_catalog");
        const auto id = [&] {
            const std::string call = name + "('q', unique_key => 'u', ordering_key => 'o')";
            return tx.execute("SELECT " + call).rows.at(0).integer(0);
        };
        EXPECT_EQ(id(), id());
        tx.commit();
        EXPECT_EQ(list_jobs(own, {}).size(), 1U);
        migrate_down(own, 0);
    }
    transaction tx = current().open_as_owner({}).begin();
    tx.execute("DROP SCHEMA \"" + odd + '"');
    tx.commit();
}

}  // namespace
}  // namespace leasehold::testing
