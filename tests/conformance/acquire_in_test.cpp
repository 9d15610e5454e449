// mutex.try_acquire_in(tx); tests/claim/acquire_in_test.cpp tests it with each client library.
#include "conformance/suite.hpp"
#include "leasehold/reaper.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class acquire_in_suite : public suite {
protected:
    // On an engine with one writer at a time all others wait until the open transaction ends.
    static bool has_one_writer() { return !current().has_concurrent_writers; }

    bool is_held(const key& name) {
        const auto found = describe(second_, name);
        return found && found->is_held;
    }
    std::int64_t next_token(session& of, const key& name) {
        auto got = mutex{of, name}.acquire_for(20s);
        return token_of(got);
    }
};

TEST_F(acquire_in_suite, a_commit_and_its_confirmation_make_a_lease) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    const std::int64_t before = next_token(two, name);
    const auto counted = current().read_counter();
    transaction tx = first_.begin();
    mutex closing{one, name};
    auto pending = closing.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    EXPECT_EQ(pending->key(), name);
    EXPECT_GT(pending->token().number, before);
    current().increment_counter(transaction_ref{tx}.inside());
    tx.commit();
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_EQ(current().read_counter(), counted + 1);
    EXPECT_EQ(held->token(), pending->token());
    EXPECT_EQ(held->owner(), pending->owner());
    EXPECT_EQ(describe(second_, name)->owner, held->owner());
    EXPECT_TRUE(held->held_locally());
    EXPECT_TRUE(held->verify());
    EXPECT_FALSE(is_granted(mutex(two, name).try_acquire()));
    transaction later = first_.begin();
    EXPECT_NO_THROW(held->verify_in(later));
    later.commit();
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_GT(next_token(two, name), pending->token().number);
}

TEST_F(acquire_in_suite, a_settled_one_confirms_nothing_more) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_FALSE(is_granted(pending->confirm()));
    drop(pending);
    EXPECT_TRUE(held->verify());
}

TEST_F(acquire_in_suite, a_rollback_leaves_nothing_and_confirms_nothing) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    for (const bool was_there_before : {true, false}) {
        const key name = fresh("k");
        if (was_there_before) next_token(two, name);
        const auto counted = current().read_counter();
        transaction tx = first_.begin();
        auto pending = mutex{one, name}.try_acquire_in(tx);
        ASSERT_TRUE(pending);
        current().increment_counter(transaction_ref{tx}.inside());
        tx.rollback();
        EXPECT_FALSE(is_granted(pending->confirm()));
        EXPECT_FALSE(is_held(name));
        EXPECT_EQ(current().read_counter(), counted);
        const std::int64_t next = next_token(two, name);
        EXPECT_GT(next, 0);
        if (!has_one_writer()) {
            EXPECT_GT(next, pending->token().number);
        }
    }
}

TEST_F(acquire_in_suite, contention_is_empty_and_the_transaction_goes_on) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{two, name}.try_acquire();
    ASSERT_TRUE(held);
    const auto counted = current().read_counter();
    transaction tx = first_.begin();
    current().increment_counter(transaction_ref{tx}.inside());
    mutex closing{one, name};
    EXPECT_FALSE(is_granted(closing.try_acquire_in(tx)));
    EXPECT_FALSE(is_granted(closing.try_acquire_in(tx)));
    auto other = mutex{one, fresh("other")}.try_acquire_in(tx);
    EXPECT_TRUE(other);
    tx.commit();
    EXPECT_EQ(current().read_counter(), counted + 1);
    EXPECT_TRUE(held->verify());
    EXPECT_TRUE(other->confirm());
}

TEST_F(acquire_in_suite, a_key_that_is_held_by_the_same_session_is_busy_also_where_it_recurses) {
    session one{first_, calm("one")};
    mutex_settings settings;
    settings.recursive = true;
    mutex again{one, fresh("k"), settings};
    auto held = again.try_acquire();
    ASSERT_TRUE(held);
    transaction tx = first_.begin();
    EXPECT_FALSE(is_granted(again.try_acquire_in(tx)));
    EXPECT_FALSE(is_granted(mutex(one, again.key()).try_acquire_in(tx)));
    tx.commit();
    held->release();
    transaction next = first_.begin();
    auto pending = again.try_acquire_in(next);
    ASSERT_TRUE(pending);
    EXPECT_FALSE(is_granted(again.try_acquire_in(next))) << "once per transaction";
    next.commit();
}

