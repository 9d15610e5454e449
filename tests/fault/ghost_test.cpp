// Ghost grants: an acquire whose client is gone, or believes so, while it waits at the server.
//
// In each case nobody holds the key twice, the tokens keep their order, the key is free again for
// others within seconds, and the session lives on.
#include "fault/relay.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

class ghost : public server_suite {
protected:
    static session_settings lively(const char* name) {
        auto settings = calm(name);
        settings.ttl = 20s;
        settings.heartbeat_every = 500ms;
        return settings;
    }

    // The result of an acquire that met trouble; only these are allowed.
    struct outcome {
        std::optional<acquisition> answer;  // a lease, or busy
        std::optional<error> failure;
    };
    static outcome try_it(session& within, const key& name) {
        outcome found;
        found.failure = thrown_by([&] { found.answer = mutex{within, name}.try_acquire(); });
        return found;
    }

    database open_through(const relay& between, database_settings settings) {
        settings.names = first_.settings().names;
        return open_at(with_port(url_, between.port()), settings);
    }

    void lock_row(transaction& tx, const key& name) {
        server_->lock_key_row(transaction_ref{tx}.inside(), name);
    }

    const std::string url_ = program_url_of(current().name, first_);

    // The key can be had by others soon, and stays theirs while `troubled` settles what it must.
    // Answers with the token of the next grant.
    std::int64_t settled(
        outcome& result, session& troubled, const key& name, std::int64_t token_before
    ) {
        if (result.answer && *result.answer) {
            EXPECT_TRUE((*result.answer)->verify());
            EXPECT_GT((*result.answer)->token().number, token_before);
            token_before = (*result.answer)->token().number;
            EXPECT_EQ((*result.answer)->release(), release_outcome::released);
        }
        session heir{second_, calm("heir")};
        auto got = mutex{heir, name}.acquire_for(10s);
        EXPECT_TRUE(got) << "the key was not free again within seconds";
        if (!got) return 0;
        EXPECT_GT(got->token().number, token_before);
        for (int beats = 0; beats < 3; ++beats) {
            const auto deadline = troubled.deadline();
            EXPECT_TRUE(eventually([&] { return troubled.deadline() > deadline; }));
        }
        EXPECT_TRUE(got->verify()) << "settling took the key from its next holder";
        EXPECT_TRUE(troubled.is_live());
        auto other = mutex{troubled, fresh("other")}.try_acquire();
        EXPECT_TRUE(other && other->verify());
        return got->token().number;
    }
};

// The client is cut off; the server does not know, and grants. Nobody has that lease.
TEST_F(ghost, a_grant_to_a_client_that_was_cut_off_is_given_back) {
    const auto k = known("cut");
    relay between{host_of(url_), port_of(url_)};
    const auto log = std::make_shared<event_log>();
    database_settings settings;
    settings.observer = log;
    database remote = open_through(between, settings);
    session troubled{remote, lively("troubled")};
    transaction holder = first_.begin();
    lock_row(holder, k.name);
    const auto id = id_of(holder);
    auto call = std::async(std::launch::async, [&] { return try_it(troubled, k.name); });
    ASSERT_TRUE(eventually([&] { return is_waiting_behind(id); }));
    const auto stranded = waiting_behind(id);
    between.strand();
    ASSERT_EQ(stranded.size(), 1U);
    // It does not take the outcome for known: it says so, or asks for it, and waits there as well.
    EXPECT_TRUE(eventually([&] {
        return log->count(event_kind::outcome_unknown) > 0 || waiting_behind(id).size() > 1;
    }));
    holder.rollback();
    auto result = call.get();
    // The first of the two grants was the ghost's; if the library found it, it is the only one.
    const bool is_adopted =
        result.answer && *result.answer && (*result.answer)->token().number == k.token + 1;
    const auto token = settled(result, troubled, k.name, k.token);
    EXPECT_GE(token, k.token + 2) << "there was no ghost";
    EXPECT_TRUE(is_adopted || log->count(event_kind::outcome_unknown) > 0);
}

// The same, and the server is told as well: it ends the connection in the middle of the wait.
TEST_F(ghost, an_acquire_whose_connection_is_killed_is_asked_for_and_tried_again) {
    const auto k = known("killed");
    const auto by = std::make_shared<traffic>();
    session troubled{watched_by(by), lively("troubled")};
    transaction holder = first_.begin();
    lock_row(holder, k.name);
    const auto id = id_of(holder);
    auto call = std::async(std::launch::async, [&] { return try_it(troubled, k.name); });
    ASSERT_TRUE(eventually([&] { return is_waiting_behind(id); }));
    for (const auto each : waiting_behind(id)) kill(each);
    EXPECT_TRUE(eventually([&] { return is_waiting_behind(id) || is_ready(call); }));
    holder.rollback();
    auto result = call.get();
    EXPECT_FALSE(result.failure) << result.failure->what();
    EXPECT_TRUE(result.answer && *result.answer);
    settled(result, troubled, k.name, k.token);
}

// The wait is longer than the time the call has.
TEST_F(ghost, an_acquire_that_timed_out_at_the_row_leaves_nothing_behind) {
    const auto k = known("slow");
    database_settings impatient;
    impatient.statement_timeout = 1000ms;
    session troubled{current().open(impatient), lively("troubled")};
    transaction holder = first_.begin();
    lock_row(holder, k.name);
    const auto sent = local_clock::now();
    auto result = try_it(troubled, k.name);
    EXPECT_LT(local_clock::now() - sent, 10s);
    ASSERT_TRUE(result.failure) << "it answered although the row was locked";
    EXPECT_TRUE(result.failure->is_transient()) << result.failure->what();
    holder.rollback();
    settled(result, troubled, k.name, k.token);
}

// Settling an unknown outcome must not cost the session its life, as one statement that waits for
// the row with the whole time-out would: it is longer than the life. Six seconds, because a machine
// may stand still for two, and because MySQL waits for a row for one at least.
TEST_F(ghost, settling_does_not_stop_the_heartbeat_of_a_session_with_a_short_ttl) {
    const auto k = known("brief");
    relay between{host_of(url_), port_of(url_)};
    const auto log = std::make_shared<event_log>();
    database_settings impatient;
    impatient.statement_timeout = 6000ms;
    impatient.observer = log;
    database remote = open_through(between, impatient);
    auto settings = calm("brief");
    settings.ttl = 6000ms;
    session troubled{remote, settings};
    auto kept = mutex{troubled, fresh("kept")}.try_acquire();
    transaction holder = first_.begin();
    lock_row(holder, k.name);
    const auto id = id_of(holder);
    auto call = std::async(std::launch::async, [&] { return try_it(troubled, k.name); });
    ASSERT_TRUE(eventually([&] { return is_waiting_behind(id); }));
    between.strand();
    // From then on the session settles it, and the row stays locked for longer than it would live.
    EXPECT_TRUE(eventually([&] { return log->count(event_kind::outcome_unknown) > 0; }));
    const auto start = local_clock::now();
    EXPECT_FALSE(stopped(troubled.lost(), 9s))
        << "lost after "
        << std::chrono::duration_cast<std::chrono::milliseconds>(local_clock::now() - start).count()
        << " ms of settling";
    holder.rollback();
    auto result = call.get();
    EXPECT_TRUE(troubled.is_live());
    EXPECT_TRUE(kept->verify());
}

}  // namespace
}  // namespace leasehold::testing
