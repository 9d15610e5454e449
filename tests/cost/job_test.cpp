// Jobs: the costs of each operation in queues with very many jobs, and beside a long history. A
// claim that sorted would read all that are available.
#include <algorithm>
#include <optional>
#include <set>

#include "cost/suite.hpp"
#include "jobs/job_attempt.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class job_cost : public cost_suite {
protected:
    static job_store& jobs_of(const store_set& of) { return of.get<job_store>(); }
    static job_queue_store& queues_of(const store_set& of) { return of.get<job_queue_store>(); }
    static job_need_store& needs_of(const store_set& of) { return of.get<job_need_store>(); }
    // PostgreSQL reads a table of one page whole: that of the queues, of which there are fewer.
    static constexpr int max_queues = 30;

    static claim_request wants(const char* queue, int max_jobs) {
        return {queue, {}, max_jobs, numbered(1), "cost"};
    }
    std::vector<claimed_job> claimed(const char* queue, int max_jobs) const {
        std::vector<claimed_job> got;
        run([&](connection& on, store_set& stores) {
            got = jobs_of(stores).claim(on, wants(queue, max_jobs)).jobs;
        });
        EXPECT_EQ(std::ssize(got), max_jobs);
        return got;
    }
    static std::vector<job_end> ends_of(
        const std::vector<claimed_job>& jobs, job_step step, const std::string& words = {}
    ) {
        std::vector<job_end> ends;
        for (const claimed_job& each : jobs) {
            ends.push_back(end_after(each, step, 24h, words));
        }
        return ends;
    }
    void expect_reads_of_end(
        const std::string& what,
        const bound& at_most,
        const std::vector<job_end>& ends,
        const job_retention& kept = {}
    ) const {
        expect_reads(what, at_most, [&](connection& on, store_set& stores) {
            const auto done = jobs_of(stores).finish(on, numbered(1), ends, kept);
            EXPECT_EQ(std::count(done.begin(), done.end(), std::nullopt), 0);
        });
    }
    job_id enqueued(const char* queue, const new_job& what) const {
        job_id id = 0;
        run([&](connection& on, store_set& stores) {
            id = jobs_of(stores).enqueue(on, queue, {what}).at(0).id;
        });
        return id;
    }
    std::int64_t promoted(const char* queue, int max_jobs) const {
        std::int64_t count = 0;
        run([&](connection& on, store_set& stores) {
            count = queues_of(stores).promote(on, queue, max_jobs);
        });
        return count;
    }
    std::int64_t pruned(int max_rows) const {
        std::int64_t count = 0;
        run([&](connection& on, store_set& stores) {
            count = queues_of(stores).prune(on, max_rows, 0);
        });
        return count;
    }
    static new_job in_a_year() {
        new_job made;
        made.delay = 24h * 365;
        return made;
    }
};

TEST_P(job_cost, claiming) {
    claimed("plain", 1);
    expect_reads("claim of 1", {8 + max_queues, 20, 800}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(jobs_of(stores).claim(on, wants("plain", 1)).jobs.size(), 1U);
    });
    expect_reads(
        "claim of 100",
        {3 * 100, 12 * 100, 250 * 100},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(jobs_of(stores).claim(on, wants("plain", 100)).jobs.size(), 100U);
        }
    );
    expect_reads(
        "claim of nothing",
        {6 + max_queues, 10, 500},
        [&](connection& on, store_set& stores) {
            EXPECT_TRUE(jobs_of(stores).claim(on, wants("nothing", 100)).jobs.empty());
        }
    );
}

// It came after the statistics were gathered: the planner believes that it is empty.
TEST_P(job_cost, claiming_in_a_queue_that_was_filled_a_moment_ago) {
    for (int each = 0; each < 5; ++each) {
        run([&](connection& on, store_set& stores) {
            jobs_of(stores).enqueue(on, "sudden", std::vector<new_job>(1'000));
        });
    }
    const auto before = ends_of(claimed("sudden", 100), job_step::complete);
    claimed("sudden", 1);  // passes by the entries of those before it
    expect_reads(
        "claim of 10",
        {3 * 10, 12 * 10, 250 * 10},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(jobs_of(stores).claim(on, wants("sudden", 10)).jobs.size(), 10U);
        }
    );
    expect_reads(
        "complete_and_claim, 100",
        {6 * 100, 20 * 100, 600 * 100},
        [&](connection& on, store_set& stores) {
            const auto wanted = wants("sudden", 100);
            const auto both = jobs_of(stores).finish_and_claim(on, numbered(1), before, {}, wanted);
            EXPECT_EQ(both.claimed.jobs.size(), 100U);
        }
    );
}

// It looks at four times as many as it may claim and a hundred more: those may have to wait.
TEST_P(job_cost, claiming_jobs_of_ordering_keys) {
    claimed("keyed", 1);
    expect_reads(
        "claim_in_turn of 10",
        {4 * 140, 12 * 140, 400 * 140},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(jobs_of(stores).claim(on, wants("keyed", 10)).jobs.size(), 10U);
        }
    );
}