TEST_F(acquire_in_suite, a_confirmed_lease_of_a_recursive_mutex_can_be_entered) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    mutex_settings settings;
    settings.recursive = true;
    mutex again{one, fresh("k"), settings};
    transaction tx = first_.begin();
    auto pending = again.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    auto outer = pending->confirm();
    ASSERT_TRUE(outer);
    auto inner = again.try_acquire();
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->token(), outer->token());
    EXPECT_EQ(outer->release(), release_outcome::still_held);
    EXPECT_FALSE(is_granted(mutex(two, again.key()).try_acquire()));
    EXPECT_EQ(inner->release(), release_outcome::released);
}

TEST_F(acquire_in_suite, one_transaction_can_acquire_several_keys) {
    session one{first_, calm("one")};
    std::vector<pending_lease> pending;
    transaction tx = first_.begin();
    for (int each = 0; each < 5; ++each) {
        auto got = mutex{one, fresh("k")}.try_acquire_in(tx);
        ASSERT_TRUE(got);
        pending.push_back(std::move(*got));
    }
    tx.commit();
    for (auto& each : pending) EXPECT_TRUE(each.confirm());
}

// ------------------------------------------------------------------------ others meanwhile

TEST_F(acquire_in_suite, others_are_told_busy_at_once_while_the_transaction_is_open) {
    if (has_one_writer()) GTEST_SKIP() << "the engine has one writer at a time";
    database_settings impatient;
    impatient.statement_timeout = 5000ms;  // a call that waits fails soon
    database third = current().open(impatient);
    session one{first_, calm("one")}, two{third, calm("two")};
    for (const bool was_there_before : {true, false}) {
        const key name = fresh("k");
        if (was_there_before) next_token(two, name);
        transaction tx = first_.begin();
        auto pending = mutex{one, name}.try_acquire_in(tx);
        ASSERT_TRUE(pending);
        acquisition refused = mutex{two, name}.try_acquire();
        EXPECT_FALSE(refused);
        ASSERT_TRUE(refused.holder());
        EXPECT_EQ(refused.holder()->session, one.id());
        transaction beside = third.begin();
        EXPECT_FALSE(is_granted(mutex(two, name).try_acquire_in(beside)));
        beside.commit();
        tx.commit();
        EXPECT_TRUE(pending->confirm());
    }
}

