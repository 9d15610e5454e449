// The server ends the library's connections, between its statements and in the middle of them:
// each operation is then done, not done, or unknown, and says which; the session lives on.
#include "fault/suite.hpp"

namespace leasehold::testing {
namespace {

class connection_loss : public server_suite {
protected:
    connection_loss() {
        database_settings settings;
        settings.observer = log_;
        database_ = watched_by(traffic_, settings);
    }
    static session_settings lively(const char* name) {
        auto settings = calm(name);
        settings.ttl = 20s;
        settings.heartbeat_every = 300ms;
        return settings;
    }

    static session_settings late(session_settings settings) {
        settings.begins_with_grant = true;
        return settings;
    }
    // Makes the row of the key.
    void have_row_of(const key& name) {
        session before{first_, calm("before")};
        ASSERT_TRUE(mutex(before, name).try_acquire());
    }
    bool has_live_row(const session& of) {
        const auto all = list_sessions(first_);
        return std::any_of(all.begin(), all.end(), [&](const session_info& each) {
            return each.id == of.id() && each.is_live;
        });
    }

    // All of the library's connections, those of the heartbeat too.
    void cut() { kill_all(*traffic_); }

    void write_under(lease& held, transaction& tx) {
        current().increment_counter(transaction_ref{tx}.inside());
        held.verify_in(tx);
    }

    // Ends the one connection that waits behind `holder`.
    void cut_who_waits_behind(transaction& holder) {
        const auto id = id_of(holder);
        ASSERT_TRUE(eventually([&] { return is_waiting_behind(id); }));
        for (const auto each : waiting_behind(id)) kill(each);
    }

