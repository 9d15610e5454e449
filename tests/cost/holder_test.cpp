// Keys that several hold: a question about all holders of a key costs some rows for each of them,
// and nothing for those of other keys.
#include "cost/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "locks/holder_store.hpp"

namespace leasehold::testing {
namespace {

class holder_cost : public cost_suite {
protected:
    std::int64_t holders_of(const key& name) const {
        return (name == crowded ? size().holders : 2) + 1;  // and one that a test adds
    }
    // So many for each holder of the key, and besides.
    bound with_each(const key& name, const bound& each, const bound& besides) const {
        const std::int64_t count = holders_of(name);
        return {
            each.postgres * count + besides.postgres,
            each.mysql * count + besides.mysql,
            each.sqlite * count + besides.sqlite};
    }
    holder_request place_at(const key& name, lock_kind kind, std::int64_t capacity) const {
        return {
            name,
            identity::random(),
            numbered(1),
            "cost",
            kind,
            hold_mode::shared,
            1,
            capacity,
            0,
            std::nullopt};
    }
    holder_request permit_of(const key& name) const {
        return place_at(name, lock_kind::semaphore, holders_of(name) - 1 + spare_permits);
    }

    const key crowded{"crowded"};
    const key sparse{"sparse"};
};

TEST_P(holder_cost, trying_reads_the_holders_of_its_key) {
    for (const key& each : {crowded, sparse}) {
        holder_request wanted = permit_of(each);
        hold got{each, wanted.owner, {}, wanted.kind};
        expect_reads(
            "permit of " + each.name() + ", granted",
            with_each(each, {is_of_one_row() ? 3 : 2, 3, 150}, {10, 24, 1'000}),
            [&](connection& on, store_set& stores) {
                const auto found = stores.get<holder_store>().try_acquire(on, wanted);
                EXPECT_EQ(found.status, holder_status::granted);
                got.token = found.token;
            }
        );
        expect_reads(
            "permit of " + each.name() + ", refused",
            with_each(each, {2, 3, 150}, {10, 24, 1'000}),
            [&](connection& on, store_set& stores) {
                holder_request many = permit_of(each);
                many.permits = spare_permits + 1;
                EXPECT_EQ(
                    stores.get<holder_store>().try_acquire(on, many).status, holder_status::busy
                );
            }
        );
        run([&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<holder_store>().release(on, got), release_outcome::released);
        });
    }
}

TEST_P(holder_cost, what_is_asked_of_all_holders) {
    for (const key& each : {crowded, sparse}) {
        expect_reads(
            "tally of " + each.name(),
            with_each(each, {2, 2, 30}, {1, is_fresh() ? 1 : 8, 100}),
            [&](connection& on, store_set& stores) {
                EXPECT_GE(stores.get<holder_store>().tally(on, each)->present, 2);
            }
        );
        expect_reads(
            "holders_of " + each.name(),
            with_each(each, {2, 3, 100}, {1, is_fresh() ? 0 : 4, 100}),
            [&](connection& on, store_set& stores) {
                EXPECT_GE(stores.get<holder_store>().holders_of(on, each).size(), 2U);
            }
        );
        expect_reads(
            "header of " + each.name(),
            with_each(each, {3, 3, 60}, {1, 1, 100}),
            [&](connection& on, store_set& stores) {
                EXPECT_TRUE(stores.get<holder_store>().header(on, each));
            }
        );
    }
    expect_reads(
        "list of holders, 100",
        {3 * 100, 3 * 100 + (is_fresh() ? 0 : 4), 100 * 100},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<holder_store>().list(on, "crowded", "", std::nullopt, 100).size(), 100U
            );
        }
    );
    expect_reads(
        "list of holders, by prefix",
        {3 * 3, 3 * 3, 500},
        [&](connection& on, store_set& stores) {
            EXPECT_GE(
                stores.get<holder_store>().list(on, "sparse", "", std::nullopt, 100).size(), 2U
            );
        }
    );
}

TEST_P(holder_cost, what_is_done_with_one_hold) {
    const holder_request wanted = permit_of(crowded);
    hold got{crowded, wanted.owner, {}, wanted.kind};
    run([&](connection& on, store_set& stores) {
        got.token = stores.get<holder_store>().try_acquire(on, wanted).token;
    });
    expect_reads("find_grant", {1, 1, 20}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().find_grant(on, crowded, got.owner));
    });
    expect_reads("which_are_held", {2, 3 + 1, 50}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().which_are_held(on, {got}).at(0));
    });
    // A planner that believes in a table of one row may read a few pages in a caller's transaction.
    const std::int64_t few_pages = is_of_one_row() ? size().holders + 10 : 0;
    expect_reads("prove", {1 + few_pages, 1, 50}, [&](connection& on, store_set& stores) {
        on.set_is_callers(true);
        on.begin();
        EXPECT_TRUE(stores.get<holder_store>().prove(on, got));
        on.commit();
        on.set_is_callers(false);
    });
    expect_reads("announce", {2, 2, 150}, [&](connection& on, store_set& stores) {
        stores.get<holder_store>().announce(on, wanted);
    });
    expect_reads("withdraw of a wish", {2, 2, 100}, [&](connection& on, store_set& stores) {
        stores.get<holder_store>().withdraw(on, crowded, wanted.owner);
    });
    expect_reads("reduce", {1, 2, 100}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().reduce(on, got, hold_mode::shared, 1));
    });
    expect_reads("resize", {1, 1, 100}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().resize(on, crowded, wanted.kind, wanted.capacity));
    });
    expect_reads("release", {2, 1, 50}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<holder_store>().release(on, got), release_outcome::released);
    });
    run([&](connection& on, store_set& stores) {
        stores.get<holder_store>().try_acquire(on, wanted);
    });
    expect_reads("release_owner", {1, 1, 50}, [&](connection& on, store_set& stores) {
        const auto done = stores.get<holder_store>().release_owner(on, crowded, wanted.owner);
        EXPECT_EQ(done, release_outcome::released);
    });
}

