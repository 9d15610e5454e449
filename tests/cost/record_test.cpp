// Records of tasks, fences of resources, and what is done in a transaction of the caller's: by
// primary keys, however many there are.
#include "cost/suite.hpp"
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

TEST_P(record_cost, runs) {
    const hold held = next_hold();
    expect_reads("look at a run", {3, 4, 200}, [&](connection& on, store& stores) {
        const auto seen = stores.runs->look(on, held.key);
        EXPECT_EQ(seen.last.value().state, run_state::running);
    });
    const run_claim wanted = next_run(held);
    for (const char* what : {"claim of a run", "claim of a run, again"}) {
        expect_reads(what, {4, 4, 150}, [&](connection& on, store& stores) {
            EXPECT_TRUE(stores.runs->claim(on, wanted));
        });
    }
    run_claim unseen = wanted;
    unseen.name = key{"unseen/" + identity::random().text()};
    expect_reads("claim of a new task", {4, 8, 200}, [&](connection& on, store& stores) {
        EXPECT_TRUE(stores.runs->claim(on, unseen));
    });
    expect_reads("finish of a run", {1, 1, 100}, [&](connection& on, store& stores) {
        EXPECT_TRUE(stores.runs->finish(on, {wanted.name, wanted.token, wanted.owner, {}}));
    });
    expect_reads("forget a task", {1, 1, 100}, [&](connection& on, store& stores) {
        EXPECT_TRUE(stores.runs->forget(on, unseen.name));
    });
}

TEST_P(record_cost, a_list_of_runs_reads_what_it_lists) {
    for (const char* after : {"", "lock/00000500"}) {
        expect_reads(
            std::string{"list of runs, a page of 1000 after "} + after,
            {3 * 1'000, 3 * 1'000, 100 * 1'000},
            [&](connection& on, store& stores) {
                EXPECT_EQ(stores.runs->list(on, "lock/", after, 1'000).size(), 1'000U);
            }
        );
    }
    expect_reads("list of runs, ten by prefix", {3 * 10, 3 * 10, 1'500}, [&](auto& on, auto& all) {
        EXPECT_EQ(all.runs->list(on, "lock/0000123", "", 1'000).size(), 10U);
    });
}

TEST_P(record_cost, fences) {
    const hold held = next_hold();
    expect_reads("highest", {1, 1, 50}, [&](connection& on, store& stores) {
        EXPECT_EQ(stores.runs->highest(on, held.key), held.token);
    });
    for (const bool is_too_old : {false, true}) {
        const fencing_token token{held.token.number + (is_too_old ? 0 : 1)};
        expect_reads("admit", {2, 2, 100}, [&](connection& on, store& stores) {
            on.begin();
            EXPECT_NE(stores.runs->admit(on, held.key, token), is_too_old);
            on.commit();
        });
    }
    const key unseen{"unseen/" + identity::random().text()};
    expect_reads("admit of a new resource", {2, 2, 100}, [&](connection& on, store& stores) {
        on.begin();
        EXPECT_TRUE(stores.runs->admit(on, unseen, held.token));
        on.commit();
    });
}

TEST_P(record_cost, moving_a_grant_in_the_callers_transaction) {
    const hold held = next_hold();
    expect_reads("enter and move", {2, 4, 100}, [&](connection& on, store& stores) {
        on.begin();
        stores.holds->enter(on);
        EXPECT_TRUE(stores.holds->move(on, held, identity::random()));
        on.commit();
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    record_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
