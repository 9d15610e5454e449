// The queue for a mutex: one key with all the waiters, one with two, and some whose first waiters
// are dead. The length of a queue must cost nothing when a holder hands over.
#include "cost/suite.hpp"
#include "locks/hold_store.hpp"
#include "locks/waiter_store.hpp"

namespace leasehold::testing {
namespace {

using queue_cost = cost_suite;

const key queued{"queued"};
const key pair_of{"pair"};

TEST_P(queue_cost, a_release_hands_over_by_reading_the_first_waiter) {
    for (const key& each : {queued, pair_of}) {
        const hold held = hold_of(each);
        expect_reads(
            "hand_over of " + each.name(),
            {7, 13, 500},
            [&](connection& on, store_set& stores) {
                const auto done = stores.get<waiter_store>().hand_over(on, held);
                EXPECT_EQ(done.status, hand_over_status::handed_over);
            }
        );
        run([&](connection& on, store_set& stores) {
            stores.get<waiter_store>().enqueue(on, request_for(each));
        });
    }
}

TEST_P(queue_cost, the_dead_before_it_cost_some_rows_each) {
    const hold held = next_mourned_hold();
    expect_reads(
        "hand_over past ten dead",
        {4 + 12 + 6 * 10, 13 + 4 * 10, 500 + 20 * 10},
        [&](connection& on, store_set& stores) {
            const auto done = stores.get<waiter_store>().hand_over(on, held);
            ASSERT_TRUE(done.next);
            EXPECT_EQ(done.next->owner, numbered(1'000'000 + dead_sessions + 1));
        }
    );
}

TEST_P(queue_cost, serving_costs_what_a_hand_over_does) {
    expect_reads("serve with nothing to do", {4, 8, 200}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<waiter_store>().serve(on, queued).status, hand_over_status::refused);
    });
    const hold held = hold_of(queued);
    run([&](connection& on, store_set& stores) {
        stores.get<hold_store>().release_owner(on, queued, held.owner);
    });
    expect_reads("serve", {12, 16, 500}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(
            stores.get<waiter_store>().serve(on, queued).status, hand_over_status::handed_over
        );
    });
    run([&](connection& on, store_set& stores) {
        stores.get<waiter_store>().enqueue(on, request_for(queued));
    });
}

TEST_P(queue_cost, entering_and_leaving) {
    const acquire_request wanted = request_for(queued);
    std::int64_t ticket = 0;
    expect_reads("enqueue", {6, 6, 400}, [&](connection& on, store_set& stores) {
        const auto entered = stores.get<waiter_store>().enqueue(on, wanted);
        EXPECT_EQ(entered.status, enqueue_status::waiting);
        ticket = entered.ticket;
    });
    expect_reads("leave", {1, 2, 50}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<waiter_store>().leave(on, queued, wanted.owner, ticket));
    });
}

TEST_P(queue_cost, whoever_does_not_know_its_ticket_is_found_by_its_owner) {
    const acquire_request wanted = request_for(queued);
    run([&](connection& on, store_set& stores) { stores.get<waiter_store>().enqueue(on, wanted); });
    expect_reads("leave without a ticket", {1, 4, 150}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<waiter_store>().leave(on, queued, wanted.owner, std::nullopt));
    });
}

TEST_P(queue_cost, the_queues_of_all_keys_are_read_by_the_page) {
    std::string last = "queued";
    std::int64_t ticket = 0;
    expect_reads(
        "list_all, a page of 500",
        {2 * 500 + 4, 2 * 500 + 4, 40 * 500},
        [&](connection& on, store_set& stores) {
            const auto page = stores.get<waiter_store>().list_all(on, "q", "", 0, 500);
            ASSERT_EQ(page.size(), 500U);
            last = page.back().info.key;
            ticket = page.back().ticket;
        }
    );
    expect_reads(
        "list_all, the next one",
        {2 * 500 + 4, 2 * 500 + 4, 40 * 500},
        [&](connection& on, store_set& stores) {
            const auto page = stores.get<waiter_store>().list_all(on, "", last, ticket, 500);
            ASSERT_EQ(page.size(), 500U);
            EXPECT_GT(page.front().ticket, ticket);
        }
    );
}

TEST_P(queue_cost, looking_costs_some_rows_for_each_who_asks) {
    std::vector<waiter_id> all;
    for (std::int64_t each = 0; each < 256; ++each) {
        const std::int64_t number = size().waiters - each;
        all.push_back({queued, numbered(number + 1'000'000), number});
    }
    expect_reads("look, 1", {3, 4, 150}, [&](connection& on, store_set& stores) {
        const auto seen = stores.get<waiter_store>().look(on, {all.front()});
        EXPECT_EQ(seen.at(0).status, look_status::waiting);
    });
    expect_reads(
        "look, 256",
        {3 * 256, 4 * 256, 100 * 256},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<waiter_store>().look(on, all).size(), all.size());
        }
    );
}

TEST_P(queue_cost, the_look_for_circles_follows_those_who_wait) {
    const std::int64_t last = size().waiters;
    const waiter_id who{queued, numbered(last + 1'000'000), last};
    expect_reads(
        "closes_a_circle",
        {4 + 3 * 20, 12 + 4 * 20, 200 + 60 * 20},
        [&](connection& on, store_set& stores) {
            EXPECT_FALSE(stores.get<waiter_store>().closes_a_circle(on, who, numbered(last + 1)));
        }
    );
}

TEST_P(queue_cost, a_description_counts_the_waiters_of_its_key) {
    const std::int64_t waiters = size().waiters + 10;  // those that other tests have added
    expect_reads(
        "describe of queued",
        {2 + 2 * waiters, 2 + 2 * waiters, 200 + 20 * waiters},
        [&](connection& on, store_set& stores) {
            EXPECT_GE(
                stores.get<hold_store>().describe(on, queued, true)->info.waiters,
                size().waiters - 10
            );
        }
    );
    expect_reads(
        "describe of queued, not counted",
        {2, 4, 200},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<hold_store>().describe(on, queued, false)->info.waiters, 0);
        }
    );
    expect_reads("describe of pair", {6, 7, 200}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<hold_store>().describe(on, pair_of, true)->info.waiters, 2);
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    queue_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