TEST_P(holder_cost, what_is_asked_of_many_holds) {
    std::vector<hold> held;
    std::vector<holder_id> places;
    for (std::int64_t each = 1; each <= 256; ++each) {
        held.push_back({crowded, numbered(each), {each}, lock_kind::semaphore});
        places.push_back({crowded, numbered(each)});
    }
    expect_reads("look at a holder", {1, 2 + 1, 30}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().look(on, {places.front()}).at(0));
    });
    expect_reads(
        "look at 256 holders",
        {256, is_fresh() ? 2 * 256 + 1 : 3 * 256, 30 * 256},
        [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<holder_store>().look(on, places).back());
        }
    );
    expect_reads(
        "which_are_held, 256",
        {2 * 256, is_fresh() ? 3 * 256 + 1 : 4 * 256, 50 * 256},
        [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<holder_store>().which_are_held(on, held).back());
        }
    );
}

TEST_P(holder_cost, counting_arrivals_and_passing) {
    const key latch{"latch/" + identity::random().text()};
    holder_request wanted = place_at(latch, lock_kind::latch, 2);
    expect_reads("first place at a latch", {20, 60, 2'000}, [&](connection& on, store_set& stores) {
        const auto got = stores.get<holder_store>().try_acquire(on, wanted);
        ASSERT_EQ(got.status, holder_status::granted);
        EXPECT_EQ(
            stores.get<holder_store>().arrive(on, {latch, wanted.owner, got.token, wanted.kind}), 1
        );
    });
    wanted = place_at(key{"barrier/" + identity::random().text()}, lock_kind::barrier, 1);
    run([&](connection& on, store_set& stores) {
        stores.get<holder_store>().try_acquire(on, wanted);
    });
    expect_reads("pass", {4 + 5, 8 + 8, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<holder_store>().pass(on, wanted.key));
    });
    expect_reads("force_release", {2 + 5, 16, 500}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<holder_store>().force_release(on, wanted.key).size(), 1U);
    });
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    holder_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
