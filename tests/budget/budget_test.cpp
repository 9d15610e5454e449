// The cost of each operation; see README.md beside this. The numbers are exact, so that an
// operation that becomes cheaper is noticed as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "budget/meter.hpp"
#include "database/database.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/holder_store.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr int times = 10;

class budget_test : public ::testing::Test {
protected:
    void SetUp() override {
        // One statement must count as one, or nothing below means anything.
        const database db = meter_.open();
        select_1(db);
        expect_cost("SELECT 1", allowed().nothing, [&] { select_1(db); });
    }

    static void select_1(const database& db) {
        db.inner()->use_unchecked([](connection& on, store_set&) { on.execute("SELECT 1"); });
    }

    // A server counts a statement a moment after it has answered it.
    cost settled() const {
        cost last = meter_.spent();
        int agreed = 0;
        EXPECT_TRUE(eventually([&] {
            const cost now = meter_.spent();
            agreed = now == last ? agreed + 1 : 0;
            last = now;
            return agreed == 20;
        })) << "the counts never came to rest";
        return last;
    }

    // Runs it so many times, and returns the cost of all of that.
    template <class Run>
    cost cost_of(Run&& run, std::int64_t count = times) const {
        const cost before = settled();
        for (std::int64_t each = 0; each < count; ++each) run();
        return settled() - before;
    }

    template <class Run>
    void expect_cost(const char* what, const cost& each, Run&& run, int count = times) const {
        const cost found = cost_of(run, count);
        EXPECT_EQ(found, each * count) << what << ", " << count << " times";
        std::cout << what << ": " << found << " in " << count << "\n";
    }

    // The least that writes() grew by in any of many windows around one run: the work of others at
    // the same time can only add to it.
    template <class Run>
    std::int64_t least_writes(Run&& run, int windows = 40) const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (int each = 0; each < windows; ++each) {
            const auto before = meter_.writes();
            run();
            least = std::min(least, meter_.writes() - before);
        }
        return least;
    }

    // The number that most of many windows agree on: others can add flushes to some windows, and
    // save us some by flushing ours with theirs.
    class many_windows {
    public:
        void add(std::int64_t flushes) { ++found_[flushes]; }
        std::int64_t usual() const {
            const auto is_rarer = [](const auto& left, const auto& right) {
                return left.second < right.second;
            };
            return std::max_element(found_.begin(), found_.end(), is_rarer)->first;
        }

    private:
        std::map<std::int64_t, int> found_;
    };

    void expect_one_write_transaction(const char* what, std::int64_t found) const {
        EXPECT_GT(found, 0) << what << ": the count overlooks writes";
        EXPECT_EQ(found, meter::writes_per_transaction().value_or(found)) << what;
    }

    const meter meter_;
};

TEST_F(budget_test, one_statement_more_is_seen) {
    const database db = meter_.open();
    session one{db, calm("one")};
    mutex free{one, "k"};
    { const auto known = free.try_acquire(); }
    std::vector<acquisition> held;
    const cost with_more = cost_of(
        [&] {
            held.push_back(free.try_acquire());
            select_1(db);
        },
        1
    );
    EXPECT_EQ(with_more, allowed().grant + allowed().nothing);
    EXPECT_NE(with_more, allowed().grant);
}

TEST_F(budget_test, granting_and_releasing_a_known_key) {
    session one{meter_.open(), calm("one")};
    std::vector<mutex> keys;
    for (int each = 0; each < times; ++each) keys.emplace_back(one, "k" + std::to_string(each));
    for (mutex& each : keys) {
        const auto known = each.try_acquire();
    }
    // After so many keys that were new the whole statement is sent once more.
    { const auto again = keys.front().try_acquire(); }
    std::vector<acquisition> held;
    std::size_t next = 0;
    expect_cost("grant", allowed().grant, [&] {
        held.push_back(keys[next++].try_acquire());
        ASSERT_TRUE(held.back());
    });
    next = 0;
    expect_cost("release", allowed().release, [&] {
        ASSERT_EQ(held[next++]->release(), release_outcome::released);
    });
}

TEST_F(budget_test, the_first_grant_of_a_key_and_the_first_on_a_connection) {
    session one{meter_.open(), calm("one")};
    std::vector<acquisition> held;
    int number = 0;
    const auto take_a_new_key = [&] {
        held.push_back(mutex{one, "new" + std::to_string(number++)}.try_acquire());
        ASSERT_TRUE(held.back());
    };
    expect_cost("first try of a connection", allowed().new_grant, take_a_new_key, 1);
    expect_cost("grant of a new key", allowed().new_grant, take_a_new_key, 3);
    expect_cost("grant of new keys as usual", allowed().usual_new_grant, take_a_new_key);
}