    const std::shared_ptr<traffic> traffic_ = std::make_shared<traffic>();
    const std::shared_ptr<event_log> log_ = std::make_shared<event_log>();
    database database_ = first_;
};

TEST_F(connection_loss, before_an_acquire_it_is_made_again) {
    session one{database_, calm("one")};
    const key name = fresh("k");
    cut();
    auto got = mutex{one, name}.try_acquire();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->verify());
    EXPECT_EQ(describe(first_, name)->token, got->token());
}

TEST_F(connection_loss, before_a_release_the_key_is_free_all_the_same) {
    session one{database_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto got = mutex{one, name}.try_acquire();
    cut();
    EXPECT_EQ(got->release(), release_outcome::released);
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

TEST_F(connection_loss, in_the_middle_of_a_release_the_key_is_free_all_the_same) {
    session one{database_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto got = mutex{one, name}.try_acquire();
    transaction reader = first_.begin();
    server_->lock_key_row(transaction_ref{reader}.inside(), name);
    auto released = std::async(std::launch::async, [&] { return got->release(); });
    cut_who_waits_behind(reader);
    reader.rollback();
    EXPECT_EQ(released.get(), release_outcome::released);
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

TEST_F(connection_loss, before_a_first_grant_it_is_made_again) {
    const key name = fresh("k");
    have_row_of(name);
    session one{database_, late(lively("one"))};
    cut();
    auto got = mutex{one, name}.try_acquire();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->verify());
    EXPECT_TRUE(has_live_row(one));
    EXPECT_EQ(one.end_with(std::move(*got)), release_outcome::released);
    EXPECT_FALSE(has_live_row(one));
}

TEST_F(connection_loss, in_the_middle_of_a_first_grant_there_is_a_session_all_the_same) {
    const key name = fresh("k");
    have_row_of(name);
    session one{database_, late(lively("one"))}, two{second_, calm("two")};
    transaction other = first_.begin();
    server_->lock_key_row(transaction_ref{other}.inside(), name);
    auto got = std::async(std::launch::async, [&] { return mutex{one, name}.acquire_for(60s); });
    cut_who_waits_behind(other);
    other.rollback();
    acquisition held = got.get();
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->verify());
    EXPECT_TRUE(has_live_row(one));
    const auto deadline = one.deadline();
    EXPECT_TRUE(eventually([&] { return one.deadline() > deadline; })) << "it has a heartbeat";
    EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
    EXPECT_FALSE(has_live_row(one));
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

TEST_F(connection_loss, in_the_middle_of_an_end_with_a_release_both_are_done_all_the_same) {
    const key name = fresh("k");
    session one{database_, calm("one")}, two{second_, calm("two")};
    auto got = mutex{one, name}.try_acquire();
    ASSERT_TRUE(got);
    transaction other = first_.begin();
    server_->lock_key_row(transaction_ref{other}.inside(), name);
    auto ended = std::async(std::launch::async, [&] { return one.end_with(std::move(*got)); });
    cut_who_waits_behind(other);
    other.rollback();
    EXPECT_EQ(ended.get(), release_outcome::released);
    EXPECT_FALSE(has_live_row(one));
    EXPECT_TRUE(mutex(two, name).try_acquire());
}

TEST_F(connection_loss, before_a_verify_it_is_an_error_and_not_a_verdict) {
    session one{database_, calm("one")};
    auto got = mutex{one, fresh("k")}.try_acquire();
    cut();
    const auto failure = thrown_by([&] { EXPECT_TRUE(got->verify()); });
    EXPECT_TRUE(!failure || failure->is_transient()) << failure->what();
    EXPECT_EQ(got->why_lost(), loss_reason::none);
    EXPECT_TRUE(got->verify());
}

TEST_F(connection_loss, in_a_transaction_nothing_of_it_is_written) {
    session one{database_, calm("one")};
    auto got = mutex{one, fresh("k")}.try_acquire();
    const auto before = current().read_counter();
    {
        transaction tx = database_.begin();
        write_under(*got, tx);
        cut();
        const auto failure = thrown_by([&] { tx.commit(); });
        ASSERT_TRUE(failure);
        EXPECT_TRUE(failure->connection_is_lost()) << failure->what();
    }
    EXPECT_EQ(current().read_counter(), before);
    EXPECT_EQ(got->why_lost(), loss_reason::none);
    transaction again = database_.begin();
    write_under(*got, again);
    again.commit();
    EXPECT_EQ(current().read_counter(), before + 1);
}

TEST_F(connection_loss, before_a_proof_it_is_not_taken_for_a_lost_lease) {
    session one{database_, calm("one")};
    auto got = mutex{one, fresh("k")}.try_acquire();
    transaction tx = database_.begin();
    cut();
    const auto failure = thrown_by([&] { got->verify_in(tx); });
    ASSERT_TRUE(failure);
    EXPECT_NE(failure->code(), errc::lease_lost);
    EXPECT_TRUE(failure->connection_is_lost()) << failure->what();
    EXPECT_FALSE(failure->outcome_is_unknown()) << "nothing of a transaction can be done yet";
    tx.rollback();
    EXPECT_EQ(got->why_lost(), loss_reason::none);
    EXPECT_TRUE(got->verify());
}

TEST_F(connection_loss, in_the_middle_of_a_proof_nothing_is_written) {
    session one{database_, calm("one")};
    const key name = fresh("k");
    auto got = mutex{one, name}.try_acquire();
    const auto before = current().read_counter();
    transaction other = first_.begin();
    server_->lock_key_row(transaction_ref{other}.inside(), name);
    auto proved = std::async(std::launch::async, [&] {
        return thrown_by([&] {
            transaction tx = database_.begin();
            write_under(*got, tx);
            tx.commit();
        });
    });
    cut_who_waits_behind(other);
    const auto failure = proved.get();
    other.rollback();
    ASSERT_TRUE(failure);
    EXPECT_NE(failure->code(), errc::lease_lost);
    EXPECT_FALSE(failure->outcome_is_unknown());
    EXPECT_EQ(current().read_counter(), before);
    EXPECT_TRUE(got->verify());
}

TEST_F(connection_loss, in_the_middle_of_a_heartbeat_the_session_lives_on) {
    session one{database_, lively("one")};
    auto got = mutex{one, fresh("k")}.try_acquire();
    transaction other = first_.begin();
    server_->lock_session_row(transaction_ref{other}.inside(), one.id());
    cut_who_waits_behind(other);
    other.rollback();
    const auto deadline = one.deadline();
    EXPECT_TRUE(eventually([&] { return one.deadline() > deadline; }));
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(got->verify());
    EXPECT_GE(log_->count(event_kind::late_heartbeat), 1);
}

// Twenty times all at once, in less time than the TTL allows in all.
TEST_F(connection_loss, again_and_again_the_session_lives_on_and_says_that_it_came_back) {
    session one{database_, lively("one")};
    auto got = mutex{one, fresh("k")}.try_acquire();
    for (int round = 0; round < 20; ++round) {
        const auto deadline = one.deadline();
        cut();
        ASSERT_TRUE(eventually([&] { return one.deadline() > deadline; })) << "round " << round;
    }
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(got->lost().stop_requested());
    EXPECT_TRUE(eventually([&] {
        bool is_held = false;
        const auto failure = thrown_by([&] { is_held = got->verify(); });
        return !failure && is_held;
    }));
    EXPECT_EQ(log_->count(event_kind::lost), 0);
    EXPECT_GE(log_->count(event_kind::late_heartbeat), 1);
    EXPECT_GE(log_->count(event_kind::reconnected), 1) << "it says that of no lost connection";
}

}  // namespace
}  // namespace leasehold::testing
