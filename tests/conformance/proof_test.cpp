// lease.verify_in(tx): writes under a lease, in the transaction that proves it.

#include <memory>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

using proof_suite = suite;

TEST_F(proof_suite, a_write_under_a_held_lease_commits) {
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    const auto before = current().read_counter();
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    held->verify_in(tx);
    tx.commit();
    EXPECT_EQ(current().read_counter(), before + 1);
}

// research: "the stale-write anomaly": a plain read says "held", the key is taken, the write
// commits. Here the paused holder is refused, and its write is gone.
TEST_F(proof_suite, regression_stale_write_anomaly) {
    session paused{first_, calm("paused")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{paused, name}.try_acquire();
    const auto before = current().read_counter();
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    tx.rollback();
    expire(paused);
    auto taken = mutex{heir, name}.try_acquire();
    ASSERT_TRUE(taken);
    {
        transaction late = first_.begin();
        current().increment_counter(transaction_ref{late}.inside());
        const auto failure = thrown_by([&] { held->verify_in(late); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::lease_lost);
    }
    EXPECT_EQ(current().read_counter(), before);
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(taken->verify());
}

TEST_F(proof_suite, an_expired_lease_nobody_took_still_proves) {
    // Proof is about who was granted last, not about clocks: nobody else held the key in between.
    session slow{first_, calm("slow")};
    auto held = mutex{slow, fresh("k")}.try_acquire();
    expire(slow);
    transaction tx = first_.begin();
    EXPECT_NO_THROW(held->verify_in(tx));
    tx.commit();
}

// The other half of promise 3: between the proof and the commit nobody is granted the key, even
// when the lease has run out meanwhile.
TEST_F(proof_suite, a_takeover_waits_for_the_transaction_that_proved) {
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dying, name}.try_acquire();
    expire(dying);  // the lease has run out, and nobody has taken it yet
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    held->verify_in(tx);
    std::atomic<bool> has_committed = false;
    std::atomic<bool> was_granted_before_commit = false;
    thread taker{[&] {
        auto taken = mutex{heir, name}.acquire_for(20s);
        was_granted_before_commit = taken && !has_committed;
        EXPECT_TRUE(taken);
    }};
    // Long enough for a taker that does not wait to be caught; a correct one is never hurt by it.
    EXPECT_FALSE(eventually([&] { return was_granted_before_commit.load(); }, 200ms));
    has_committed = true;
    tx.commit();
}

TEST_F(proof_suite, the_proof_does_not_block_the_holders_own_heartbeat) {
    session one{first_, alert("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    if (!current().has_concurrent_writers) {
        GTEST_SKIP() << "one writer: the heartbeat waits for any commit";
    }
    transaction tx = first_.begin();
    held->verify_in(tx);
    const auto deadline = one.deadline();
    EXPECT_TRUE(eventually([&] { return one.deadline() > deadline + 1s; }));
    EXPECT_TRUE(one.is_live());
    held->verify_in(tx);
    tx.commit();
}

TEST_F(proof_suite, a_refused_try_does_not_wait_for_a_proof) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    database_settings impatient;
    impatient.statement_timeout = 5000ms;  // one that waits soon fails
    database third = current().open(impatient);
    session three{third, calm("three")};
    transaction tx = first_.begin();
    held->verify_in(tx);
    EXPECT_FALSE(is_granted(mutex(three, name).try_acquire()));
    tx.commit();
}

TEST_F(proof_suite, force_waits_for_the_proof_and_then_refuses_the_next) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    transaction tx = first_.begin();
    held->verify_in(tx);
    std::atomic<bool> was_forced = false;
    thread operator_thread{[&] {
        EXPECT_TRUE(force_release(second_, name));
        was_forced = true;
    }};
    EXPECT_FALSE(eventually([&] { return was_forced.load(); }, 100ms));
    tx.commit();
    operator_thread.join();
    transaction next = first_.begin();
    const auto failure = thrown_by([&] { held->verify_in(next); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
}

TEST_F(proof_suite, outside_a_transaction_there_is_no_proof) {
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    lent_connection idle{first_.inner()->connections()};
    const auto failure = thrown_by([&] { held->verify_in(*idle); });
    ASSERT_TRUE(failure);
    transaction tx = first_.begin();
    held->verify_in(tx);
    tx.commit();
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    const auto ended = thrown_by([&] { held->verify_in(tx); });
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code(), errc::wrong_transaction);
}

TEST_F(proof_suite, a_released_lease_proves_nothing) {
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    held->release();
    transaction tx = first_.begin();
    const auto failure = thrown_by([&] { held->verify_in(tx); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
}

TEST_F(proof_suite, one_transaction_can_prove_several_leases_again_and_again) {
    session one{first_, calm("one")};
    auto a = mutex{one, fresh("a")}.try_acquire();
    auto b = mutex{one, fresh("b")}.try_acquire();
    transaction tx = first_.begin();
    for (int each = 0; each < 3; ++each) {
        a->verify_in(tx);
        b->verify_in(tx);
    }
    tx.commit();
}

// Promise 13: everything with a single pooled connection, and none held while waiting.
TEST_F(proof_suite, no_operation_needs_a_second_connection) {
    database_settings single;
    single.max_connections = 1;
    database narrow = current().open(single);
    session one{narrow, calm("one")}, two{narrow, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    thread waiter{[&] {
        auto got = mutex{two, name}.acquire_for(20s);
        EXPECT_TRUE(got);
    }};
    for (int each = 0; each < 20; ++each) {
        transaction tx = narrow.begin();
        held->verify_in(tx);
        tx.commit();
        EXPECT_TRUE(held->verify());
    }
    EXPECT_TRUE(describe(narrow, name)->is_held);
    EXPECT_EQ(held->release(), release_outcome::released);
}

// A scope that ends before the caller commits: no thread waits for itself.
TEST_F(proof_suite, a_lease_that_goes_before_its_transaction_waits_for_nobody) {
    session one{first_, alert("one")}, two{second_, calm("two")};
    const std::string name = fresh("k");
    for (const bool is_committed : {true, false}) {
        auto held = std::make_unique<lease>(*mutex{one, name}.acquire());
        auto shared = std::make_unique<lease>(*shared_mutex{one, name + "s"}.acquire());
        auto both =
            std::make_unique<multi_lease>(*multi_lock{one, {name + "a", name + "b"}}.acquire());
        transaction tx = first_.begin();
        held->verify_in(tx);
        shared->verify_in(tx);
        both->verify_in(tx);
        const auto began = local_clock::now();
        held.reset();
        shared.reset();
        both.reset();
        EXPECT_LT(local_clock::now() - began, 3s) << "each waits for as long as a statement may";
        EXPECT_NO_THROW(tx.execute("SELECT 1")) << "and the transaction goes on";
        is_committed ? tx.commit() : tx.rollback();
        EXPECT_TRUE((mutex{two, name}.acquire_for(20s)));
        EXPECT_TRUE((shared_mutex{two, name + "s"}.acquire_for(20s)));
        EXPECT_TRUE((multi_lock{two, {name + "a", name + "b"}}.acquire_for(20s)));
    }
}

TEST_F(proof_suite, a_release_before_the_commit_says_whose_transaction_is_in_its_way) {
    auto told = std::make_shared<told_events>();
    database_settings settings;
    settings.statement_timeout = 10s;
    settings.observer = told;
    database third = current().open(settings);
    session one{third, alert("one")}, two{second_, calm("two")};
    const std::string name = fresh("k");
    auto held = mutex{one, name}.acquire();
    transaction tx = third.begin();
    held->verify_in(tx);
    const auto began = local_clock::now();
    EXPECT_EQ(held->release(), release_outcome::unknown);
    EXPECT_LT(local_clock::now() - began, 3s);
    const auto failed = told->only(event_kind::release_failed, name);
    ASSERT_TRUE(failed);
    EXPECT_NE(failed->detail.find("this process itself"), std::string::npos) << failed->detail;
    EXPECT_FALSE(held->held_locally());
    tx.commit();
    EXPECT_TRUE((mutex{two, name}.acquire_for(20s)));
}

TEST_F(proof_suite, a_session_that_ends_before_the_transaction_waits_for_nobody) {
    auto one = std::make_unique<session>(first_, alert("one"));
    session two{second_, calm("two")};
    const std::string name = fresh("k");
    auto held = mutex{*one, name}.acquire();
    transaction tx = first_.begin();
    held->verify_in(tx);
    // With one writer a session's own row waits for the transaction as well.
    if (!current().has_concurrent_writers) GTEST_SKIP() << "its own row is locked, too";
    const auto began = local_clock::now();
    one.reset();
    EXPECT_LT(local_clock::now() - began, 3s);
    tx.commit();
    EXPECT_TRUE((mutex{two, name}.acquire_for(20s)));
}

// With one writer every release waits for a transaction that has begun, proof or not.
TEST_F(proof_suite, a_lease_that_goes_inside_a_transaction_that_proved_nothing_waits_for_nobody) {
    session one{first_, alert("one")}, two{second_, calm("two")};
    const std::string name = fresh("k");
    auto held = std::make_unique<lease>(*mutex{one, name}.acquire());
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    const auto began = local_clock::now();
    held.reset();
    EXPECT_LT(local_clock::now() - began, 3s);
    tx.commit();
    EXPECT_TRUE((mutex{two, name}.acquire_for(20s)));
}

// The pool has one connection, so that the next transaction gets that of the one before.
TEST_F(proof_suite, a_reference_to_a_transaction_that_has_ended_joins_no_other_one) {
    database_settings single;
    single.max_connections = 1;
    const database narrow = current().open(single);
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    std::vector<transaction_ref> ended;
    transaction committed = narrow.begin();
    ended.emplace_back(committed);
    committed.commit();
    transaction rolled_back = narrow.begin();
    ended.emplace_back(rolled_back);
    rolled_back.rollback();
    {
        transaction destroyed = narrow.begin();
        ended.emplace_back(destroyed);
    }
    transaction first = narrow.begin();
    transaction next = std::move(first);
    const transaction_ref open{next};
    for (const transaction_ref& each : ended) {
        EXPECT_EQ(
            thrown_by([&] { held->verify_in(each); }).value().code(), errc::wrong_transaction
        );
    }
    EXPECT_NO_THROW(held->verify_in(open));
    next.commit();
}

}  // namespace
}  // namespace leasehold::testing