TEST_F(budget_test, a_refusal_is_one_question_and_writes_nothing) {
    session holder{meter_.open(), calm("holder")}, other{meter_.open(), calm("other")};
    mutex held{holder, "k"}, wanted{other, "k"};
    auto lease = held.try_acquire();
    const auto refused = [&] {
        const auto got = wanted.try_acquire();
        ASSERT_FALSE(got);
        ASSERT_TRUE(got.holder());
        EXPECT_EQ(got.holder()->session, holder.id());
    };
    refused();
    expect_cost("refusal", allowed().refusal, refused);
    meter_.settle();
    const auto logged = meter_.logged();
    EXPECT_EQ(least_writes(refused), 0);
    EXPECT_EQ(meter_.logged(), logged);
}

TEST_F(budget_test, a_grant_and_a_release_are_one_transaction_each) {
    session one{meter_.open(), calm("one")};
    mutex key{one, "k"};
    { const auto known = key.try_acquire(); }
    std::vector<std::int64_t> grants, releases;
    for (int window = 0; window < 40; ++window) {
        const auto first = meter_.writes();
        auto held = key.try_acquire();
        const auto second = meter_.writes();
        held->release();
        releases.push_back(meter_.writes() - second);
        grants.push_back(second - first);
    }
    const auto least_of = [](const auto& all) { return *std::min_element(all.begin(), all.end()); };
    expect_one_write_transaction("grant", least_of(grants));
    expect_one_write_transaction("release", least_of(releases));
}

// Like `leasehold lock k -- true`: it takes no more than the two commits of a row by hand.
TEST_F(budget_test, a_session_that_begins_with_a_grant_and_ends_with_its_release_is_two_commits) {
    const database db = meter_.open();
    session_settings late = calm("late");
    late.begins_with_grant = true;
    std::optional<session> one;
    std::optional<acquisition> held;
    const auto begin = [&] {
        one.emplace(db, late);
        held.emplace(mutex{*one, "k"}.try_acquire());
        ASSERT_TRUE(*held);
    };
    const auto end = [&] {
        ASSERT_EQ(one->end_with(std::move(**held)), release_outcome::released);
    };
    const auto live = [&] {
        begin();
        end();
    };
    live();
    expect_cost("life", allowed().life, live);
    std::int64_t begins = std::numeric_limits<std::int64_t>::max(), ends = begins;
    many_windows flushes;
    for (int window = 0; window < 41; ++window) {
        const auto before = meter_.writes();
        const auto flushed = meter_.flushes(db);
        begin();
        const auto between = meter_.writes();
        end();
        begins = std::min(begins, between - before);
        ends = std::min(ends, meter_.writes() - between);
        flushes.add(meter_.flushes(db) - flushed);
    }
    expect_one_write_transaction("begin", begins);
    expect_one_write_transaction("end", ends);
    if (meter::counts_flushes()) {
        EXPECT_EQ(flushes.usual(), 2);
    }
}

TEST_F(budget_test, a_grant_waits_for_one_flush_and_a_release_for_none) {
    if (!meter::counts_flushes()) GTEST_SKIP() << "a promise about PostgreSQL alone";
    const database db = meter_.open();
    session one{db, calm("one")};
    mutex key{one, "k"}, second{one, "second"};
    for (mutex* each : {&key, &second}) {
        const auto known = each->try_acquire();
    }
    many_windows grant, release, two_grants;
    for (int window = 0; window < 41; ++window) {
        const auto before = meter_.flushes(db);
        auto held = key.try_acquire();
        const auto granted = meter_.flushes(db);
        held->release();
        const auto released = meter_.flushes(db);
        held = key.try_acquire();
        const auto also = second.try_acquire();
        two_grants.add(meter_.flushes(db) - released);
        grant.add(granted - before);
        release.add(released - granted);
    }
    EXPECT_EQ(grant.usual(), 1);
    EXPECT_EQ(release.usual(), 0);
    EXPECT_EQ(two_grants.usual(), 2) << "one more is seen";
}

struct life {
    int leases;
    std::chrono::milliseconds ttl;
    std::optional<std::chrono::milliseconds> heartbeat_every;  // unset: a third of ttl
    std::int64_t beats;                                        // at least, while we look
};

// However much it holds, and however short it lives: its own deadlines must cost no round trip.
class heartbeat_budget : public budget_test, public ::testing::WithParamInterface<life> {};

