// Claims on PostgreSQL, whatever its planner believes of the table and may do: a LIMIT in a
// subquery that a join runs again for each row is passed, and more is claimed than was asked for.
#include <map>

#include "conformance/job_suite.hpp"
#include "leasehold/migrate.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

// The settings of the planner, and the table of which it has statistics.
struct belief {
    const char* settings;
    bool of_an_empty_table;
};

void PrintTo(const belief& what, std::ostream* out) {
    *out << what.settings << (what.of_an_empty_table ? " of none" : " of many");
}

// Tables of its own, on which no server gathers statistics by itself.
class job_plans_suite : public ::testing::TestWithParam<belief> {
protected:
    static constexpr int jobs_ = 400;

    job_plans_suite() {
        migrate(db_);
        for (const char* table : {"job", "queue", "session", "job_history"}) {
            db_.execute("ALTER TABLE " + prefix_ + table + " SET (autovacuum_enabled = false)");
        }
        if (!GetParam().of_an_empty_table) enqueue({});
        for (const char* table : {"job", "queue", "session"}) {
            db_.execute("ANALYZE " + prefix_ + table);
        }
        if (!GetParam().of_an_empty_table) db_.execute("DELETE FROM " + prefix_ + "job");
    }
    ~job_plans_suite() override {
        db_.execute("DELETE FROM " + prefix_ + "session");
        migrate_down(db_, 0);
    }

    void enqueue(const new_job& what) const {
        with_stores(db_, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().enqueue(on, queue_, std::vector(jobs_, what));
        });
    }
    // Uses a connection with the settings of this test, whichever connection it is.
    template <class Use>
    static auto with_belief(const worker& who, Use&& use) {
        return with_stores(who.db, [&](connection& on, store_set& stores) {
            on.execute_script(GetParam().settings);
            return use(on, stores.get<job_store>());
        });
    }
    std::vector<claimed_job> claim(const worker& who, int max_jobs) const {
        auto got = with_belief(who, [&](connection& on, job_store& jobs) {
            return jobs.claim(on, who.wants(max_jobs, kinds_)).jobs;
        });
        EXPECT_LE(std::ssize(got), max_jobs);
        return got;
    }
    // Two workers claim side by side. Returns the number of claims of each job.
    std::map<job_id, int> claim_all(int max_jobs, int wanted) const {
        std::mutex guarding;
        std::map<job_id, int> claimed;
        const auto is_done = [&] {
            const std::lock_guard guard{guarding};
            return std::ssize(claimed) >= wanted;
        };
        std::vector<thread> threads;
        for (int each = 0; each < 2; ++each) {
            threads.emplace_back([&] {
                const worker mine{open(), queue_};
                std::vector<job_end> ends;
                const auto step = [&] {
                    const auto both = with_belief(mine, [&](connection& on, job_store& jobs) {
                        const auto wants = mine.wants(max_jobs, kinds_);
                        return jobs.finish_and_claim(on, mine.mine.id(), ends, mine.kept, wants);
                    });
                    EXPECT_LE(std::ssize(both.claimed.jobs), max_jobs);
                    EXPECT_EQ(stood(both.finished), std::vector<bool>(ends.size(), true));
                    ends.clear();
                    const std::lock_guard guard{guarding};
                    for (const claimed_job& job : both.claimed.jobs) {
                        ++claimed[job.id];
                        ends.push_back(end_of(job, job_step::complete));
                    }
                    return ends.empty();
                };
                EXPECT_TRUE(eventually([&] { return step() && is_done(); }, 60s));
            });
        }
        threads.clear();
        return claimed;
    }

    database open() const { return current().open_with_prefix(prefix_, nullptr); }

    const std::string prefix_ = fresh_prefix();
    const std::string queue_ = "queue";
    std::vector<std::string> kinds_{};  // that are claimed; none: all
    const database db_ = open();
};

TEST_P(job_plans_suite, no_more_are_claimed_than_asked_for_and_each_by_one) {
    enqueue({});
    {
        const worker one{db_, queue_}, two{open(), queue_};
        const auto first = claim(one, 3), second = claim(two, 3), third = claim(one, 1);
        EXPECT_EQ(first.size(), 3U);
        EXPECT_EQ(second.size(), 3U);
        EXPECT_EQ(third.size(), 1U);
        std::set<job_id> all;
        for (const auto* each : {&first, &second, &third}) {
            for (const claimed_job& job : *each) all.insert(job.id);
        }
        EXPECT_EQ(all.size(), 7U);
    }
    const auto claimed = claim_all(5, jobs_ - 7);
    EXPECT_EQ(std::ssize(claimed), jobs_ - 7);
    for (const auto& [id, times] : claimed) EXPECT_EQ(times, 1) << id;
}

TEST_P(job_plans_suite, nor_where_kinds_are_named) {
    for (const char* const kind : {"nobody", "one", "other"}) {
        new_job what;
        what.kind = kind;
        enqueue(what);
    }
    kinds_ = {"other", "one"};
    {
        const worker one{db_, queue_}, two{open(), queue_};
        EXPECT_EQ(claim(one, 3).size(), 3U);
        EXPECT_EQ(claim(two, 1).size(), 1U);
    }
    const auto claimed = claim_all(5, 2 * jobs_ - 4);
    EXPECT_EQ(std::ssize(claimed), 2 * jobs_ - 4);
    for (const auto& [id, times] : claimed) EXPECT_EQ(times, 1) << id;
}

TEST_P(job_plans_suite, nor_where_they_are_claimed_in_turn) {
    enqueue({});
    with_stores(db_, [&](connection& on, store_set& stores) {
        queue_limits limits;
        limits.max_running = 6;
        stores.get<job_queue_store>().set_limits(on, queue_, limits);
        return true;
    });
    {
        const worker one{db_, queue_}, two{open(), queue_};
        const auto first = claim(one, 4), second = claim(two, 4);
        EXPECT_EQ(first.size(), 4U);
        EXPECT_EQ(second.size(), 2U);
        std::vector<job_end> ends;
        for (const claimed_job& job : first) ends.push_back(end_of(job, job_step::complete));
        EXPECT_EQ(one.finish_all(ends), std::vector<bool>(4, true));
        ends.clear();
        for (const claimed_job& job : second) ends.push_back(end_of(job, job_step::complete));
        EXPECT_EQ(two.finish_all(ends), std::vector<bool>(2, true));
    }
    const auto claimed = claim_all(5, jobs_ - 6);
    EXPECT_EQ(std::ssize(claimed), jobs_ - 6);
    for (const auto& [id, times] : claimed) EXPECT_EQ(times, 1) << id;
}

constexpr const char* generic = "SET plan_cache_mode = force_generic_plan";
constexpr const char* no_index =
    "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off";
constexpr const char* loops =
    "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; "
    "SET enable_seqscan = off";
constexpr const char* loops_without_index =
    "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; "
    "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off";
constexpr const char* merges =
    "SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_hashagg = off";

INSTANTIATE_TEST_SUITE_P(
    beliefs,
    job_plans_suite,
    ::testing::Values(
        belief{generic, true},
        belief{no_index, true},
        belief{loops, true},
        belief{loops, false},
        belief{loops_without_index, true},
        belief{loops_without_index, false},
        belief{merges, true},
        belief{merges, false}
    )
);

}  // namespace
}  // namespace leasehold::testing
