// An operation that locks rows others need is one call on the connection, which leaves no
// transaction open: a client that is paused or cut off between two calls would keep these rows
// locked for as long as its connection lives, and a lease of seconds would be one of hours.
#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "database/schema_store.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/waiter_store.hpp"
#include "session/upkeep_store.hpp"
#include "support/clean_up.hpp"

namespace leasehold::testing {
namespace {

class packet_suite : public suite {
protected:
    // Counts round trips only of servers: SQLite answers in the caller's own process.
    template <class Run>
    auto in_one_call(Run&& run) {
        return in_calls(1, run);
    }
    template <class Run>
    auto in_calls(int max_calls, Run&& run) {
        return db_.inner()->use([&](connection& on, store_set& stores) {
            const auto before = counted_->passed();
            auto answer = run(on, stores);
            if (current().has_concurrent_writers) {
                EXPECT_LE(counted_->passed() - before, max_calls);
            }
            EXPECT_EQ(on.state(), connection_state::idle);
            return answer;
        });
    }
    enqueue_result enqueue(const key& name, const session& whose, const owner_id& owner) {
        const acquire_request wanted{name, owner, whose.id(), "node", {}};
        return in_one_call([&](connection& on, store_set& stores) {
            return stores.get<waiter_store>().enqueue(on, wanted);
        });
    }
    hand_over_result hand_over(const hold& held) {
        // The second where the first in the queue is not alive, or nobody waits.
        return in_calls(2, [&](connection& on, store_set& stores) {
            return stores.get<waiter_store>().hand_over(on, held);
        });
    }
    hand_over_result serve(const key& name) {
        return in_one_call([&](connection& on, store_set& stores) {
            return stores.get<waiter_store>().serve(on, name);
        });
    }
    void free(const key& name, const owner_id& owner) {
        const auto outcome = in_one_call([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().release_owner(on, name, owner);
        });
        EXPECT_EQ(outcome, release_outcome::released);
    }

    const std::shared_ptr<gate> counted_ = std::make_shared<gate>();
    const database db_ = current().open_through(counted_);
    const key name_ = fresh("k");
};

TEST_F(packet_suite, queueing_handing_over_and_serving_are_one_call_each) {
    session one{first_, calm("one")}, two{second_, calm("two")}, dead{second_, calm("dead")};
    const owner_id second = owner_id::random(), third = owner_id::random();
    EXPECT_EQ(enqueue(name_, two, second).status, enqueue_status::unknown_key);
    auto held = mutex{one, name_}.try_acquire();
    ASSERT_TRUE(held);
    const hold first{name_, held->owner(), held->token()};

    const auto queued = enqueue(name_, two, second);
    ASSERT_EQ(queued.status, enqueue_status::waiting);
    EXPECT_FALSE(queued.looks_takeable);
    const auto behind = enqueue(name_, two, third);
    ASSERT_EQ(behind.status, enqueue_status::waiting);
    EXPECT_GT(behind.ticket, queued.ticket);
    expire(dead);
    EXPECT_EQ(enqueue(name_, dead, owner_id::random()).status, enqueue_status::session_ended);
    EXPECT_EQ(serve(name_).status, hand_over_status::refused) << "its holder lives";

    const auto passed = hand_over(first);
    ASSERT_EQ(passed.status, hand_over_status::handed_over);
    EXPECT_EQ(passed.next->owner, second);
    EXPECT_EQ(passed.next->session, two.id());
    EXPECT_GT(passed.next->token, first.token);
    EXPECT_EQ(hand_over(first).status, hand_over_status::refused);

    free(name_, second);
    const auto served = serve(name_);
    ASSERT_EQ(served.status, hand_over_status::handed_over);
    EXPECT_EQ(served.next->owner, third);
    EXPECT_GT(served.next->token, passed.next->token);
    free(name_, third);
    EXPECT_EQ(serve(name_).status, hand_over_status::freed);
}

TEST_F(packet_suite, the_dead_are_passed_over_in_the_same_call) {
    session one{first_, calm("one")}, two{second_, calm("two")}, dead{second_, calm("dead")};
    auto held = mutex{one, name_}.try_acquire();
    const owner_id second = owner_id::random();
    for (int each = 0; each < 3; ++each) {
        EXPECT_EQ(enqueue(name_, dead, owner_id::random()).status, enqueue_status::waiting);
    }
    EXPECT_EQ(enqueue(name_, two, second).status, enqueue_status::waiting);
    expire(dead);
    const auto passed = hand_over({name_, held->owner(), held->token()});
    ASSERT_EQ(passed.status, hand_over_status::handed_over);
    EXPECT_EQ(passed.next->owner, second);
    EXPECT_EQ(describe(first_, name_)->waiters, 0);
}

TEST_F(packet_suite, what_comes_too_late_does_not_wait_for_the_next_holders_proof) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    auto held = mutex{one, name_}.try_acquire();
    const hold first{name_, held->owner(), held->token()};
    EXPECT_EQ(held->release(), release_outcome::released);
    auto next = mutex{two, name_}.try_acquire();
    transaction tx = second_.begin();
    next->verify_in(tx);
    if (!current().has_concurrent_writers) tx.commit();  // a proof keeps everybody's writes waiting
    const auto start = local_clock::now();
    EXPECT_EQ(hand_over(first).status, hand_over_status::refused);
    EXPECT_EQ(serve(name_).status, hand_over_status::refused);
    EXPECT_LT(local_clock::now() - start, 9s);
    if (current().has_concurrent_writers) tx.commit();
}

// A look, and then one call that does it all.
TEST_F(packet_suite, force_and_requests_to_let_go_lock_within_one_call) {
    session one{first_, calm("one")};
    auto held = mutex{one, name_}.try_acquire();
    const auto asked = in_calls(2, [&](connection& on, store_set& stores) {
        return stores.get<hold_store>().request_revoke(on, name_);
    });
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->owner, held->owner());
    const auto forced = in_calls(2, [&](connection& on, store_set& stores) {
        return stores.get<hold_store>().force_release(on, name_, std::nullopt);
    });
    ASSERT_TRUE(forced);
    EXPECT_EQ(forced->owner, held->owner());
    EXPECT_EQ(forced->session, one.id());
    EXPECT_TRUE(in_one_call([&](connection& on, store_set& stores) {
        return stores.get<hold_store>().change_kind(on, name_, lock_kind::semaphore);
    }));
    semaphore permits{one, name_, 3};
    auto first = permits.try_acquire(), second = permits.try_acquire();
    const auto freed = in_calls(3, [&](connection& on, store_set& stores) {
        return stores.get<holder_store>().force_release(on, name_);
    });
    ASSERT_EQ(freed.size(), 2U);
    EXPECT_EQ(freed[0].owner, first->owner());
    EXPECT_EQ(freed[1].owner, second->owner());
    EXPECT_FALSE(describe(first_, name_)->is_held);
}

