// Features of waiting: a delay after deaths, words of the holder, kinds of keys, circles.
#include <algorithm>
#include <atomic>
#include <latch>

#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/hold_store.hpp"
#include "locks/waiter_store.hpp"
#include "support/clean_up.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class waiting_suite : public suite {
protected:
    static mutex_settings watchful() {
        mutex_settings settings;
        settings.min_poll = 1ms;
        settings.max_poll = 20ms;
        settings.detects_deadlock = true;
        return settings;
    }
    bool has_waiters(const key& name, std::int64_t number) const {
        return eventually([&] {
            const auto found = describe(first_, name);
            return found && found->waiters == number;
        });
    }
};

TEST_F(waiting_suite, after_a_death_the_key_stays_closed_for_the_lock_delay) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dead, name, {.lock_delay = 60s}}.try_acquire();
    ASSERT_TRUE(held);
    current().age_session(dead.id(), 1h + 10s);
    EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire()));
    EXPECT_FALSE(is_granted(mutex(heir, name).acquire_for(50ms)));
    reap(second_);
    EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire())) << "the reaper freed it too early";
    current().age_session(dead.id(), 55s);
    EXPECT_TRUE(mutex(heir, name).try_acquire());
}

TEST_F(waiting_suite, after_a_term_that_ran_out_too) {
    session one{first_, calm("one")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min, .lock_delay = 60s}}.try_acquire();
    current().age_lock(name, 10min + 10s);
    EXPECT_FALSE(held->verify());
    EXPECT_FALSE(is_granted(mutex(heir, name).try_acquire()));
    current().age_lock(name, 55s);
    EXPECT_TRUE(mutex(heir, name).try_acquire());
}

TEST_F(waiting_suite, a_waiter_gets_it_when_the_lock_delay_is_over) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dead, name, {.lock_delay = 60s}}.try_acquire();
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{heir, name, watchful()}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 1));
    current().age_session(dead.id(), 1h + 10s);
    reap(first_);
    EXPECT_TRUE(has_waiters(name, 1));
    current().age_session(dead.id(), 55s);
    waiting.join();
    EXPECT_TRUE(got && *got);
}

TEST_F(waiting_suite, a_release_and_a_release_by_force_open_a_key_at_once) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    mutex delayed{one, name, {.lock_delay = 60s}};
    auto held = delayed.try_acquire();
    held->release();
    { EXPECT_TRUE(mutex(other, name).try_acquire()); }
    held = delayed.try_acquire();
    ASSERT_TRUE(held);
    expire(one);  // by an hour more than the delay: set it back into it
    current().age_session(one.id(), -1h + 10s);
    EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
    EXPECT_TRUE(force_release(second_, name));
    EXPECT_TRUE(mutex(other, name).try_acquire());
}

TEST_F(waiting_suite, the_holders_words_are_shown_while_it_holds_also_after_a_hand_over) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    const std::string words = "host=\xc3\xa4\"\\' ; {\"a\": 1}";
    auto held = mutex{one, name, {.metadata = words}}.try_acquire();
    EXPECT_EQ(describe(second_, name)->metadata, words);
    EXPECT_EQ(list_locks(second_, name.name()).at(0).metadata, words);
    auto refused = mutex{two, name}.try_acquire();
    EXPECT_EQ(refused.holder()->metadata, words);
    mutex_settings settings = watchful();
    settings.metadata = std::string(4000, 'x');
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{two, name, settings}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(name, 1));
    held->release();
    waiting.join();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(describe(first_, name)->metadata, settings.metadata);
    (*got)->release();
    EXPECT_EQ(describe(first_, name)->metadata, "");
    auto plain = mutex{one, name}.try_acquire();
    EXPECT_EQ(describe(first_, name)->metadata, "");
}

TEST_F(waiting_suite, a_row_changes_its_kind_only_while_nobody_uses_it) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    const auto change_to = [&](lock_kind to) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().change_kind(on, name, to);
        });
    };
    EXPECT_TRUE(change_to(lock_kind::semaphore)) << "it is not there yet";
    {
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_FALSE(change_to(lock_kind::semaphore));
        EXPECT_TRUE(change_to(lock_kind::mutex));
    }
    EXPECT_TRUE(change_to(lock_kind::semaphore));
    const acquire_request wanted{name, owner_id::random(), one.id(), "n", std::nullopt};
    first_.inner()->use([&](connection& on, store_set& stores) {
        const auto tried = stores.get<hold_store>().try_acquire(on, wanted);
        EXPECT_EQ(tried.status, acquire_status::wrong_kind);
        EXPECT_EQ(tried.kind, lock_kind::semaphore);
        const auto queued = stores.get<waiter_store>().enqueue(on, wanted);
        EXPECT_EQ(queued.status, enqueue_status::wrong_kind);
        EXPECT_EQ(queued.kind, lock_kind::semaphore);
    });
    EXPECT_TRUE(mutex(one, name).try_acquire()) << "free: it may become a mutex again";
}

