// Schedules: a look reads what it answers with, however many schedules there are.
#include <chrono>

#include "cost/suite.hpp"
#include "jobs/job_schedule_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using schedule_cost = cost_suite;

TEST_P(schedule_cost, schedules_that_are_due_among_many) {
    constexpr int others = 2'000;
    schedule::instant last;
    run([&](connection& on, store_set& stores) {
        const auto now =
            std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
        for (int each = 0; each < others + 3; ++each) {
            job_schedule_row row;
            const bool is_due = each >= others;
            row.is_paused = each < others / 2;
            row.what.name = "schedule " + std::to_string(each);
            row.what.queue = is_due ? "plain" : "keyed";
            row.what.every = 24h;
            row.next = is_due ? now - 1min : now + 24h;
            stores.get<job_schedule_store>().put(on, row);
        }
    });
    expect_reads(
        "due schedules, 3",
        {4 * 3, 4 * 3, 200 * 3},
        [&](connection& on, store_set& stores) {
            const auto due = stores.get<job_schedule_store>().due(on, "plain", {}).rows;
            EXPECT_EQ(due.size(), 3U);
            last = due.back().next;
        }
    );
    expect_reads("due schedules, none", {4, 8, 300}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<job_schedule_store>().due(on, "keyed", {}).rows.empty());
    });
    expect_reads("the next fire time", {3, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<job_schedule_store>().next_in(on, "keyed", schedule::instant::min())
        );
    });
    expect_reads("the next fire time, none", {3, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_FALSE(stores.get<job_schedule_store>().next_in(on, "plain", last));
    });
    job_schedule_row found;
    expect_reads("find a schedule", {3, 4, 200}, [&](connection& on, store_set& stores) {
        found = stores.get<job_schedule_store>().find(on, "schedule 7").rows.at(0);
    });
    expect_reads("advance a schedule", {6, 8, 300}, [&](connection& on, store_set& stores) {
        on.begin();
        EXPECT_TRUE(stores.get<job_schedule_store>().advance(on, found));
        on.commit();
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    schedule_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
