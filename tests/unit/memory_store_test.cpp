// The model's own promises that no other engine's suite asks for: its clock, and its waits.
#include "support/memory_store.hpp"

#include <atomic>

#include "core/model_engine.hpp"
#include "locks/hold_store.hpp"
#include "session/session_store.hpp"
#include "support/clean_up.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class memory_store_test : public model_test {
protected:
    memory_store_test() {
        on_->set_statement_timeout(30ms);
        stores_->get<session_store>().start(*on_, {mine_, "me@here:1", 10min});
        stores_->get<session_store>().start(*on_, {other_, "other@here:2", 10min});
        held_ = take(mine_);
    }
    hold take(const session_id& within) {
        const acquire_request wanted{name_, owner_id::random(), within, "me@here:1", std::nullopt};
        const auto got = stores_->get<hold_store>().try_acquire(*on_, wanted);
        EXPECT_EQ(got.status, acquire_status::granted);
        return {name_, wanted.owner, got.token};
    }
    acquire_result try_as_other() {
        return stores_->get<hold_store>().try_acquire(
            *on_, {name_, owner_id::random(), other_, "other@here:2", std::nullopt}
        );
    }

    const std::unique_ptr<store_set> stores_ = model_.stores();
    std::unique_ptr<connection> on_ = model_.connect();
    const session_id mine_ = session_id::random();
    const session_id other_ = session_id::random();
    hold held_{name_, {}, {}};
};

TEST_F(memory_store_test, its_clock_goes_on_for_all_or_for_one_row) {
    model_.advance(9min);
    EXPECT_TRUE(model_.is_held(name_));
    model_.age_session(other_, 2min);
    EXPECT_TRUE(model_.is_held(name_));
    model_.advance(1min);
    EXPECT_FALSE(model_.is_held(name_));
}

// Promise 3, at the store: each way to take a proved hold away waits, and gives up in time.
TEST_F(memory_store_test, a_proof_keeps_the_row_from_everybody_until_its_transaction_ends) {
    const auto proving = model_.connect();
    const std::function<void()> changes[] = {
        [&] { stores_->get<hold_store>().release(*on_, held_); },
        [&] { stores_->get<hold_store>().release_owner(*on_, name_, held_.owner); },
        [&] { stores_->get<hold_store>().reenter(*on_, held_); },
        [&] { stores_->get<hold_store>().force_release(*on_, name_, std::nullopt); },
    };
    proving->begin();
    ASSERT_TRUE(stores_->get<hold_store>().prove(*proving, held_));
    for (const auto& change : changes) {
        const auto failure = thrown_by(change);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::transient);
        EXPECT_FALSE(failure->outcome_is_unknown());
    }
    model_.age_session(mine_, 1h);  // dead, and still nobody takes over
    EXPECT_TRUE(thrown_by([&] { try_as_other(); }));
    EXPECT_EQ(clean_up(*on_, *stores_, upkeep_task::dead_locks), 0) << "stepped around";
    proving->commit();
    const auto taken = try_as_other();
    EXPECT_EQ(taken.status, acquire_status::granted);
    EXPECT_GT(taken.token, held_.token);
}

TEST_F(memory_store_test, a_taker_that_waits_goes_on_when_the_proof_ends) {
    auto proving = model_.connect();
    proving->begin();
    ASSERT_TRUE(stores_->get<hold_store>().prove(*proving, held_));
    model_.age_session(mine_, 1h);
    on_->set_statement_timeout(20s);
    std::atomic<bool> done = false;
    thread taker{[&] {
        EXPECT_EQ(try_as_other().status, acquire_status::granted);
        done = true;
    }};
    EXPECT_FALSE(done);
    proving.reset();  // its client died: rolled back
    EXPECT_TRUE(eventually([&] { return done.load(); }));
}

TEST_F(memory_store_test, a_proof_stops_neither_heartbeats_nor_readers_nor_refusals_nor_proofs) {
    const auto proving = model_.connect();
    const auto another = model_.connect();
    proving->begin();
    another->begin();
    ASSERT_TRUE(stores_->get<hold_store>().prove(*proving, held_));
    EXPECT_TRUE(stores_->get<hold_store>().prove(*another, held_));
    const auto beat = stores_->get<session_store>().heartbeat(*on_, mine_, 10min, {0});
    EXPECT_EQ(beat.status, heartbeat_status::renewed);
    EXPECT_TRUE(stores_->get<hold_store>().describe(*on_, name_, true)->info.is_held);
    EXPECT_EQ(try_as_other().status, acquire_status::busy);
    EXPECT_EQ(stores_->get<hold_store>().standings(*on_, {held_}), std::vector{standing::held});
}