TEST_F(waiting_suite, any_duration_is_a_time_to_wait) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    mutex mine{one, name, watchful()}, theirs{two, name, watchful()};
    auto held = *mine.try_acquire();
    const auto half = theirs.acquire_for(std::chrono::duration<double>{0.05});
    EXPECT_FALSE(half);
    bool has_it = false;
    thread waiting{[&] { has_it = is_granted(theirs.acquire_for(std::chrono::hours::max())); }};
    EXPECT_TRUE(has_waiters(name, 1));
    held.release();
    waiting.join();
    EXPECT_TRUE(has_it);
}

// A call that queues changes neither the fence nor the kind of the row, and commits while a grant
// that has seen no queue waits for it.
TEST_F(waiting_suite, no_semaphore_takes_the_key_of_a_mutex_on_which_somebody_has_just_queued) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    (*mutex{one, name}.try_acquire()).release();
    const acquire_request wanted{name, owner_id::random(), one.id(), "n", std::nullopt};
    std::atomic<bool> has_answer = false;
    std::optional<error> failure;
    thread asking;
    first_.inner()->use([&](connection& on, store_set& stores) {
        const auto queue = [&] {
            EXPECT_EQ(
                stores.get<waiter_store>().enqueue(on, wanted).status, enqueue_status::waiting
            );
        };
        on.begin();
        if (const auto refused = thrown_by(queue)) {
            // On an engine where queueing is its own transaction, that ends before the grant
            // begins.
            EXPECT_EQ(refused->code(), errc::wrong_transaction) << refused->what();
            on.rollback();
            queue();
        }
        asking = thread{[&] {
            failure = thrown_by([&] { (void)semaphore(two, name, 2).try_acquire(); });
            has_answer = true;
        }};
        EXPECT_TRUE(!eventually([&] { return has_answer.load(); }, 300ms) || failure);
        if (on.state() != connection_state::idle) on.commit();
    });
    asking.join();
    ASSERT_TRUE(failure) << "it took the key, and nobody would have served the queue";
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_TRUE(mutex(one, name).try_acquire()) << "the key is a mutex still";
}

// Neither the clean-up nor a call that serves a queue has anything to do with a header.
TEST_F(waiting_suite, a_key_of_another_kind_is_never_unserved_and_serving_it_changes_nothing) {
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const key name = fresh("k");
    auto lost = semaphore{dead, name, 2}.try_acquire();
    auto kept = semaphore{one, name, 2}.try_acquire();
    expire(dead);
    first_.inner()->use([&](connection& on, store_set& stores) {
        const auto unserved = unserved_keys(on, stores);
        EXPECT_EQ(std::find(unserved.begin(), unserved.end(), name), unserved.end());
        EXPECT_EQ(stores.get<waiter_store>().serve(on, name).status, hand_over_status::refused);
        const acquire_request queued{name, owner_id::random(), one.id(), "n", std::nullopt};
        const auto seen = stores.get<waiter_store>().look(on, {{name, queued.owner, 1}});
        EXPECT_EQ(seen.at(0).status, look_status::gone);
        EXPECT_FALSE(seen.at(0).looks_takeable);
    });
    reap(first_);
    EXPECT_TRUE(kept->verify());
    EXPECT_EQ(describe(first_, name)->token, kept->token());
    kept->release();
    first_.inner()->use([&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<waiter_store>().serve(on, name).status, hand_over_status::refused)
            << "free, too";
    });
    auto again = semaphore{one, name, 2}.try_acquire(2);
    ASSERT_TRUE(again);
    EXPECT_EQ(token_of(again), kept->token().number + 1) << "no grant came in between";
}

