// What each operation costs: DESIGN.md, "Budgets". Exact numbers, so that what becomes cheaper is
// noticed as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "budget/meter.hpp"
#include "session/database.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr int times = 10;

class budget_test : public ::testing::Test {
protected:
    void SetUp() override {
        // One statement counts as one, or nothing below means anything.
        const database db = meter_.open();
        select_1(db);
        expect_cost("SELECT 1", allowed().nothing, [&] { select_1(db); });
    }

    static session_settings calm(const char* name) {
        session_settings settings;
        settings.name = name;
        settings.ttl = 1h;
        settings.reap_every = 0ms;
        return settings;
    }

    static void select_1(const database& db) {
        db.inner()->use_unchecked([](connection& on, store&) { on.execute("SELECT 1"); });
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

    // Runs it so many times; what all of that cost.
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
        RecordProperty(what, ::testing::PrintToString(found));
        std::cout << what << ": " << found << " in " << count << "\n";
    }

    // The least that writes() grew by in any of many windows around one run: what others do at the
    // same time can only add to it.
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

    // What most of many windows agree on: others can add flushes to some, and save us some by
    // flushing ours with theirs.
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
    expect_cost("grant of a new key", allowed().new_grant, take_a_new_key);
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
    EXPECT_EQ(least_writes(refused), 0);
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

TEST_F(budget_test, a_grant_waits_for_one_flush_and_a_release_for_none) {
    if (!meter::counts_flushes()) return;  // a promise about PostgreSQL alone
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

// However much it holds.
class heartbeat_budget : public budget_test, public ::testing::WithParamInterface<int> {};

TEST_P(heartbeat_budget, a_heartbeat_is_one_statement_of_one_row) {
    constexpr auto every = 200ms;
    constexpr std::int64_t beats_wanted = 10;
    session_settings settings = calm("beating");
    settings.ttl = 30s;
    settings.heartbeat_every = every;
    const database db = meter_.open();
    session one{db, settings};
    std::vector<acquisition> held;
    for (int each = 0; each < GetParam(); ++each) {
        held.push_back(mutex{one, "k" + std::to_string(each)}.try_acquire());
        ASSERT_TRUE(held.back());
    }
    // Between two heartbeats: right after one was answered.
    const auto between_two = [&] {
        const auto seen = one.deadline();
        EXPECT_TRUE(eventually([&] { return one.deadline() != seen; }));
        return settled();
    };
    const cost before = between_two();
    const auto from = local_clock::now();
    cost found;
    EXPECT_TRUE(eventually([&] {
        found = between_two() - before;
        return found.rows >= beats_wanted;
    }));
    const auto beats = found.rows;
    EXPECT_EQ(found, allowed().heartbeat * beats) << "with " << GetParam() << " leases";
    EXPECT_LE(beats, (local_clock::now() - from) / every + 1);
    std::cout << "heartbeats with " << GetParam() << " leases: " << found << "\n";
    for (auto& each : held) EXPECT_TRUE(each->held_locally());
}

INSTANTIATE_TEST_SUITE_P(with, heartbeat_budget, ::testing::Values(1, 100));

TEST_F(budget_test, a_proof_is_one_statement_in_the_callers_transaction) {
    const database db = meter_.open();
    session one{db, calm("one")};
    auto held = mutex{one, "k"}.try_acquire();
    ASSERT_TRUE(held);
    transaction tx = db.begin();
    expect_cost(
        "first proof", allowed().proof, [&] { held->verify_in(tx); }, 1
    );
    expect_cost("proof", allowed().proof, [&] { held->verify_in(tx); });
    tx.commit();
}

}  // namespace
}  // namespace leasehold::testing
