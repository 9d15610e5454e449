// Mutexes: each operation costs a few rows, however many keys and sessions there are.
#include "cost/suite.hpp"
#include "locks/hold_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "session/session_store.hpp"

namespace leasehold::testing {
namespace {

using lock_cost = cost_suite;

TEST_P(lock_cost, trying) {
    const acquire_request wanted = request_for(next_free_key());
    expect_reads("try_acquire of a free key", {8, 10, 400}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<hold_store>().try_acquire(on, wanted).status, acquire_status::granted);
    });
    expect_reads("find_grant", {2, 2, 100}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().find_grant(on, wanted.key, wanted.owner));
    });
    expect_reads("try_acquire, refused", {8, 10, 400}, [&](connection& on, store_set& stores) {
        const auto refused = stores.get<hold_store>().try_acquire(on, request_for(wanted.key));
        EXPECT_EQ(refused.status, acquire_status::busy);
    });
    const key unseen{"unseen/" + identity::random().text()};
    expect_reads("try_acquire of a new key", {10, 24, 600}, [&](connection& on, store_set& stores) {
        const auto got = stores.get<hold_store>().try_acquire(on, request_for(unseen));
        EXPECT_EQ(got.status, acquire_status::granted);
    });
}

TEST_P(lock_cost, holding_and_releasing) {
    const hold held = next_hold();
    expect_reads("reenter", {6, 6, 200}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<hold_store>().reenter(on, held), 2);
    });
    expect_reads("prove", {1, 2, 100}, [&](connection& on, store_set& stores) {
        on.begin();
        EXPECT_TRUE(stores.get<hold_store>().prove(on, held));
        on.commit();
    });
    for (const auto outcome : {release_outcome::still_held, release_outcome::released}) {
        expect_reads("release", {1, 4, 200}, [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<hold_store>().release(on, held), outcome);
        });
    }
    const hold other = next_hold();
    expect_reads("release_owner", {1, 4, 200}, [&](connection& on, store_set& stores) {
        const auto done = stores.get<hold_store>().release_owner(on, other.key, other.owner);
        EXPECT_EQ(done, release_outcome::released);
    });
}

TEST_P(lock_cost, asking_how_holds_stand_costs_two_rows_each) {
    std::vector<hold> all;
    for (int each = 0; each < 256; ++each) all.push_back(next_hold());
    expect_reads(
        "standings, 256",
        {2 * 256, 4 * 256, 60 * 256},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<hold_store>().standings(on, all).back(), standing::held);
        }
    );
}

TEST_P(lock_cost, describing_and_listing) {
    const hold held = next_hold();
    expect_reads("describe", {2, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().describe(on, held.key, true)->info.is_held);
    });
    // Every second key is free, and passed over.
    expect_reads(
        "list, a page of 1000",
        {2 * 1'000 + 1'000, 2 * 1'000 + 1'000, 80 * 2'000},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<hold_store>().list(on, "lock/", "lock/00000500", 1'000).size(), 1'000U
            );
        }
    );
    expect_reads(
        "list, by prefix",
        {3 * 10, 3 * 10, 1'500},
        [&](connection& on, store_set& stores) {
            EXPECT_LE(stores.get<hold_store>().list(on, "lock/0001234", "", 1'000).size(), 10U);
        }
    );
}

TEST_P(lock_cost, listing_free_keys) {
    // Every second key is held, and passed over.
    expect_reads(
        "list of free keys, a page of 1000",
        {2 * 1'000 + 2 * 1'000, 2 * 1'000 + 2 * 1'000, 90 * 2'000},
        [&](connection& on, store_set& stores) {
            const auto page =
                stores.get<hold_store>().list_free(on, "lock/", "lock/00000500", 1'000);
            EXPECT_EQ(page.size(), 1'000U);
        }
    );
    expect_reads(
        "list of free keys, by prefix",
        {3 * 10, 3 * 10, 1'500},
        [&](connection& on, store_set& stores) {
            EXPECT_LE(
                stores.get<hold_store>().list_free(on, "lock/0001234", "", 1'000).size(), 10U
            );
        }
    );
}

TEST_P(lock_cost, taking_a_key_away) {
    const hold held = next_hold();
    expect_reads("force_release", {8, 16, 600}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().force_release(on, held.key, std::nullopt));
    });
    expect_reads("change_kind", {8, 12, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().change_kind(on, held.key, lock_kind::semaphore));
    });
    const hold other = next_hold();
    expect_reads("request_revoke", {8, 16, 600}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().request_revoke(on, other.key));
    });
    expect_reads("set_metadata", {2, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().set_metadata(on, other, "words"));
    });
}

TEST_P(lock_cost, moving_a_hold) {
    const hold held = next_hold();
    expect_reads("adopt", {8, 10, 400}, [&](connection& on, store_set& stores) {
        const adoption wanted{held, session_of(held), numbered(1), "cost"};
        EXPECT_EQ(stores.get<hold_store>().adopt(on, wanted), adopt_status::adopted);
    });
    expect_reads("give_term", {6, 10, 400}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().give_term(on, held, std::chrono::hours{1}));
    });
    expect_reads("extend_term", {4, 6, 300}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().extend_term(on, held, std::chrono::hours{2}));
    });
}