// Two sessions as two processes, each with a key the other waits for. The call that is already
// queued does not look any more here: its look comes after its row is seen, and might see the
// circle as well.
TEST_F(waiting_suite, a_circle_of_two_is_refused_to_the_one_that_closes_it) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key a = fresh("a"), b = fresh("b");
    auto has_a = mutex{one, a}.try_acquire();
    auto has_b = mutex{two, b}.try_acquire();
    std::optional<acquisition> got;
    thread waiting{[&] { got = mutex{one, b}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(b, 1));
    const auto failure = thrown_by([&] { (void)mutex{two, a, watchful()}.acquire_for(60s); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::would_deadlock);
    EXPECT_EQ(make_error_code(failure->code()), std::errc::resource_deadlock_would_occur);
    EXPECT_EQ(describe(first_, a)->waiters, 0) << "it left the queue";
    has_b->release();
    waiting.join();
    EXPECT_TRUE(got && *got);
}

TEST_F(waiting_suite, a_circle_of_three_is_refused_and_a_line_of_three_is_not) {
    const database third_db = current().open({});
    session one{first_, calm("one")}, two{second_, calm("two")}, three{third_db, calm("three")};
    const key a = fresh("a"), b = fresh("b"), c = fresh("c");
    auto has_a = mutex{one, a}.try_acquire();
    auto has_b = mutex{two, b}.try_acquire();
    auto has_c = mutex{three, c}.try_acquire();
    std::optional<acquisition> got_b, got_c;
    thread first{[&] { got_b = mutex{one, b}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(b, 1));
    thread second{[&] { got_c = mutex{two, c}.acquire_for(60s); }};
    ASSERT_TRUE(has_waiters(c, 1));
    const auto failure = thrown_by([&] { (void)mutex{three, a, watchful()}.acquire_for(60s); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::would_deadlock);
    has_c->release();
    second.join();
    EXPECT_TRUE(got_c && *got_c);
    has_b->release();
    first.join();
    EXPECT_TRUE(got_b && *got_b);
}

TEST_F(waiting_suite, of_those_who_close_a_circle_at_the_same_moment_one_is_refused_at_least) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key a = fresh("a"), b = fresh("b");
    auto has_a = mutex{one, a}.try_acquire();
    auto has_b = mutex{two, b}.try_acquire();
    std::latch both{2};
    std::atomic<int> refusals = 0;
    // The refused one lets go of what it has, as a program would; the other one then gets it.
    const auto close = [&](session& within, const key& wanted, acquisition& held) {
        both.arrive_and_wait();
        try {
            return is_granted(mutex{within, wanted, watchful()}.acquire_for(60s));
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::would_deadlock);
            ++refusals;
            held->release();
            return false;
        }
    };
    bool first_got = false, second_got = false;
    thread other{[&] { second_got = close(two, a, has_b); }};
    first_got = close(one, b, has_a);
    other.join();
    EXPECT_GE(refusals, 1);
    EXPECT_EQ(first_got + second_got + refusals, 2) << "who is not refused gets the key";
    EXPECT_EQ(describe(first_, a)->waiters, 0);
    EXPECT_EQ(describe(first_, b)->waiters, 0);
}

// The look for circles comes after the call has queued: the key may have been handed over by then.
TEST_F(waiting_suite, a_key_that_was_handed_over_to_who_looks_is_no_circle) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    const acquire_request wanted{name, owner_id::random(), two.id(), "two", std::nullopt};
    const auto circle = [&](connection& on, store_set& stores, std::int64_t ticket) {
        return stores.get<waiter_store>().closes_a_circle(
            on, {name, wanted.owner, ticket}, two.id()
        );
    };
    second_.inner()->use([&](connection& on, store_set& stores) {
        const auto queued = stores.get<waiter_store>().enqueue(on, wanted);
        ASSERT_EQ(queued.status, enqueue_status::waiting);
        EXPECT_FALSE(circle(on, stores, queued.ticket));
        EXPECT_EQ(held->release(), release_outcome::released);
        EXPECT_TRUE(stores.get<hold_store>().find_grant(on, name, wanted.owner))
            << "it is the next holder";
        EXPECT_FALSE(circle(on, stores, queued.ticket));
        stores.get<hold_store>().release_owner(on, name, wanted.owner);
    });
}

TEST_F(waiting_suite, waiting_for_a_key_of_ones_own_session_is_a_circle_and_a_dead_holder_is_none) {
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const key own = fresh("own"), other = fresh("other");
    auto held = mutex{one, own}.try_acquire();
    const auto failure = thrown_by([&] { (void)mutex{one, own, watchful()}.acquire_for(60s); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::would_deadlock);
    auto theirs = mutex{dead, other}.try_acquire();
    expire(dead);
    EXPECT_TRUE(mutex(one, other, watchful()).acquire_for(20s));
}

TEST_F(waiting_suite, settings_out_of_range_are_refused) {
    session one{first_, calm("one")};
    const auto code_of = [&](mutex_settings settings) {
        const auto failure = thrown_by([&] { mutex{one, "k", settings}; });
        return failure ? failure->code() : errc{};
    };
    EXPECT_EQ(code_of({.lock_delay = -1us}), errc::invalid_argument);
    EXPECT_EQ(code_of({.lock_delay = 61s}), errc::invalid_argument);
    EXPECT_EQ(code_of({.metadata = std::string(4001, 'x')}), errc::invalid_argument);
    EXPECT_EQ(code_of({.metadata = "\xff"}), errc::invalid_argument);
    EXPECT_EQ(code_of({.lock_delay = 60s, .metadata = std::string(4000, 'x')}), errc{});
}

}  // namespace
}  // namespace leasehold::testing