// Somebody has a snapshot from before them while thousands of jobs go through: their old rows stay
// for that snapshot. No more than that is passed by (on PostgreSQL an entry for each), and none is
// done twice. On SQLite nobody has one: a transaction there is the one that writes.
TEST_P(job_cost, claiming_beside_an_old_snapshot_reads_what_has_gone_since) {
    const database other = beside();
    const engine which = other.server().engine;
    std::optional<transaction> reading;
    if (which != engine::sqlite) {
        if (which != engine::postgres) {
            other.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
        reading.emplace(other.begin());
        if (which == engine::postgres) {
            reading->execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
        reading->execute("SELECT COUNT(*) FROM leasehold_session");
    }
    constexpr std::int64_t jobs = 3'000, at_once = 100;
    for (int each = 0; each < 4; ++each) {
        run([&](connection& on, store_set& stores) {
            jobs_of(stores).enqueue(on, "observed", std::vector<new_job>(1'000));
        });
    }
    std::set<job_id> done;
    auto mine = claimed("observed", at_once);
    for (std::int64_t gone = 0; gone < jobs; gone += at_once) {
        for (const claimed_job& each : mine) {
            EXPECT_TRUE(done.insert(each.id).second) << each.id << " was claimed twice";
        }
        const auto ends = ends_of(mine, job_step::complete);
        const auto passed = gone + 2 * at_once;
        const auto call = [&](connection& on, store_set& stores) {
            const auto wanted = wants("observed", at_once);
            auto both = jobs_of(stores).finish_and_claim(on, numbered(1), ends, {}, wanted);
            EXPECT_EQ(std::count(both.finished.begin(), both.finished.end(), std::nullopt), 0);
            mine = std::move(both.claimed.jobs);
        };
        if ((gone + at_once) % 1'000 == 0) {
            expect_reads(
                "complete_and_claim, 100, after " + std::to_string(gone + at_once),
                {2 * passed + 6 * at_once, 20 * at_once, 600 * at_once},
                call
            );
        } else {
            run(call);
        }
        EXPECT_EQ(std::ssize(mine), at_once);
    }
    if (reading) reading->rollback();
    EXPECT_EQ(std::ssize(done), jobs);
}

TEST_P(job_cost, claiming_where_a_limit_is_reads_what_runs) {
    run([&](connection& on, store_set& stores) {
        queue_limits limits;
        limits.max_running = 10'000;
        queues_of(stores).set_limits(on, "crowded", limits);
    });
    claimed("crowded", 1);
    const std::int64_t running = crowded_jobs + 10 * dead_sessions + 20;
    expect_reads(
        "claim_in_turn of 10 beside what runs",
        {2 * running + 3 * 140, 3 * running + 12 * 140, 40 * running + 400 * 140},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(jobs_of(stores).claim(on, wants("crowded", 10)).jobs.size(), 10U);
        }
    );
}

TEST_P(job_cost, ending) {
    expect_reads_of_end(
        "complete, 1", {4, 12, 700}, ends_of(claimed("plain", 1), job_step::complete)
    );
    expect_reads_of_end(
        "complete, 100",
        {3 * 100, 8 * 100, 300 * 100},
        ends_of(claimed("plain", 100), job_step::complete)
    );
    const job_retention kept{24h, 24h, 24h, 24h};
    expect_reads_of_end(
        "complete, 100 that are kept",
        {5 * 100, 16 * 100, 600 * 100},
        ends_of(claimed("plain", 100), job_step::complete, "result"),
        kept
    );
    expect_reads_of_end(
        "fail, 100",
        {5 * 100, 16 * 100, 600 * 100},
        ends_of(claimed("plain", 100), job_step::fail, "error"),
        kept
    );
    expect_reads_of_end(
        "complete, 10 of keys",
        {20 * 10, 40 * 10, 1'500 * 10},
        ends_of(claimed("keyed", 10), job_step::complete)
    );
}

TEST_P(job_cost, ending_and_claiming) {
    const auto ends = ends_of(claimed("plain", 100), job_step::complete);
    expect_reads(
        "complete_and_claim, 100",
        {6 * 100, 20 * 100, 600 * 100},
        [&](connection& on, store_set& stores) {
            const auto wanted = wants("plain", 100);
            const auto both = jobs_of(stores).finish_and_claim(on, numbered(1), ends, {}, wanted);
            EXPECT_EQ(std::count(both.finished.begin(), both.finished.end(), std::nullopt), 0);
            EXPECT_EQ(both.claimed.jobs.size(), 100U);
        }
    );
}

TEST_P(job_cost, asking_about_claims) {
    const auto got = claimed("plain", 100);
    std::vector<job_claim> held;
    for (const claimed_job& each : got) held.push_back({each.id, each.token});
    expect_reads(
        "standings, 100",
        {2 * 100, 3 * 100, 120 * 100},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                jobs_of(stores).standings(on, numbered(1), held).back(), claim_standing::held
            );
        }
    );
    expect_reads("note_progress", {2, 4, 300}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(jobs_of(stores).note_progress(on, numbered(1), got[0].id, got[0].token, "half")
        );
    });
    expect_reads("save_checkpoint", {2, 4, 300}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(jobs_of(stores).save_checkpoint(on, numbered(1), held[0], "half"));
    });
    expect_reads("find_claims", {2'000, 4'000, 40'000}, [&](connection& on, store_set& stores) {
        EXPECT_GE(jobs_of(stores).find_claims(on, "plain", numbered(1)).size(), 100U);
    });
}