TEST_P(lock_cost, requests_of_several_threads) {
    std::vector<acquire_request> wanted;
    std::vector<const acquire_request*> asked;
    for (int each = 0; each < 16; ++each) wanted.push_back(request_for(next_free_key()));
    for (const acquire_request& each : wanted) asked.push_back(&each);
    std::vector<hold> held;
    // PostgreSQL reads a table of so few pages as a whole if it believes that no row fits.
    expect_reads(
        "try_acquire_several, 16",
        {6 * 16 + (is_fresh() ? 0 : size().holders), 8 * 16, 0},
        [&](connection& on, store_set& stores) {
            const auto tokens = stores.get<hold_store>().try_acquire_several(on, asked);
            for (std::size_t at = 0; at < wanted.size(); ++at) {
                if (tokens[at]) held.push_back({wanted[at].key, wanted[at].owner, *tokens[at]});
            }
        }
    );
    const bool combines = !held.empty();  // not on SQLite, where it reads nothing
    ASSERT_EQ(held.size(), combines ? wanted.size() : 0);
    std::vector<const hold*> ours;
    for (const hold& each : held) ours.push_back(&each);
    expect_reads(
        "release_several, 16",
        {4 * 16, 8 * 16, 0},
        [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<hold_store>().release_several(on, ours),
                std::vector<bool>(held.size(), combines)
            );
        }
    );
}

TEST_P(lock_cost, several_keys_at_once) {
    acquire_all_request wanted{{}, identity::random(), numbered(1), "cost", std::nullopt};
    for (int each = 0; each < 8; ++each) wanted.keys.push_back(next_free_key());
    acquire_all_result got;
    expect_reads(
        "try_acquire_all, 8",
        {8 * 8, 16 * 8, 400 * 8},
        [&](connection& on, store_set& stores) {
            got = stores.get<multi_lock_store>().try_acquire_all(on, wanted);
            EXPECT_EQ(got.status, acquire_all_status::granted);
        }
    );
    expect_reads("find_grants, 8", {2 * 8, 4 * 8, 100 * 8}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<hold_store>().find_grants(on, wanted.keys, wanted.owner));
    });
    std::vector<hold> all;
    for (std::size_t each = 0; each < wanted.keys.size(); ++each) {
        all.push_back({wanted.keys[each], wanted.owner, got.tokens.at(each)});
    }
    expect_reads("prove_all, 8", {2 * 8, 4 * 8, 100 * 8}, [&](connection& on, store_set& stores) {
        on.begin();
        EXPECT_TRUE(stores.get<multi_lock_store>().prove_all(on, all));
        on.commit();
    });
    expect_reads("release_all, 8", {4 * 8, 8 * 8, 200 * 8}, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<multi_lock_store>().release_all(on, all).released.size(), all.size());
    });
}

TEST_P(lock_cost, sessions) {
    const session_start begun{identity::random(), "cost", std::chrono::hours{1}};
    expect_reads("session start", {4, 4, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<session_store>().start(on, begun));
    });
    expect_reads("heartbeat", {4, 6, 200}, [&](connection& on, store_set& stores) {
        const auto beat = stores.get<session_store>().heartbeat(on, begun.id, begun.ttl, {});
        EXPECT_EQ(beat.status, heartbeat_status::renewed);
    });
    const session_news wrong{-1};
    expect_reads("take_over", {4, 6, 200}, [&](connection& on, store_set& stores) {
        const session_start same{begun.id, begun.node_info, begun.ttl};
        EXPECT_TRUE(stores.get<session_store>().take_over(on, same, begun.node_info));
    });
    expect_reads("heartbeat, noticed", {6, 8, 300}, [&](connection& on, store_set& stores) {
        const auto beat = stores.get<session_store>().heartbeat(on, begun.id, begun.ttl, wrong);
        EXPECT_EQ(beat.status, heartbeat_status::noticed);
    });
    std::vector<waiter_id> had;
    for (int each = 0; each < 256; ++each) {
        const hold one = next_hold();
        had.push_back({one.key, one.owner, each});
    }
    expect_reads(
        "end of a session that had 256",
        {3 * 256 + 2, 3 * 256 + 2, 60 * 256},
        [&](connection& on, store_set& stores) {
            stores.get<session_store>().end(on, begun.id, had);
        }
    );
    expect_reads("end of a session", {2, 2, 100}, [&](connection& on, store_set& stores) {
        stores.get<session_store>().end(on, begun.id, std::nullopt);
    });
}

TEST_P(lock_cost, a_session_that_begins_with_a_grant_and_ends_with_its_release) {
    const session_start begun{identity::random(), "cost", std::chrono::hours{1}};
    acquire_request wanted = request_for(next_free_key());
    wanted.session = begun.id;
    std::optional<fencing_token> token;
    expect_reads("start with a grant", {1, 2, 300}, [&](connection& on, store_set& stores) {
        token = stores.get<session_store>().start_with_grant(on, begun, wanted);
    });
    ASSERT_TRUE(token);
    const hold held{wanted.key, wanted.owner, *token};
    expect_reads("end with a release", {2, 3, 200}, [&](connection& on, store_set& stores) {
        EXPECT_TRUE(stores.get<session_store>().end_with_release(on, begun.id, held));
    });
}

TEST_P(lock_cost, a_list_of_sessions_reads_each_once) {
    const std::int64_t sessions = size().sessions + dead_sessions + 20;  // and of other tests
    expect_reads(
        "list of sessions",
        {sessions, sessions, 40 * sessions},
        [&](connection& on, store_set& stores) {
            EXPECT_GE(std::ssize(stores.get<session_store>().list(on)), size().sessions);
        }
    );
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    lock_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
