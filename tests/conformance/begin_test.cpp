// Sessions that begin with their first grant and end with their last release.
#include <atomic>
#include <functional>
#include <latch>
#include <vector>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/hold_store.hpp"
#include "session/session_store.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class begin_suite : public suite {
protected:
    static session_settings late(const char* name = "late") {
        session_settings settings = calm(name);
        settings.begins_with_grant = true;
        return settings;
    }
    std::optional<session_info> found(const session_id& id) {
        for (const auto& each : list_sessions(second_)) {
            if (each.id == id) return each;
        }
        return std::nullopt;
    }
    template <class Use>
    auto with(Use&& use) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return use(on, stores);
        });
    }
    std::optional<fencing_token> start(const session_id& id, const key& name) {
        const session_start begun{id, "late", 1h};
        const acquire_request wanted{name, owner_id::random(), id, "late", std::nullopt};
        return with([&](connection& on, store_set& stores) {
            return stores.get<session_store>().start_with_grant(on, begun, wanted);
        });
    }
    bool end_with(const session_id& id, const hold& last) {
        return with([&](connection& on, store_set& stores) {
            return stores.get<session_store>().end_with_release(on, id, last);
        });
    }
    // Answers with the token under which it was held.
    std::int64_t have_row_of(const key& name) {
        session other{second_, calm("before")};
        auto held = mutex(other, name).try_acquire();
        EXPECT_TRUE(held);
        return held ? held->token().number : 0;
    }
};

TEST_F(begin_suite, the_row_comes_with_the_first_grant_and_goes_with_the_last_release) {
    const key name = fresh("k");
    const auto before = have_row_of(name);
    session one{first_, late("visible")};
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(found(one.id()));
    auto held = mutex{one, name, {.metadata = "words"}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->token().number, before + 1);
    const auto info = found(one.id());
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->is_live);
    EXPECT_EQ(info->node_info.substr(0, 8), "visible@");
    EXPECT_GT(info->remaining, 59min);
    EXPECT_LT(one.deadline(), local_clock::now() + 1h);
    const auto seen = describe(second_, name);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->session, one.id());
    EXPECT_EQ(seen->owner, held->owner());
    EXPECT_EQ(seen->metadata, "words");
    EXPECT_EQ(seen->node_info, info->node_info);
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
    EXPECT_FALSE(found(one.id()));
    EXPECT_FALSE(describe(second_, name)->is_held);
    EXPECT_FALSE(one.is_live());
    EXPECT_EQ(held->why_lost(), loss_reason::released);
    EXPECT_TRUE(thrown_by([&] { (void)mutex{one, name}.try_acquire(); }));
}

TEST_F(begin_suite, a_key_never_seen_is_granted_too) {
    session one{first_, late()};
    auto held = mutex{one, fresh("new")}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_GE(held->token().number, 1);
    EXPECT_TRUE(found(one.id()));
}

TEST_F(begin_suite, a_refused_try_begins_nothing) {
    const key name = fresh("k");
    session other{second_, calm("other")};
    auto theirs = mutex{other, name}.try_acquire();
    session one{first_, late()};
    for (int each = 0; each < 2; ++each) {
        const auto refused = mutex{one, name}.try_acquire();
        ASSERT_FALSE(refused);
        ASSERT_TRUE(refused.holder());
        EXPECT_EQ(refused.holder()->session, other.id());
        EXPECT_FALSE(found(one.id()));
    }
    theirs->release();
    EXPECT_TRUE(mutex(one, name).try_acquire());
    session idle{first_, late()};
    idle.end();
    EXPECT_FALSE(idle.is_live());
}

TEST_F(begin_suite, a_call_that_waits_begins_it) {
    const key name = fresh("k");
    session other{second_, calm("other")}, one{first_, late()};
    auto theirs = mutex{other, name}.try_acquire();
    thread waiting{[&] {
        auto held = mutex{one, name}.acquire_for(30s);
        ASSERT_TRUE(held);
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
    }};
    EXPECT_TRUE(eventually([&] { return describe(second_, name)->waiters == 1; }));
    EXPECT_TRUE(found(one.id()));
    theirs->release();
    waiting.join();
    EXPECT_FALSE(describe(second_, name)->is_held);
}