TEST_P(job_cost, enqueuing) {
    expect_reads("insert of 1", {2, 6, 500}, [&](connection& on, store_set& stores) {
        jobs_of(stores).enqueue(on, "plain", {new_job{}});
    });
    expect_reads(
        "insert of 1000",
        {10, 2'000, 300 * 1'000},
        [&](connection& on, store_set& stores) {
            jobs_of(stores).enqueue(on, "plain", std::vector<new_job>(1'000));
        }
    );
    std::vector<new_job> keyed(100);
    for (std::size_t each = 0; each < keyed.size(); ++each) {
        keyed[each].ordering_key = "key/0000" + std::to_string(1'000 + each * 5 / 10 * 10);
    }
    expect_reads(
        "insert of 100 of keys",
        {4 * 100, 12 * 100, 600 * 100},
        [&](connection& on, store_set& stores) { jobs_of(stores).enqueue(on, "keyed", keyed); }
    );
    new_job unique = in_a_year();
    unique.unique_key = "unique";
    enqueued("plain", unique);
    expect_reads("insert that finds its key", {6, 12, 800}, [&](connection& on, store_set& stores) {
        EXPECT_FALSE(jobs_of(stores).enqueue(on, "plain", {unique}).at(0).is_new);
    });
    unique.conflict = on_conflict::replace;
    expect_reads("insert that replaces", {8, 20, 1'000}, [&](connection& on, store_set& stores) {
        EXPECT_FALSE(jobs_of(stores).enqueue(on, "plain", {unique}).at(0).is_new);
    });
}

TEST_P(job_cost, looking_and_promoting) {
    // The first call to walk an index passes by the entries of rows that are not there any more.
    run([](connection& on, store_set& stores) {
        queues_of(stores).look(on, {"plain", "keyed", "nothing"});
    });
    expect_reads(
        "look at 3",
        {5 * 3 + max_queues, 9 * 3, 300 * 3},
        [&](connection& on, store_set& stores) {
            const auto seen = queues_of(stores).look(on, {"plain", "keyed", "nothing"});
            EXPECT_TRUE(seen[0].has_available && seen[0].next_due_in);
        }
    );
    expect_reads(
        "promote 100",
        {4 * 100, 14 * 100, 500 * 100},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(queues_of(stores).promote(on, "plain", 100), 100);
        }
    );
    expect_reads("promote nothing", {4, 10, 300}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).promote(on, "keyed", 100), 0);
    });
    expect_reads("begin_maintenance", {4, 8, 400}, [&](connection& on, store_set& stores) {
        queues_of(stores).begin_maintenance(on, "plain", 1h);
    });
}

TEST_P(job_cost, rescuing_reads_what_runs) {
    const std::int64_t running = crowded_jobs + 10 * dead_sessions + 40;
    expect_reads(
        "rescue of 20 beside what runs",
        {3 * running + 8 * 20, 4 * running + 20 * 20, 80 * running + 1'000 * 20},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(queues_of(stores).rescue(on, "crowded", 20, {}).rescued, 20);
        }
    );
    expect_reads("rescue where nothing runs", {6, 8, 300}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).rescue(on, "nothing", 20, {}).rescued, 0);
    });
}

TEST_P(job_cost, unblocking) {
    blocked_place place;
    for (const char* which : {"first", "next"}) {
        expect_reads(
            std::string("unblock, the ") + which + " 100",
            {10 * 100, 16 * 100, 500 * 100},
            [&](connection& on, store_set& stores) {
                queues_of(stores).unblock(on, "keyed", 100, place);
                EXPECT_FALSE(place.is_beginning());
            }
        );
    }
}

