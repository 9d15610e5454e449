// The history of grants: a list reads what it lists, and an end of a grant is as cheap among very
// many.
#include "admin/history_store.hpp"
#include "cost/suite.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/upkeep_store.hpp"

namespace leasehold::testing {
namespace {

class history_cost : public cost_suite {};

TEST_P(history_cost, a_list_reads_what_it_lists) {
    const std::int64_t latest = is_fresh() ? 101 : 61'000;  // see history.sql
    expect_reads("the latest 100", {latest, 101, 6'000}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<history_store>().list(on, {.limit = 100}).size(), 100U);
    });
    const key busy{"busy"};
    expect_reads("100 of a busy key", {101, 101, 6'000}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<history_store>().list_of(on, busy, {.limit = 100}).size(), 100U);
    });
    expect_reads("of a key with one", {2, 2, 150}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<history_store>().list_of(on, lock_key(1), {}).size(), 1U);
    });
    expect_reads("whether it is on", {8, 100, 400}, [](connection& on, store_set& stores) {
        EXPECT_FALSE(stores.get<history_store>().status(on).is_broken);
    });
}

TEST_P(history_cost, what_is_removed_is_found_by_its_end) {
    const auto keep = [&](const char* microseconds) {
        run([&](connection& on, store_set&) {
            on.execute(
                std::string{"UPDATE leasehold_grant_history_rule SET keep = "} + microseconds
            );
        });
    };
    keep("3600000000");
    expect_reads("nothing to remove", {2, 3, 150}, [](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<upkeep_store>().prune_history(on, 100), 0);
    });
    keep("30000000");
    expect_reads(
        "100 to remove",
        {2 * 100 + 2, 102, 15'000},
        [](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<upkeep_store>().prune_history(on, 100), 100);
        }
    );
    keep("2592000000000");
}

// As many as without, and the session and the row that is written.
TEST_P(history_cost, an_end_that_is_written_down) {
    run([](connection& on, store_set& stores) { stores.get<history_store>().start(on, {}); });
    // The first one finds what the triggers are.
    const hold first = next_hold(), held = next_hold();
    run([&](connection& on, store_set& stores) { stores.get<hold_store>().release(on, first); });
    expect_reads("a release", {6, 8, 300}, [&](connection& on, store_set& stores) {
        stores.get<hold_store>().release(on, held);
    });
    run([&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<history_store>().list_of(on, held.key, {}).front().token, held.token);
        stores.get<history_store>().stop(on);
        // Without the triggers the tables are opened anew, which is no cost of the next caller.
        const holder_request wanted{
            .key = key{"opens the tables"},
            .owner = owner_id::random(),
            .session = numbered(1),
            .node_info = "cost",
            .instead_of = {}};
        stores.get<holder_store>().try_acquire(on, wanted);
        stores.get<holder_store>().release_owner(on, wanted.key, wanted.owner);
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    history_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
