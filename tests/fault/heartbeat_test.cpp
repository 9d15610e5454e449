// Heartbeats that had to wait, on a real server: an expired session never lives again, and nothing
// but a heartbeat's own row can make it wait.
#include "fault/suite.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class heartbeat_fault : public server_suite {
protected:
    // A renewal in a thread of its own; true where it renewed.
    using renewal = std::function<bool(const session_id&)>;

    renewal careless(careless_renewal how) {
        return [this, how](const session_id& id) {
            lent_connection on{second_.inner()->connections()};
            return server_->renew(*on, how, id);
        };
    }
    renewal library() {
        return [this](const session_id& id) {
            const auto status = renew(second_, id);
            EXPECT_NE(status, heartbeat_status::noticed);
            return status == heartbeat_status::renewed;
        };
    }

    bool revives_over_its_own_expiry(const renewal& beat);
    bool revives_behind_a_takeover(const renewal& beat);

    bool has_waited_ = false;
};

// Somebody has the session's row, without changing it, until it has expired.
bool heartbeat_fault::revives_over_its_own_expiry(const renewal& beat) {
    session slow{first_, calm("slow")};
    const auto expiry = leave(slow, 4000ms);
    transaction other = first_.begin();
    server_->lock_session_row(transaction_ref{other}.inside(), slow.id());
    auto answer = std::async(std::launch::async, beat, slow.id());
    const auto id = id_of(other);
    EXPECT_TRUE(eventually([&] { return is_waiting_behind(id); })) << "the renewal did not wait";
    EXPECT_TRUE(passed(expiry));
    other.rollback();
    const bool is_renewed = answer.get();
    EXPECT_EQ(is_live_in_database(slow.id()), is_renewed);
    return is_renewed;
}

TEST_F(heartbeat_fault, one_that_waited_over_its_own_expiry_does_not_revive) {
    EXPECT_TRUE(revives_over_its_own_expiry(careless(careless_renewal::by_the_time_it_came_in)));
    EXPECT_FALSE(revives_over_its_own_expiry(library()));
}

// The takeover has proved the session dead and has not committed yet.
bool heartbeat_fault::revives_behind_a_takeover(const renewal& beat) {
    const key name = known("k").name;
    session robbed{first_, calm("robbed")}, heir{first_, calm("heir")};
    auto lost = mutex{robbed, name}.try_acquire();
    expire(robbed);
    transaction takeover = first_.begin();
    EXPECT_EQ(grant_in(takeover, name, heir).status, acquire_status::granted);
    auto answer = std::async(std::launch::async, beat, robbed.id());
    const auto id = id_of(takeover);
    has_waited_ = false;
    EXPECT_TRUE(eventually([&] {
        has_waited_ = is_waiting_behind(id);
        return has_waited_ || is_ready(answer);
    }));
    takeover.commit();
    const bool is_renewed = answer.get();
    EXPECT_EQ(is_live_in_database(robbed.id()), is_renewed);
    EXPECT_EQ(describe(first_, name)->session, heir.id());
    return is_renewed;
}

TEST_F(heartbeat_fault, one_queued_behind_a_takeover_does_not_revive) {
    EXPECT_TRUE(revives_behind_a_takeover(careless(careless_renewal::without_a_test)));
    EXPECT_TRUE(has_waited_);
    EXPECT_FALSE(revives_behind_a_takeover(library()));
}

// A holder's proof is open and a taker waits behind it, in each way there is; the heartbeat passes.
TEST_F(heartbeat_fault, it_waits_neither_for_the_holders_proof_nor_for_a_waiting_taker) {
    const key name = known("k").name;
    session holder{first_, calm("holder")}, rival{second_, calm("rival")};
    auto held = mutex{holder, name}.try_acquire();
    transaction proof = first_.begin();
    held->verify_in(proof);
    const auto beats_at_once = [&](heartbeat_status expected) {
        const auto sent = local_clock::now();
        EXPECT_EQ(renew(first_, holder.id()), expected);
        EXPECT_LT(local_clock::now() - sent, 5s);
    };
    beats_at_once(heartbeat_status::renewed);
    EXPECT_FALSE(is_granted(mutex(rival, name).try_acquire()));  // refused without waiting
    beats_at_once(heartbeat_status::renewed);

    expire(holder);
    auto taken = std::async(std::launch::async, [&] {
        auto got = mutex{rival, name}.try_acquire();
        return static_cast<bool>(got);
    });
    const auto id = id_of(proof);
    const bool waits = eventually([&] { return is_waiting_behind(id) || is_ready(taken); });
    EXPECT_TRUE(waits);
    beats_at_once(heartbeat_status::ended);
    current().age_session(holder.id(), -2h);  // as if it had never expired
    beats_at_once(heartbeat_status::renewed);
    EXPECT_TRUE(is_ready(taken) || is_waiting_behind(id));
    proof.commit();
    EXPECT_FALSE(taken.get()) << "taken from a session that lives";
    EXPECT_TRUE(held->verify());
}

// The row it removes is another version than the one that it found.
TEST_F(heartbeat_fault, an_end_with_a_release_waits_for_one_and_removes_the_row) {
    session one{second_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(held);
    transaction beat = first_.begin();
    EXPECT_EQ(renew_in(beat, one), heartbeat_status::renewed);
    auto ended = std::async(std::launch::async, [&] { return one.end_with(std::move(*held)); });
    const auto id = id_of(beat);
    EXPECT_TRUE(eventually([&] { return is_waiting_behind(id); }));
    beat.commit();
    EXPECT_EQ(ended.get(), release_outcome::released);
    for (const session_info& each : list_sessions(first_)) EXPECT_NE(each.id, one.id());
}

}  // namespace
}  // namespace leasehold::testing