// A caller that waits for the one writer of an engine is not refused, and loses nothing.
TEST_F(acquire_in_suite, with_one_writer_others_wait_for_it_and_then_say_that_they_did) {
    if (!has_one_writer()) GTEST_SKIP() << "of engines with one writer at a time";
    database_settings impatient;
    impatient.statement_timeout = 1000ms;
    database third = current().open(impatient);
    session one{first_, calm("one")}, two{third, calm("two")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    const auto waited = thrown_by([&] { (void)mutex(two, name).try_acquire(); });
    ASSERT_TRUE(waited);
    EXPECT_TRUE(waited->is_transient());
    EXPECT_FALSE(waited->outcome_is_unknown());
    EXPECT_TRUE(two.is_live());
    tx.commit();
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_FALSE(is_granted(mutex(two, name).try_acquire()));
}

TEST_F(acquire_in_suite, the_reaper_does_not_wait_for_the_transaction) {
    if (has_one_writer()) GTEST_SKIP() << "the engine has one writer at a time";
    database_settings impatient;
    impatient.statement_timeout = 5000ms;  // a call that waits fails soon
    database third = current().open(impatient);
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const key name = fresh("k"), left = fresh("left");
    auto lost = mutex{dead, left}.try_acquire();
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    expire(dead);
    EXPECT_TRUE(eventually([&] { return reap(third).locks_freed > 0 || !is_held(left); }));
    expire(one);
    EXPECT_NO_THROW((void)reap(third)) << "its own row is passed over";
    tx.commit();
}

TEST_F(acquire_in_suite, a_dead_holder_is_taken_over_in_the_transaction) {
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dying, name}.try_acquire();
    ASSERT_TRUE(held);
    expire(dying);
    transaction tx = second_.begin();
    auto pending = mutex{heir, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    EXPECT_GT(pending->token(), held->token());
    tx.commit();
    EXPECT_TRUE(pending->confirm());
    EXPECT_FALSE(held->verify());
}

// The move is a proof: until the transaction ends nobody is granted the key, even when the session
// has expired meanwhile.
TEST_F(acquire_in_suite, a_takeover_waits_for_the_transaction) {
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    std::atomic<bool> has_committed = false;
    std::atomic<bool> was_early = false;
    transaction tx = first_.begin();
    auto pending = mutex{dying, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    if (!has_one_writer()) expire(dying);
    thread taker{[&] {
        auto taken = mutex{heir, name}.acquire_for(20s);
        was_early = !has_committed;
        EXPECT_TRUE(taken);
    }};
    EXPECT_FALSE(eventually([&] { return was_early.load(); }, 200ms));
    has_committed = true;
    tx.commit();
    if (has_one_writer()) expire(dying);
    taker.join();
    EXPECT_FALSE(was_early);
    EXPECT_FALSE(is_granted(pending->confirm())) << "taken over since";
}

// Where the engine must wait to find out, the wait is bounded, and no session is lost.
TEST_F(acquire_in_suite, a_try_that_meets_the_transaction_of_the_dead_is_refused_or_transient) {
    if (has_one_writer()) GTEST_SKIP() << "the engine has one writer at a time";
    database_settings impatient;
    impatient.statement_timeout = 1000ms;
    database third = current().open(impatient);
    session dying{first_, calm("dying")}, heir{third, calm("heir")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{dying, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    expire(dying);
    std::optional<error> waited;
    EXPECT_TRUE(eventually([&] {
        waited = thrown_by([&] { EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire())); });
        // If the machine stood still, and the client gave up before the server did, try again.
        return !waited || !waited->outcome_is_unknown();
    }));
    if (waited) {
        EXPECT_EQ(waited->code(), errc::transient) << waited->what();
    }
    EXPECT_TRUE(heir.is_live());
    EXPECT_TRUE(dying.is_live());
    tx.rollback();
    EXPECT_GT(next_token(heir, name), pending->token().number);
    EXPECT_FALSE(is_granted(pending->confirm()));
}

TEST_F(acquire_in_suite, a_key_freed_by_force_is_not_confirmed) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    ASSERT_TRUE(force_release(second_, name));
    auto taken = mutex{two, name}.try_acquire();
    ASSERT_TRUE(taken);
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_TRUE(taken->verify());
}

// --------------------------------------------------------------------- not confirmed, or early

TEST_F(acquire_in_suite, one_that_is_dropped_is_settled_by_the_session) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    for (const bool commits : {true, false}) {
        for (const bool drops_first : {true, false}) {
            const key name = fresh("k");
            transaction tx = first_.begin();
            auto pending = mutex{one, name}.try_acquire_in(tx);
            ASSERT_TRUE(pending);
            const std::int64_t token = pending->token().number;
            if (drops_first) drop(pending);
            if (commits) {
                tx.commit();
            } else {
                tx.rollback();
            }
            drop(pending);
            EXPECT_TRUE(eventually([&] { return !is_held(name); }, 20s)) << commits << drops_first;
            const std::int64_t next = next_token(two, name);
            EXPECT_GT(next, 0);
            if (commits || !has_one_writer()) {
                EXPECT_GT(next, token);
            }
        }
    }
    EXPECT_TRUE(one.is_live());
}

TEST_F(acquire_in_suite, a_confirmation_that_comes_early_throws_and_can_be_repeated) {
    database_settings impatient;
    impatient.statement_timeout = 1000ms;
    database third = current().open(impatient);
    session one{third, calm("one")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    const auto early = thrown_by([&] { (void)pending->confirm(); });
    ASSERT_TRUE(early);
    EXPECT_TRUE(early->is_transient()) << early->what();
    EXPECT_NE(std::string(early->what()).find("confirm again"), std::string::npos);
    tx.commit();
    EXPECT_TRUE(pending->confirm());
}

// ------------------------------------------------------------------------------- the session

TEST_F(acquire_in_suite, a_session_that_ended_meanwhile_leaves_no_lease_and_no_ghost) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    if (has_one_writer()) {
        tx.commit();
        one.end();
    } else {
        one.end();
        tx.commit();
    }
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_GT(next_token(two, name), pending->token().number);
}