TEST_F(begin_suite, whatever_else_is_done_begins_it) {
    session other{second_, calm("other")};
    auto theirs = mutex{other, fresh("parcel")}.try_acquire();
    const detached_lease parcel = detach(std::move(*theirs));
    const std::vector<std::pair<const char*, std::function<void(session&)>>> calls{
        {"fixed term",
         [&](session& of) {
             EXPECT_TRUE(mutex(of, fresh("k"), {.fixed_term = 1h}).try_acquire());
         }},
        {"recursive",
         [&](session& of) {
             mutex deep{of, fresh("k"), {.recursive = true}};
             auto first = deep.try_acquire(), second = deep.try_acquire();
             EXPECT_TRUE(first && second);
             EXPECT_EQ(second->release(), release_outcome::still_held);
         }},
        {"keys",
         [&](session& of) {
             EXPECT_TRUE(multi_lock(of, {fresh("a"), fresh("b")}).acquire());
         }},
        {"reader",
         [&](session& of) { EXPECT_TRUE(shared_mutex(of, fresh("k")).acquire_shared()); }},
        {"semaphore", [&](session& of) { EXPECT_TRUE(semaphore(of, fresh("k"), 3).acquire(2)); }},
        {"latch", [&](session& of) { EXPECT_TRUE(latch(of, fresh("k"), 2).try_join()); }},
        {"barrier", [&](session& of) { (void)barrier(of, fresh("k"), 1).arrive_and_wait(); }},
        {"adopt", [&](session& of) { EXPECT_TRUE(adopt(of, parcel)); }},
        {"idle gate",
         [&](session& of) {
             const key gate = fresh("gate");
             { auto permit = semaphore{other, gate, 3}.try_acquire(); }
             EXPECT_TRUE(mutex(of, gate).try_acquire());
         }},
    };
    for (const auto& [name, call] : calls) {
        SCOPED_TRACE(name);
        session one{first_, late()};
        EXPECT_FALSE(found(one.id()));
        call(one);
        EXPECT_TRUE(found(one.id()));
        one.end();
    }
}

