// The clean-up where one row takes all the time there is: it goes on behind it. On the model, whose
// statements can be made to fail, and to take their time.
#include <string>
#include <string_view>
#include <vector>

#include "database/database.hpp"
#include "leasehold/reaper.hpp"
#include "locks/waiter_store.hpp"
#include "support/clean_up.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class clean_up_test : public model_test {
protected:
    // Keys of the dead, for each of which somebody waits.
    void make_queues(std::initializer_list<const char*> names) {
        const auto on = model_.connect();
        const auto stores = model_.stores();
        for (const char* each : names) {
            held_.push_back(mutex{dead_, each}.try_acquire());
            const acquire_request wanted{key{each}, owner_id::random(), heir_.id(), "heir", {}};
            EXPECT_EQ(
                stores->get<waiter_store>().enqueue(*on, wanted).status, enqueue_status::waiting
            );
        }
        model_.server().with_tables([&](memory_tables& tables) {
            tables.sessions.at(dead_.id()).expires_at = tables.now - 1us;
        });
    }
    upkeep_progress progress() {
        const auto on = model_.connect();
        const auto stores = model_.stores();
        return progress_of(*on, *stores, upkeep_task::dead_locks);
    }
    bool is_served(const char* name) { return row(key{name})->session == heir_.id(); }

    session dead_{sound(), calm("dead")}, heir_{sound(), calm("heir")};
    std::vector<acquisition> held_;
};

// The time-out is used up by the first of them, as where somebody keeps a row of its queue locked.
TEST_F(clean_up_test, a_row_that_takes_all_the_time_there_is_does_so_once_in_a_pass) {
    constexpr auto max_time = 500ms;
    make_queues({"a", "b"});
    const auto until = local_clock::now() + max_time;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement.find("serve") == std::string_view::npos) return std::nullopt;
        EXPECT_TRUE(eventually([&] { return local_clock::now() > until + 1s; }));
        return fault::refused;
    });
    const auto report = reap(faulty(), {.timeout = max_time});
    EXPECT_FALSE(report.is_complete);
    EXPECT_EQ(report.rows_left, 1);
    EXPECT_EQ(progress().place, "a") << "the next step begins behind it";
    plan_->heal();
    reap(faulty(), {.timeout = 1h});
    EXPECT_TRUE(is_served("a"));
    EXPECT_TRUE(is_served("b"));
}

TEST_F(
    clean_up_test, a_row_whose_time_out_costs_the_connection_does_not_stop_the_clean_up_for_good
) {
    make_queues({"a", "b"});
    plan_->fail_every("serve", fault::lost_on_the_way);
    bool is_over = false;
    for (int calls = 0; calls < 40 && !is_over; ++calls) {
        is_over = !thrown_by([&] { reap(faulty()); });
    }
    EXPECT_TRUE(is_over);
    EXPECT_FALSE(is_served("a"));
    plan_->heal();
    for (int calls = 0; calls < 2; ++calls) reap(faulty());
    EXPECT_TRUE(is_served("a"));
    EXPECT_TRUE(is_served("b"));
}

}  // namespace
}  // namespace leasehold::testing