TEST_F(acquire_in_suite, a_lost_session_confirms_nothing_and_takes_no_more) {
    session one{first_, alert("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    expire(one);
    ASSERT_TRUE(eventually([&] { return !one.is_live(); }));
    EXPECT_FALSE(is_granted(pending->confirm()));
    EXPECT_GT(next_token(two, name), pending->token().number);
    transaction late = first_.begin();
    const auto refused = thrown_by([&] { (void)mutex(one, fresh("k")).try_acquire_in(late); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::session_lost);
    current().increment_counter(transaction_ref{late}.inside());
    late.commit();
}

TEST_F(acquire_in_suite, a_session_the_database_calls_dead_takes_nothing) {
    session one{first_, calm("one")};
    expire(one);
    const key name = fresh("k");
    transaction tx = first_.begin();
    const auto refused = thrown_by([&] { (void)mutex(one, name).try_acquire_in(tx); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::session_lost);
    current().increment_counter(transaction_ref{tx}.inside());
    tx.commit();
    EXPECT_FALSE(is_held(name));
}

TEST_F(acquire_in_suite, a_fixed_term_is_confirmed_also_after_its_session_was_lost) {
    session one{first_, alert("one")}, two{second_, calm("two")};
    mutex_settings settings;
    settings.fixed_term = 1h;
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{one, name, settings}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.commit();
    expire(one);
    ASSERT_TRUE(eventually([&] { return !one.is_live(); }));
    auto held = pending->confirm();
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->held_locally());
    EXPECT_GT(held->deadline(), local_clock::now() + 30min);
    EXPECT_FALSE(is_granted(mutex(two, name).try_acquire()));
    EXPECT_EQ(held->release(), release_outcome::released);
}

// ----------------------------------------------------------------------------- what is refused

TEST_F(acquire_in_suite, outside_a_transaction_nothing_is_acquired) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    lent_connection idle{first_.inner()->connections()};
    const auto failure = thrown_by([&] { (void)mutex(one, name).try_acquire_in(*idle); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_FALSE(is_held(name));
}

// Promise 13 of the README, with more callers than connections.
TEST_F(acquire_in_suite, callers_that_hold_every_connection_do_not_wait_for_each_other) {
    if (has_one_writer()) GTEST_SKIP() << "the engine has one writer at a time";
    database_settings narrow;
    narrow.max_connections = 2;
    database both = current().open(narrow);
    session one{both, calm("one")};
    transaction first = both.begin(), second = both.begin();
    auto a = mutex{one, fresh("a")}.try_acquire_in(first);
    auto b = mutex{one, fresh("b")}.try_acquire_in(second);
    ASSERT_TRUE(a);
    ASSERT_TRUE(b);
    first.commit();
    EXPECT_TRUE(a->confirm());
    second.commit();
    EXPECT_TRUE(b->confirm());
}

// ------------------------------------------------------------------------------------- racing

// Several threads count in the user's row, each in the transaction in which it has got the key; one
// in three rolls back. Without the key, increments are lost: read and write are two statements.
TEST_F(acquire_in_suite, racing_transactions_count_without_a_loss) {
    constexpr int threads = 4;
    constexpr int each_counts = 15;
    const key name = fresh("k");
    const auto before = current().read_counter();
    std::atomic<int> committed = 0;
    std::atomic<std::int64_t> last_token = 0;
    std::atomic<int> backwards = 0;
    {
        std::vector<thread> all;
        for (int thread = 0; thread < threads; ++thread) {
            all.emplace_back([&] {
                database own = current().open({});
                session mine{own, calm("racer")};
                mutex counting{mine, name};
                for (int done = 0; done < each_counts;) {
                    transaction tx = own.begin();
                    auto pending = counting.try_acquire_in(tx);
                    if (!pending) continue;
                    current().increment_counter(transaction_ref{tx}.inside());
                    const bool commits = ++done % 3 != 0;
                    if (commits) {
                        tx.commit();
                    } else {
                        tx.rollback();
                    }
                    auto held = pending->confirm();
                    EXPECT_EQ(held.has_value(), commits);
                    if (!held) continue;
                    ++committed;
                    const auto mine_now = held->token().number;
                    if (last_token.exchange(mine_now) >= mine_now) ++backwards;
                }
            });
        }
    }
    EXPECT_EQ(committed, threads * each_counts * 2 / 3);
    EXPECT_EQ(backwards, 0);
    EXPECT_EQ(current().read_counter(), before + committed);
}

}  // namespace
}  // namespace leasehold::testing