TEST_F(begin_suite, what_stands_beside_a_transaction_of_the_callers_needs_one_that_has_begun) {
    session one{first_, late()};
    transaction tx = first_.begin();
    const auto failure = thrown_by([&] { (void)mutex(one, fresh("k")).try_acquire_in(tx); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
    EXPECT_FALSE(found(one.id()));
}

TEST_F(begin_suite, a_key_of_the_dead_is_granted) {
    const key name = fresh("k");
    session other{second_, calm("other")};
    auto theirs = mutex{other, name}.try_acquire();
    expire(other);
    session one{first_, late()};
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_GT(held->token(), theirs->token());
}

TEST_F(begin_suite, an_end_with_a_release_does_the_same_where_it_is_not_all) {
    const key name = fresh("k"), second = fresh("second");
    session other{second_, calm("other")};
    {
        SCOPED_TRACE("another lease");
        session one{first_, late()};
        auto held = mutex{one, name}.try_acquire();
        auto also = mutex{one, second}.try_acquire();
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
        EXPECT_EQ(also->why_lost(), loss_reason::session_ended);
        EXPECT_FALSE(found(one.id()));
        EXPECT_TRUE(mutex(other, second).try_acquire());
    }
    {
        SCOPED_TRACE("somebody waits");
        session one{first_, late()};
        auto held = mutex{one, name}.try_acquire();
        std::optional<acquisition> next;
        thread waiting{[&] { next = mutex{other, name}.acquire_for(30s); }};
        EXPECT_TRUE(eventually([&] { return describe(second_, name)->waiters == 1; }));
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
        waiting.join();
        ASSERT_TRUE(next && *next);
        EXPECT_FALSE(found(one.id()));
    }
    {
        SCOPED_TRACE("freed by force");
        session one{first_, late()};
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(force_release(second_, name));
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::not_held);
        EXPECT_FALSE(one.is_live());
        const auto left = found(one.id());
        EXPECT_TRUE(!left || !left->is_live);
    }
    {
        SCOPED_TRACE("two levels");
        session one{first_, late()};
        mutex deep{one, name, {.recursive = true}};
        auto first = deep.try_acquire(), again = deep.try_acquire();
        EXPECT_EQ(one.end_with(std::move(*again)), release_outcome::still_held);
        EXPECT_EQ(first->why_lost(), loss_reason::session_ended);
        EXPECT_TRUE(mutex(other, name).try_acquire());
    }
    {
        SCOPED_TRACE("of another session");
        session one{first_, late()};
        auto held = mutex{other, name}.try_acquire();
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
        EXPECT_TRUE(other.is_live());
    }
}

TEST_F(begin_suite, a_start_with_a_grant_grants_nothing_where_there_is_a_row_of_its_id) {
    const key name = fresh("k");
    have_row_of(name);
    const auto before = describe(second_, name)->token;
    session live{first_, calm("live")}, dead{first_, calm("dead")};
    expire(dead);
    for (const session* each : {&live, &dead}) {
        EXPECT_TRUE(thrown_by([&] { start(each->id(), name); }));
        const auto now = describe(second_, name);
        EXPECT_FALSE(now->is_held);
        EXPECT_EQ(now->token, before);
    }
    EXPECT_FALSE(found(dead.id())->is_live);
    const auto id = session_id::random();
    EXPECT_EQ(start(id, name)->number, before.number + 1);
    const key another = fresh("another");
    have_row_of(another);
    EXPECT_TRUE(thrown_by([&] { start(id, another); }));
    EXPECT_FALSE(start(session_id::random(), name));
    EXPECT_FALSE(start(session_id::random(), name));
}

TEST_F(begin_suite, an_end_with_a_release_changes_both_rows_or_none) {
    const key name = fresh("k");
    have_row_of(name);
    const auto id = session_id::random();
    const auto token = start(id, name);
    ASSERT_TRUE(token);
    const hold mine{name, *describe(second_, name)->owner, *token};
    const auto nothing_changed = [&] {
        EXPECT_TRUE(found(id) && found(id)->is_live);
        EXPECT_TRUE(describe(second_, name)->is_held);
    };
    EXPECT_FALSE(end_with(id, {name, owner_id::random(), *token}));
    nothing_changed();
    EXPECT_FALSE(end_with(id, {name, mine.owner, {token->number - 1}}));
    nothing_changed();
    with([&](connection& on, store_set& stores) {
        return stores.get<hold_store>().reenter(on, mine);
    });
    EXPECT_FALSE(end_with(id, mine));
    nothing_changed();
    with([&](connection& on, store_set& stores) {
        return stores.get<hold_store>().release(on, mine);
    });
    EXPECT_TRUE(end_with(id, mine));
    EXPECT_FALSE(found(id));
    EXPECT_FALSE(describe(second_, name)->is_held);
    EXPECT_FALSE(end_with(id, mine));
}

TEST_F(begin_suite, several_threads_that_begin_it_at_once_all_get_what_is_free) {
    constexpr int threads = 6;
    const key wanted_by_all = fresh("one");
    session one{first_, late()};
    std::vector<key> names;
    for (int each = 0; each < threads; ++each) {
        names.push_back(fresh("k"));
        if (each % 2 == 0) have_row_of(names.back());  // the others have never been seen
    }
    std::latch all_are_there{threads};
    std::atomic<int> granted = 0, winners = 0;
    std::vector<std::optional<acquisition>> held(threads), won(threads);
    {
        std::vector<thread> all;
        for (std::size_t each = 0; each < threads; ++each) {
            all.emplace_back([&, each] {
                all_are_there.arrive_and_wait();
                held[each].emplace(mutex{one, names[each]}.try_acquire());
                won[each].emplace(mutex{one, wanted_by_all}.try_acquire());
                if (*held[each] && (*held[each])->verify()) ++granted;
                if (*won[each]) ++winners;
            });
        }
    }
    EXPECT_EQ(granted, threads);
    EXPECT_LE(winners, 1) << "a new key that two make at once may be refused to both";
    ASSERT_TRUE(found(one.id()));
    EXPECT_TRUE(found(one.id())->is_live);
}

TEST_F(begin_suite, an_end_beside_the_first_grant_leaves_nothing_held) {
    session other{second_, calm("other")};
    const key name = fresh("k");
    have_row_of(name);
    for (int round = 0; round < 8; ++round) {
        session one{first_, late()};
        std::latch both_are_there{2};
        {
            const thread begins{[&] {
                both_are_there.arrive_and_wait();
                std::optional<acquisition> held;
                thrown_by([&] { held.emplace(mutex{one, name}.try_acquire()); });
            }};
            both_are_there.arrive_and_wait();
            one.end();
        }
        EXPECT_FALSE(one.is_live());
        const auto left = found(one.id());
        EXPECT_TRUE(!left || !left->is_live);
        EXPECT_TRUE(eventually([&] { return is_granted(mutex(other, name).try_acquire()); }));
    }
}

// Every release waits for a proof.
TEST_F(begin_suite, an_end_with_a_release_waits_for_a_proof) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "one writer: a proof is no write there";
    const key name = fresh("k");
    session one{first_, late()};
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    transaction tx = second_.begin();
    held->verify_in(tx);
    std::atomic<bool> has_ended = false;
    thread ending{[&] {
        EXPECT_EQ(one.end_with(std::move(*held)), release_outcome::released);
        has_ended = true;
    }};
    session other{open(), calm("other")};
    EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
    EXPECT_FALSE(has_ended);
    tx.commit();
    ending.join();
    EXPECT_TRUE(mutex(other, name).try_acquire());
}

}  // namespace
}  // namespace leasehold::testing