// A call for each look, and one for what it found; the place is written in a third.
TEST_F(packet_suite, the_clean_up_locks_within_one_call) {
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const key gate = fresh("gate");
    auto lost = mutex{dead, name_}.try_acquire();
    auto place = semaphore{dead, gate, 3}.try_acquire();
    auto held = mutex{one, fresh("held")}.try_acquire();
    EXPECT_EQ(enqueue(held->key(), dead, owner_id::random()).status, enqueue_status::waiting);
    expire(dead);
    // Others of this program have left theirs.
    const auto all_of = [&](upkeep_task task) {
        std::int64_t sum = 0;
        upkeep_look seen;
        do {
            seen = in_one_call([&](connection& on, store_set& stores) {
                return stores.get<upkeep_store>().look(on, task, seen.place, 50, 0us);
            });
            std::vector<std::string> places;
            for (const auto& each : seen.found) places.push_back(each.place);
            if (places.empty()) continue;
            sum += in_one_call([&](connection& on, store_set& stores) {
                return stores.get<upkeep_store>().clear(on, task, places, 0us);
            });
        } while (!seen.place.empty());
        return sum;
    };
    for (const auto task :
         {upkeep_task::dead_locks, upkeep_task::dead_holders, upkeep_task::dead_waiters}) {
        EXPECT_GT(all_of(task), 0);
        auto at = first_.inner()->use([&](connection& on, store_set& stores) {
            return seize_turn(on, stores, task);
        });
        EXPECT_TRUE(in_one_call([&](connection& on, store_set& stores) {
            return stores.get<upkeep_store>().advance(on, at, {}, false);
        }));
    }
    EXPECT_FALSE(describe(first_, name_)->is_held);
    EXPECT_GT(all_of(upkeep_task::old_sessions), 0);
    EXPECT_GT(all_of(upkeep_task::idle_locks), 0);
    EXPECT_FALSE(describe(first_, name_)) << "its row is gone";
    EXPECT_TRUE(held->verify());
    auto again = mutex{one, name_}.try_acquire();
    ASSERT_TRUE(again);
    EXPECT_GT(again->token(), lost->token());
}

}  // namespace
}  // namespace leasehold::testing