TEST_F(memory_store_test, a_proof_of_what_is_not_held_locks_nothing) {
    const auto proving = model_.connect();
    proving->begin();
    EXPECT_FALSE(
        stores_->get<hold_store>().prove(*proving, {name_, owner_id::random(), held_.token})
    );
    EXPECT_FALSE(
        stores_->get<hold_store>().prove(*proving, {name_, held_.owner, {held_.token.number + 1}})
    );
    EXPECT_FALSE(
        stores_->get<hold_store>().prove(*proving, {key{"other"}, held_.owner, held_.token})
    );
    EXPECT_EQ(stores_->get<hold_store>().release(*on_, held_), release_outcome::released);
    EXPECT_FALSE(stores_->get<hold_store>().prove(*proving, held_));
}

TEST_F(memory_store_test, a_refused_try_writes_nothing) {
    const auto writes = [&] {
        return model_.server().with_tables([](memory_tables& tables) { return tables.writes; });
    };
    const auto before = writes();
    EXPECT_EQ(try_as_other().status, acquire_status::busy);
    EXPECT_EQ(writes(), before);
}

// A row that is missing is no proof of death for a taker; for the reaper it is.
TEST_F(memory_store_test, a_missing_session_counts_as_alive_until_the_reaper_comes) {
    model_.remove_session_row(mine_);
    model_.advance(5min);
    EXPECT_EQ(try_as_other().status, acquire_status::busy);
    EXPECT_EQ(clean_up(*on_, *stores_, upkeep_task::dead_locks), 1);
    EXPECT_EQ(try_as_other().status, acquire_status::granted);
}

TEST_F(memory_store_test, a_heartbeat_tells_renewed_from_noticed_from_ended) {
    auto& sessions = stores_->get<session_store>();
    EXPECT_EQ(sessions.heartbeat(*on_, mine_, 10min, {0}).status, heartbeat_status::renewed);
    ASSERT_TRUE(stores_->get<hold_store>().force_release(*on_, name_, std::nullopt));
    const auto noticed = sessions.heartbeat(*on_, mine_, 10min, {0});
    EXPECT_EQ(noticed.status, heartbeat_status::noticed);
    EXPECT_EQ(noticed.news.notices, 1);
    EXPECT_EQ(sessions.heartbeat(*on_, mine_, 10min, {1}).status, heartbeat_status::renewed);
    model_.age_session(mine_, 11min);
    EXPECT_EQ(sessions.heartbeat(*on_, mine_, 10min, {1}).status, heartbeat_status::ended);
    model_.remove_session_row(mine_);
    EXPECT_EQ(sessions.heartbeat(*on_, mine_, 10min, {1}).status, heartbeat_status::ended);
}

TEST_F(memory_store_test, starting_again_under_the_same_id_leaves_one_live_row) {
    model_.age_session(mine_, 5min);
    stores_->get<session_store>().start(*on_, {mine_, "me@here:1", 10min});
    const auto listed = stores_->get<session_store>().list(*on_);
    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[0].id, mine_) << "oldest first";
    EXPECT_GT(listed[0].remaining, 9min);
}

TEST_F(memory_store_test, a_rolled_back_write_was_never_there_and_a_second_writer_waits) {
    const auto one = model_.connect();
    const auto two = model_.connect();
    two->set_statement_timeout(30ms);
    auto& server = model_.server();
    one->begin();
    server.write_counter(*one, 7);
    EXPECT_EQ(server.read_counter(*one), 7);
    EXPECT_EQ(server.read_counter(*two), 0);
    two->begin();
    EXPECT_TRUE(thrown_by([&] { server.write_counter(*two, 8); }));
    one->rollback();
    server.write_counter(*two, 8);
    two->commit();
    EXPECT_EQ(server.read_counter(*one), 8);
}

TEST_F(memory_store_test, its_connections_keep_the_rules_of_transactions) {
    const auto code_of = [](const std::function<void()>& run) {
        const auto failure = thrown_by(run);
        return failure ? failure->code() : errc{};
    };
    EXPECT_EQ(code_of([&] { on_->commit(); }), errc::wrong_transaction);
    on_->rollback();
    on_->begin();
    EXPECT_EQ(on_->state(), connection_state::in_transaction);
    EXPECT_EQ(code_of([&] { on_->begin(); }), errc::wrong_transaction);
    on_->commit();
    EXPECT_EQ(on_->state(), connection_state::idle);
    EXPECT_TRUE(on_->answers());
    EXPECT_EQ(code_of([&] { on_->execute("DELETE FROM lock"); }), errc::unsupported);
    EXPECT_EQ(on_->server().engine, model_engine);
}

}  // namespace
}  // namespace leasehold::testing
