// The three thefts of a live lease, each as it really happens: a transaction that is held open, a
// taker that the server says is waiting, a renewal in flight.
//
// Every race is run twice: by a careless statement, which must steal, so that the race is known to
// have taken place; and by the library, which must not. (On SQLite and the model, where there is
// one writer, theft_one_writer_test.cpp runs what is left of them.)
#include "fault/suite.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class theft : public server_suite {
protected:
    // A taker in a thread of its own; true where it got the key.
    using take = std::function<bool(const key&)>;

    take careless(careless_take how) {
        return [this, how](const key& name) {
            lent_connection on{second_.inner()->connections()};
            return server_->take(*on, how, name, rival_.id());
        };
    }
    take library() {
        return [this](const key& name) {
            auto got = mutex{rival_, name}.try_acquire();
            return static_cast<bool>(got);
        };
    }

    // Runs the taker until the server says that it waits for `holder`; or it has answered, which a
    // taker that steps around locked rows may.
    std::future<bool> start(const take& taker, const key& name, transaction& holder) {
        auto answer = std::async(std::launch::async, taker, name);
        const auto id = id_of(holder);
        has_waited_ = false;
        EXPECT_TRUE(eventually([&] {
            has_waited_ = is_waiting_behind(id);
            return has_waited_ || is_ready(answer);
        }));
        return answer;
    }

    // Expects these words of the row when all is over.
    void expect_held_by(const session& whose, const key& name, fencing_token token) {
        const auto seen = describe(first_, name);
        ASSERT_TRUE(seen && seen->is_held);
        EXPECT_EQ(seen->session, whose.id());
        EXPECT_EQ(seen->token, token);
    }

    bool takes_during_a_renewal(const take& taker, bool from_the_dead);
    bool takes_from_a_newcomer(const take& taker);
    bool takes_while_a_renewal_commits(const take& taker);

    session rival_{second_, calm("rival")};
    bool has_waited_ = false;
};

// A grant to `holder` is in flight, so the taker waits for the row. Meanwhile the holder renews,
// and its first expiry, which the taker may have read before it waited, passes.
bool theft::takes_during_a_renewal(const take& taker, bool from_the_dead) {
    const key name = known("a").name;
    session late{first_, calm("late")};
    auto left_behind = mutex{late, name}.try_acquire();
    if (from_the_dead) expire(late);
    if (!from_the_dead) left_behind->release();
    session holder{first_, calm("holder")};
    const auto first_expiry = leave(holder, 4000ms);
    transaction grant = first_.begin();
    const auto granted = grant_in(grant, name, holder);
    EXPECT_EQ(granted.status, acquire_status::granted);
    auto answer = start(taker, name, grant);
    EXPECT_EQ(renew(first_, holder.id()), heartbeat_status::renewed) << "the holder died: too slow";
    EXPECT_TRUE(passed(first_expiry));
    grant.commit();
    const bool is_taken = answer.get();
    if (!is_taken) expect_held_by(holder, name, granted.token);
    return is_taken;
}

TEST_F(theft, theft_a_a_session_that_renewed_during_the_wait_looks_expired) {
    EXPECT_TRUE(takes_during_a_renewal(careless(careless_take::by_old_snapshot), false));
    EXPECT_TRUE(has_waited_);
    EXPECT_FALSE(takes_during_a_renewal(library(), false));
    EXPECT_TRUE(has_waited_) << "the library's statement did not race";
}

// The same while the key changes hands: its old holder is dead, and proved so by somebody else
// whose grant is in flight. The library answers without waiting.
TEST_F(theft, theft_a_a_key_in_the_hands_of_another_taker_looks_abandoned) {
    EXPECT_TRUE(takes_during_a_renewal(careless(careless_take::by_old_snapshot), true));
    EXPECT_TRUE(has_waited_);
    EXPECT_FALSE(takes_during_a_renewal(library(), true));
    EXPECT_FALSE(has_waited_);
}

// The row is locked by somebody who will grant it to a session that does not exist yet when the
// taker comes.
bool theft::takes_from_a_newcomer(const take& taker) {
    const key name = known("b").name;
    transaction grant = first_.begin();
    server_->lock_key_row(transaction_ref{grant}.inside(), name);
    auto answer = start(taker, name, grant);
    EXPECT_TRUE(has_waited_);
    session newcomer{first_, calm("newcomer")};
    const auto granted = grant_in(grant, name, newcomer);
    EXPECT_EQ(granted.status, acquire_status::granted);
    grant.commit();
    const bool is_taken = answer.get();
    if (!is_taken) expect_held_by(newcomer, name, granted.token);
    return is_taken;
}

TEST_F(theft, theft_b_a_session_younger_than_the_takers_snapshot_looks_dead) {
    EXPECT_TRUE(takes_from_a_newcomer(careless(careless_take::by_no_live_session)));
    EXPECT_FALSE(takes_from_a_newcomer(library()));
}

// A heartbeat tested the expiry in time; its commit takes until after it, as on a stalled disk. No
// plain read sees it. The taker must answer while it is still under way, or this never ends.
bool theft::takes_while_a_renewal_commits(const take& taker) {
    const key name = known("c").name;
    session holder{first_, calm("holder")};
    auto held = mutex{holder, name}.try_acquire();
    const auto first_expiry = leave(holder, 4000ms);
    transaction renewal = first_.begin();
    EXPECT_EQ(renew_in(renewal, holder), heartbeat_status::renewed) << "too slow";
    EXPECT_TRUE(passed(first_expiry));
    EXPECT_FALSE(is_live_in_database(holder.id())) << "a plain read sees the renewal";
    const bool is_taken = taker(name);
    renewal.commit();
    EXPECT_TRUE(is_live_in_database(holder.id()));
    if (!is_taken) {
        expect_held_by(holder, name, held->token());
        EXPECT_TRUE(held->verify());
    }
    return is_taken;
}

TEST_F(theft, theft_c_a_renewal_that_commits_after_the_expiry_is_invisible_before) {
    EXPECT_TRUE(takes_while_a_renewal_commits(careless(careless_take::by_plain_read)));
    EXPECT_FALSE(takes_while_a_renewal_commits(library()));
}

// The other direction: a waiter takes the key of a really dead holder as soon as the row is free.
TEST_F(theft, what_is_dead_when_the_row_becomes_free_is_taken) {
    const key name = known("dead").name;
    session dead{first_, calm("dead")};
    auto held = mutex{dead, name}.try_acquire();
    expire(dead);
    transaction proof = first_.begin();
    held->verify_in(proof);
    EXPECT_FALSE(is_granted(mutex{rival_, name}.acquire_for(300ms)))
        << "the dead one may write still";
    auto answer = std::async(std::launch::async, [&] {
        auto got = mutex{rival_, name}.acquire_for(20s);
        return token_of(got);
    });
    proof.commit();
    EXPECT_EQ(answer.get(), held->token().number + 1);
}

}  // namespace
}  // namespace leasehold::testing
