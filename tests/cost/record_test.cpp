// Records of tasks and of ended jobs, fences of resources, subscribers of queues, and what is done
// in a transaction of the caller's: by keys, however many there are.
#include "cost/suite.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "locks/fence_store.hpp"
#include "locks/hold_store.hpp"
#include "runs/run_store.hpp"

namespace leasehold::testing {
namespace {

class record_cost : public cost_suite {
protected:
    // A run that is under way, and one more that may begin after it.
    static run_claim next_run(const hold& of) {
        const auto later = schedule::instant{} + std::chrono::hours{1};
        return {
            of.key,
            {of.token.number + 1},
            of.owner,
            "cost",
            later,
            std::chrono::microseconds{0},
            true};
    }
};

// A third of the ended jobs.
TEST_P(record_cost, ended_jobs_of_one_queue_and_state) {
    job_filter filter;
    filter.queue = "plain";
    filter.state = job_state::cancelled;
    expect_reads("list of 100", {400, 2'400, 45'000}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<job_queue_store>().list(on, filter, {1'000'000'001}).size(), 100U);
    });
}

TEST_P(record_cost, jobs_by_id) {
    // With statistics of one row SQLite walks to the range from an end of the table.
    const std::int64_t from_the_first_row =
        is_of_one_row() ? 12 * (size().jobs + size().history) : 0;
    for (const job_order order : {job_order::oldest_first, job_order::newest_first}) {
        const bool is_oldest = order == job_order::oldest_first;
        job_filter filter;
        filter.order = order;
        expect_reads(
            is_oldest ? "list, 100" : "list, the newest 100",
            {4 * 100, 8 * 100, 150 * 100 + from_the_first_row},
            [&](connection& on, store_set& stores) {
                EXPECT_EQ(
                    stores.get<job_queue_store>().list(on, filter, {1'000'000'001}).size(), 100U
                );
            }
        );
        expect_reads(
            is_oldest ? "end of a part of 1000" : "end of a part of the newest 1000",
            {4 * 1'000, 8 * 1'000, 30 * 1'000 + from_the_first_row},
            [&](connection& on, store_set& stores) {
                stores.get<job_queue_store>().part_of(on, {1'000'000'001}, order, 1'000);
            }
        );
    }
}

TEST_P(record_cost, runs) {
    const hold held = next_hold();
    expect_reads("look at a run", {3, 4, 200}, [&](connection& on, store_set& stores) {
        const auto seen = stores.get<run_store>().look(on, held.key);
        EXPECT_EQ(seen.last.value().state, run_state::running);
    });
    const run_claim wanted = next_run(held);
    for (const char* what : {"claim of a run", "claim of a run, again"}) {
        expect_reads(what, {4, 4, 150}, [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<run_store>().claim(on, wanted));
        });
    }
    run_claim unseen = wanted;
    unseen.name = key{"unseen/" + identity::random().text()};
    expect_reads("claim of a new task", {4, 8, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<run_store>().claim(on, unseen));
    });
    expect_reads("finish of a run", {1, 1, 100}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(
            stores.get<run_store>().finish(on, {wanted.name, wanted.token, wanted.owner, {}})
        );
    });
    expect_reads("forget a task", {1, 1, 100}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<run_store>().forget(on, unseen.name));
    });
}

TEST_P(record_cost, a_list_of_runs_reads_what_it_lists) {
    for (const char* after : {"", "lock/00000500"}) {
        expect_reads(
            std::string{"list of runs, a page of 1000 after "} + after,
            {3 * 1'000, 3 * 1'000, 100 * 1'000},
            [&](connection& on, store_set& stores) {
                EXPECT_EQ(stores.get<run_store>().list(on, "lock/", after, 1'000).size(), 1'000U);
            }
        );
    }
    expect_reads(
        "list of runs, ten by prefix",
        {3 * 10, 3 * 10, 1'500},
        [&](connection& on, store_set& all) {
            EXPECT_EQ(all.get<run_store>().list(on, "lock/0000123", "", 1'000).size(), 10U);
        }
    );
}

TEST_P(record_cost, fences) {
    const hold held = next_hold();
    expect_reads("highest", {1, 1, 50}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<fence_store>().highest(on, held.key), held.token);
    });
    for (const bool is_too_old : {false, true}) {
        const fencing_token token{held.token.number + (is_too_old ? 0 : 1)};
        expect_reads("admit", {2, 2, 100}, [&](connection& on, store_set& stores) {
            on.begin();
            EXPECT_NE(stores.get<fence_store>().admit(on, held.key, token), is_too_old);
            on.commit();
        });
    }
    const key unseen{"unseen/" + identity::random().text()};
    expect_reads("admit of a new resource", {2, 2, 100}, [&](connection& on, store_set& stores) {
        on.begin();
        EXPECT_TRUE(stores.get<fence_store>().admit(on, unseen, held.token));
        on.commit();
    });
}

TEST_P(record_cost, moving_a_grant_in_the_callers_transaction) {
    const hold held = next_hold();
    expect_reads("enter and move", {2, 4, 100}, [&](connection& on, store_set& stores) {
        on.begin();
        stores.get<hold_store>().enter(on);
        EXPECT_TRUE(stores.get<hold_store>().move(on, held, identity::random()));
        on.commit();
    });
}

TEST_P(record_cost, subscribers_of_some_among_many) {
    run([&](connection& on, store_set& stores) {
        for (int each = 0; each < 500; ++each) {
            stores.get<job_subscriber_store>().add(
                on, {"plain"}, numbered(1), {identity::random(), "here"}
            );
        }
    });
    expect_reads(
        "subscribers, 16",
        {4 * 16, 5 * 16, 100 * 16},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<job_subscriber_store>().list(on, "plain", identity::random(), 16).size(),
                16U
            );
        }
    );
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    record_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
