// Clean-up: a step reads a step's rows, and as many sessions, however much there is of either.
#include "cost/suite.hpp"
#include "database/schema_store.hpp"
#include "session/upkeep_store.hpp"
#include "support/clean_up.hpp"

namespace leasehold::testing {
namespace {

using upkeep_cost = cost_suite;

constexpr upkeep_task tasks[] = {
    upkeep_task::dead_locks,
    upkeep_task::dead_holders,
    upkeep_task::dead_waiters,
    upkeep_task::old_sessions,
    upkeep_task::idle_locks};
constexpr std::chrono::hours long_ago{1000};

std::string words_for(const char* operation, upkeep_task task) {
    return std::string{operation} + ", task " + std::to_string(static_cast<int>(task));
}

// PostgreSQL reads and sorts three times the rows of a step where it believes that there are no
// more: it takes a third of the rows for those behind a place.
TEST_P(upkeep_cost, a_look_reads_its_rows_and_as_many_sessions) {
    constexpr int rows = 1000;
    for (const upkeep_task task : tasks) {
        std::string place;
        for (int step = 0; step < 2; ++step) {  // from the beginning, and from somewhere
            expect_reads(
                words_for("look", task),
                {is_fresh() ? 2 * rows + 50 : 3 * rows + 100, 2 * rows + 50, 60 * rows},
                [&](connection& on, store_set& stores) {
                    place = stores.get<upkeep_store>().look(on, task, place, rows, long_ago).place;
                }
            );
        }
    }
}

// The rows live, so that nothing is cleared that another test needs: as much is read.
TEST_P(upkeep_cost, clearing_reads_some_rows_for_each) {
    constexpr int rows = 50;
    for (const upkeep_task task : tasks) {
        std::vector<std::string> places;
        std::string place;
        run([&](connection& on, store_set& stores) {
            for (int each = 0; each < rows; ++each) {
                place = stores.get<upkeep_store>().look(on, task, place, 1, long_ago).place;
                places.push_back(place);
            }
        });
        expect_reads(
            words_for("clear", task),
            {10 * 64, 10 * rows, 400 * rows},
            [&](connection& on, store_set& stores) {
                stores.get<upkeep_store>().clear(on, task, places, long_ago);
            }
        );
    }
}

TEST_P(upkeep_cost, whose_turn_it_is_is_one_row) {
    const auto task = upkeep_task::dead_locks;
    upkeep_progress at;
    expect_reads("progress", {10, 20, 400}, [&](connection& on, store_set& stores) {
        at = progress_of(on, stores, task);
    });
    expect_reads("begin_turn, refused", {10, 20, 400}, [&](connection& on, store_set& stores) {
        upkeep_progress other = at;
        ++other.turn;
        EXPECT_FALSE(stores.get<upkeep_store>().begin_turn(on, other, long_ago));
    });
    expect_reads("begin_turn", {20, 20, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<upkeep_store>().begin_turn(on, at, std::chrono::microseconds{0}));
    });
    ++at.turn;
    expect_reads("advance", {20, 20, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<upkeep_store>().advance(on, at, {}, false));
    });
}

INSTANTIATE_TEST_SUITE_P(by_plan, upkeep_cost, ::testing::ValuesIn(filled::plans()));

}  // namespace
}  // namespace leasehold::testing