TEST_P(heartbeat_budget, a_heartbeat_is_one_statement_of_one_row) {
    session_settings settings = calm("beating");
    settings.ttl = GetParam().ttl;
    settings.heartbeat_every = GetParam().heartbeat_every;
    const database db = meter_.open();
    session one{db, settings};
    std::vector<acquisition> held;
    for (int each = 0; each < GetParam().leases; ++each) {
        held.push_back(mutex{one, "k" + std::to_string(each)}.try_acquire());
        ASSERT_TRUE(held.back());
    }
    // Between two heartbeats: after one was answered, and with none while we look.
    struct sight {
        cost spent;
        std::int64_t writes = 0;
    };
    const auto look = [&] {
        sight seen;
        const auto deadline = one.deadline();
        EXPECT_TRUE(eventually([&] { return one.deadline() != deadline; }));
        EXPECT_TRUE(eventually([&] {
            seen = {settled(), meter_.writes()};
            return meter_.spent() == seen.spent;
        }));
        return seen;
    };
    const sight before = look();
    const auto from = local_clock::now();
    sight after = look();
    while (after.spent.rows - before.spent.rows < GetParam().beats && one.is_live()) after = look();
    const auto beats = after.spent.rows - before.spent.rows;
    ASSERT_GE(beats, GetParam().beats) << "the session was lost: " << name_of(one.why_lost());
    const auto found = after.spent - before.spent;
    const auto writes = after.writes - before.writes;
    std::cout << "heartbeats with " << GetParam().leases << " leases: " << found << "\n";
    EXPECT_EQ(found, allowed().heartbeat * beats);
    EXPECT_GE(writes, beats);
    EXPECT_TRUE(!meter::is_alone() || writes == beats) << writes << " write transactions";
    EXPECT_LE(beats, (local_clock::now() - from) / one.settings().heartbeat_every.value() + 1);
    for (auto& each : held) EXPECT_TRUE(each->held_locally());
}

INSTANTIATE_TEST_SUITE_P(
    with,
    heartbeat_budget,
    ::testing::Values(life{1, 30s, 500ms, 10}, life{100, 30s, 500ms, 10}, life{1, 6s, {}, 4}),
    [](const auto& given) {
        return std::to_string(given.param.leases) + "_leases_and_a_ttl_of_" +
               std::to_string(given.param.ttl.count()) + "_ms";
    }
);

// Whole transactions with and without proofs are compared, because PostgreSQL counts a statement of
// a transaction only when the next one begins or the transaction ends. Each has another statement,
// too: BEGIN travels there with the first.
TEST_F(budget_test, a_proof_is_one_statement_in_the_callers_transaction) {
    const database db = meter_.open();
    session one{db, calm("one")};
    auto held = mutex{one, "k"}.try_acquire();
    ASSERT_TRUE(held);
    const auto prove = [&](int proofs) {
        transaction tx = db.begin();
        tx.execute("SELECT 1");
        for (int each = 0; each < proofs; ++each) held->verify_in(tx);
        tx.commit();
    };
    const auto transactions_with = [&](int proofs, int count) {
        return cost_of([&] { prove(proofs); }, count);
    };
    const cost first = transactions_with(1, 1);
    const cost empty = transactions_with(0, 1);
    EXPECT_EQ(first - empty, allowed().proof) << "the first of a connection";
    EXPECT_EQ(transactions_with(1, times) - empty * times, allowed().proof * times);
    EXPECT_EQ(transactions_with(3, times) - empty * times, allowed().proof * times * 3);
    std::cout << "proof: " << first - empty << " in 1\n";
}

TEST_F(budget_test, a_proof_of_many_keys_is_one_statement_too) {
    const database db = meter_.open();
    session one{db, calm("one")};
    std::vector<key> keys;
    for (int each = 0; each < 20; ++each) keys.emplace_back("m" + std::to_string(each));
    auto held = multi_lock{one, keys}.try_acquire();
    ASSERT_TRUE(held);
    const auto transactions_with = [&](int proofs, int count) {
        const auto prove = [&] {
            transaction tx = db.begin();
            tx.execute("SELECT 1");
            for (int each = 0; each < proofs; ++each) held->verify_in(tx);
            tx.commit();
        };
        return cost_of(prove, count);
    };
    transactions_with(1, 1);
    const cost empty = transactions_with(0, times);
    EXPECT_EQ(transactions_with(1, times) - empty, allowed().proof * times);
}

// The renewal of a session that was told of news waits for this.
TEST_F(budget_test, asking_about_many_holders_is_one_statement) {
    constexpr int holds = 100;
    const database db = meter_.open();
    session one{db, calm("one")};
    std::vector<acquisition> got;
    std::vector<hold> held;
    std::vector<holder_id> places;
    for (int each = 0; each < holds; ++each) {
        got.push_back(semaphore{one, "permits", holds}.try_acquire());
        held.push_back({got.back()->key(), got.back()->owner(), got.back()->token()});
        places.push_back({held.back().key, held.back().owner});
    }
    const auto with_store = [&](auto&& run) {
        return cost_of([&] {
            db.inner()->use_unchecked([&](connection& on, store_set& stores) {
                run(on, stores.get<holder_store>());
            });
        });
    };
    const auto ask = [&](connection& on, holder_store& of) { of.which_are_held(on, held); };
    const auto look = [&](connection& on, holder_store& of) { of.look(on, places); };
    with_store(ask);
    with_store(look);
    for (const cost& found : {with_store(ask), with_store(look)}) {
        EXPECT_EQ(found.statements, times);
        EXPECT_EQ(found.round_trips, allowed().nothing.round_trips * times);
    }
}

}  // namespace
}  // namespace leasehold::testing
