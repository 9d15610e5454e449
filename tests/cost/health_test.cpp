// The doctor's questions, and the counts of holds and waiters: a question about a whole table reads
// it once, and a question about one key, session or queue reads some rows.
#include "admin/health_store.hpp"
#include "cost/suite.hpp"
#include "locks/holder_store.hpp"
#include "runs/run_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class health_cost : public cost_suite {
protected:
    // So many rows of each table, and besides.
    bound of_all(const bound& of_locks, const bound& of_sessions, const bound& besides) const {
        const std::int64_t locks = size().locks, sessions = size().sessions;
        return {
            of_locks.postgres * locks + of_sessions.postgres * sessions + besides.postgres,
            of_locks.mysql * locks + of_sessions.mysql * sessions + besides.mysql,
            of_locks.sqlite * locks + of_sessions.sqlite * sessions + besides.sqlite};
    }
};

// At least those of fill(): other tests begin some more.
TEST_P(health_cost, sessions_are_counted_in_one_pass) {
    expect_reads(
        "count_sessions",
        of_all({0, 0, 0}, {1, 1, 40}, {50, 50, 5'000}),
        [&](connection& on, store_set& stores) {
            EXPECT_GE(stores.get<health_store>().count_sessions(on).live, size().sessions);
        }
    );
}

// Half of the locks are held. PostgreSQL reads the sessions once, or the one of each lock.
TEST_P(health_cost, long_holds_read_the_locks_and_the_sessions_of_those_held) {
    constexpr int limit = 5;
    expect_reads(
        "long_holds, all that are held",
        of_all({is_of_one_row() ? 3 : 2, 3, 40}, {2, 0, 0}, {500, 500, 50'000}),
        [&](connection& on, store_set& stores) {
            const auto all = stores.get<health_store>().long_holds(on, 1us, limit);
            ASSERT_EQ(all.size(), 5U);
            EXPECT_GE(all[0].holds, size().locks / 2);
        }
    );
    expect_reads(
        "long_holds, none",
        of_all({1, 2, 5}, {1, 0, 0}, {500, 500, 20'000}),
        [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<health_store>().long_holds(on, 24h, limit).empty());
        }
    );
}

TEST_P(health_cost, holds_of_the_dead_read_the_locks_and_the_sessions) {
    expect_reads(
        "dead_holds, none",
        of_all({2, 2, 15}, {0, 0, 0}, {500, 500, 20'000}),
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<health_store>().dead_holds(on, 1h), 0);
        }
    );
}

TEST_P(health_cost, one_session_and_one_key_are_some_rows) {
    const key held = next_hold().key;
    expect_reads("session_of", {4, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<health_store>().session_of(on, numbered(7)));
    });
    expect_reads("closed_for", {6, 6, 300}, [&](connection& on, store_set& stores) {
        EXPECT_FALSE(stores.get<health_store>().closed_for(on, held));
    });
}

// The queues are three, however many jobs are in them.
TEST_P(health_cost, queues_are_some_rows_each) {
    expect_reads("waiting_queues", {60, 100, 3'000}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().waiting_queues(on, 0us).size(), 3U);
    });
}

// A third of the history was discarded, in one queue: however many those are.
TEST_P(health_cost, ended_jobs_are_read_up_to_a_bound) {
    expect_reads("usual_time", {120, 220, 3'000}, [](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<health_store>().usual_time(on, "plain"));
    });
    expect_reads("discarded", {1'200, 3'200, 30'000}, [](connection& on, store_set& stores) {
        const auto all = stores.get<health_store>().discarded(on, 24h * 365, 1'000);
        ASSERT_EQ(all.size(), 1U);
        EXPECT_EQ(all[0].count, 1'000);
    });
    expect_reads("discarded, a few", {130, 160, 3'000}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().discarded(on, 24h * 365, 20).at(0).count, 20);
    });
    expect_reads("discarded_of", {1'100, 2'100, 30'000}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().discarded_of(on, "plain", 24h * 365, 1'000), 1'000);
    });
}

// The doctor asks for a page of a thousand.
TEST_P(health_cost, runs_and_schedules_are_read_up_to_a_bound) {
    expect_reads("a thousand runs", {3'100, 3'100, 100'000}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<run_store>().list(on, "", "", 1'000).size(), 1'000U);
    });
}

TEST_P(health_cost, shared_keys_read_the_holders_and_their_sessions) {
    constexpr int limit = 5;
    const std::int64_t holders = size().holders + 2, sessions = size().sessions + dead_sessions;
    const bound once{holders + sessions, 3 * holders + 20, 60 * holders + 1'000};
    expect_reads("long_shares, none", once, [](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<health_store>().long_shares(on, 24h, limit).empty());
    });
    expect_reads("dead_shares, none", once, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().dead_shares(on, 1h), 0);
    });
    const bound twice{4 * holders + 2 * sessions, 9 * holders + 60, 180 * holders + 3'000};
    expect_reads("long_shares", twice, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().long_shares(on, 1us, limit).size(), 2U);
    });
}

// Holds and waiters are counted below a prefix: of all keys, of a hundred, of one semaphore.
TEST_P(health_cost, holds_and_waiters_are_counted_in_their_range_alone) {
    const std::int64_t sessions = 3 * size().sessions;  // PostgreSQL: once for each of the three
    const auto count = [&](const std::string& prefix, lock_counts& found) {
        return [&found, prefix](connection& on, store_set& stores) {
            found = stores.get<holder_store>().count(on, prefix);
        };
    };
    lock_counts found;
    std::string hundred = lock_key(size().locks / 2).name();
    hundred.resize(hundred.size() - 2);
    expect_reads("count of 100 keys", {300 + sessions, 400, 8'000}, count(hundred, found));
    EXPECT_EQ(found.keys, 50);
    const std::int64_t holders = size().holders;
    expect_reads(
        "count of a semaphore",
        {3 * holders + 100 + sessions, 4 * holders + 100, 60 * holders + 2'000},
        count("crowded", found)
    );
    EXPECT_GE(found.holders, holders);
    const std::int64_t waiters = size().waiters;
    expect_reads(
        "count of a queue",
        {3 * waiters + 100 + sessions, 4 * waiters + 100, 60 * waiters + 2'000},
        count("queued", found)
    );
    EXPECT_EQ(found.waiters, waiters);
    expect_reads("count of nothing", {100 + sessions, 50, 2'000}, count("nothing", found));
}

INSTANTIATE_TEST_SUITE_P(by_plan, health_cost, ::testing::ValuesIn(filled::plans()));

}  // namespace
}  // namespace leasehold::testing