TEST_P(job_cost, managing) {
    const job_id id = enqueued("plain", in_a_year());
    expect_reads("describe", {4, 10, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(queues_of(stores).describe(on, id));
    });
    expect_reads("change", {4, 10, 500}, [&](connection& on, store_set& stores) {
        const job_changes later{.payload = "other", .delay = 24h * 300};
        EXPECT_EQ(queues_of(stores).change(on, id, later), job_change_outcome::changed);
    });
    expect_reads("retry of one that waits", {6, 12, 600}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).retry(on, id), retry_outcome::available);
    });
    expect_reads("cancel", {8, 20, 900}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).cancel(on, id, 24h), cancel_outcome::cancelled);
    });
    expect_reads(
        "retry of one that has ended",
        {10, 30, 1'200},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(queues_of(stores).retry(on, id), retry_outcome::redriven);
        }
    );
    run([&](connection& on, store_set& stores) { queues_of(stores).cancel(on, id, 24h); });
    expect_reads("remove", {4, 10, 500}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).remove(on, id), delete_outcome::deleted);
    });
    run([](connection& on, store_set& stores) { queues_of(stores).queue_names(on); });
    expect_reads("queue_names", {40, 80, 3'000}, [&](connection& on, store_set& stores) {
        EXPECT_GE(queues_of(stores).queue_names(on).size(), 3U);
    });
    expect_reads("find_queue", {2, 4, 100}, [&](connection& on, store_set& stores) {
        queues_of(stores).find_queue(on, "crowded");
    });
}

TEST_P(job_cost, pruning) {
    expect_reads(
        "prune 100",
        {4 * 100, 10 * 100, 300 * 100 + (is_of_one_row() ? 8 * size().history : 0)},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(queues_of(stores).prune(on, 100, 0), 100);
        }
    );
}

// ---- questions that need few rows, whatever else there is

// One job needs twenty thousand; those that have ended are in the history, or nowhere.
TEST_P(job_cost, needs_of_one_job_that_needs_very_many) {
    constexpr job_id ended = 1'000'000'001;
    constexpr int needs = 20'000, part = 100;
    new_job never;
    never.run_at = job_need_store::never;
    const job_id waits = enqueued("plain", never);
    run([&](connection& on, store_set& stores) {
        std::vector<job_need> all;
        for (int each = 0; each < needs; ++each) all.push_back({waits, ended + each, {}});
        all.push_back({waits, waits - 1, dependency_until::completed});
        on.begin();
        needs_of(stores).add(on, all);
        on.commit();
    });
    std::vector<job_id> ids;
    for (int each = 0; each < part; ++each) ids.push_back(ended + each);
    std::vector<job_need_over> over;
    expect_reads(
        "needs over, 100",
        {4 * part, 9 * part, 150 * part},
        [&](connection& on, store_set& stores) {
            over = needs_of(stores).over(on, ids);
            EXPECT_EQ(over.size(), std::size_t{part});
        }
    );
    expect_reads(
        "forget, 100",
        {4 * part, 6 * part, 300 * part},
        [&](connection& on, store_set& stores) {
            on.begin();
            needs_of(stores).forget(on, over);
            on.commit();
        }
    );
    const auto free = [&](connection& on, store_set& stores) {
        EXPECT_EQ(needs_of(stores).free(on, {waits}), 0) << "it waits for others still";
    };
    run(free);  // passes by the entries of what is gone
    expect_reads("free, one that waits still", {8, 16, 500}, free);
    need_place place;
    expect_reads(
        "needs looked at in turn, 100",
        {4 * 100, 8 * 100, 150 * 100},
        [&](connection& on, store_set& stores) {
            EXPECT_GE(needs_of(stores).over_behind(on, place).size(), 90U);
        }
    );
    job_id behind = 0;
    expect_reads("who was left waiting", {8, 16, 500}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(needs_of(stores).left_waiting(on, "plain", behind).empty());
    });
    expect_reads("what waits for it", {6, 9, 250}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(needs_of(stores).needed_by(on, waits - 1, 100), std::vector{waits});
    });
    expect_reads("whether it is needed", {4, 6, 200}, [&](connection& on, store_set& stores) {
        EXPECT_FALSE(needs_of(stores).is_needed(on, waits));
    });
}

// This test is the last: behind it nothing is due, and no job's time is over. A row that is neither
// is not read.
TEST_P(job_cost, what_is_not_due_is_not_read) {
    while (promoted("plain", 1'000) == 1'000) continue;
    while (pruned(1'000) == 1'000) continue;
    promoted("plain", 100);
    pruned(100);
    expect_reads("promote none of many", {4, 10, 300}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).promote(on, "plain", 100), 0);
    });
    expect_reads("prune none of many", {4, 10, 300}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(queues_of(stores).prune(on, 100, 0), 0);
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    job_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
