// Requests of several threads in one statement: each is granted or released as it would be alone,
// and nobody waits for what another one asks for.
#include "conformance/queue_suite.hpp"
#include "locks/waiter_store.hpp"
#include "support/granted.hpp"
#include "support/many_threads.hpp"

namespace leasehold::testing {
namespace {

class combined_suite : public queue_suite {
protected:
    void SetUp() override {
        if (current().name == "sqlite") {
            GTEST_SKIP() << "one writer: its grants are combined by nobody";
        }
    }

    acquire_request request(const session& whose, const key& name) {
        return {name, owner_id::random(), whose.id(), "node", std::nullopt};
    }
    std::vector<std::optional<fencing_token>> acquire(const std::vector<acquire_request>& wanted) {
        std::vector<const acquire_request*> all;
        for (const acquire_request& each : wanted) all.push_back(&each);
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().try_acquire_several(on, all);
        });
    }
    std::vector<bool> release(const std::vector<hold>& held) {
        std::vector<const hold*> all;
        for (const hold& each : held) all.push_back(&each);
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().release_several(on, all);
        });
    }
    std::optional<fencing_token> grant_of(const acquire_request& wanted) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().find_grant(on, wanted.key, wanted.owner);
        });
    }
    // Keys that are free, and were had before.
    std::vector<key> used_keys(session& by, int number) {
        std::vector<key> all;
        for (int each = 0; each < number; ++each) {
            all.emplace_back(fresh("k"));
            EXPECT_TRUE(mutex(by, all.back()).try_acquire());
        }
        return all;
    }
    // The holds of requests, all of which were granted.
    static std::vector<hold> holds_of(
        const std::vector<acquire_request>& wanted,
        const std::vector<std::optional<fencing_token>>& tokens
    ) {
        std::vector<hold> all;
        for (std::size_t at = 0; at < wanted.size(); ++at) {
            all.push_back({wanted[at].key, wanted[at].owner, tokens.at(at).value()});
        }
        return all;
    }
};

TEST_F(combined_suite, free_keys_are_granted_and_nothing_is_said_of_the_others) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const auto names = used_keys(one, 3);
    auto held = mutex{two, names[1]}.try_acquire();
    ASSERT_TRUE(held);
    const std::vector<acquire_request> wanted{
        request(one, names[0]),
        request(one, names[1]),
        request(two, names[2]),
        request(one, fresh("never seen"))};
    const auto before = describe(first_, names[0])->token;
    const auto tokens = acquire(wanted);
    ASSERT_TRUE(tokens.at(0) && tokens.at(2));
    EXPECT_EQ(tokens[0]->number, before.number + 1);
    EXPECT_FALSE(tokens.at(1));
    EXPECT_FALSE(tokens.at(3));
    for (std::size_t at = 0; at < wanted.size(); ++at) {
        EXPECT_EQ(grant_of(wanted[at]), tokens[at]) << at;
    }
    EXPECT_EQ(describe(first_, names[0])->session, one.id());
    EXPECT_EQ(describe(first_, names[2])->session, two.id());
    EXPECT_TRUE(held->verify());
}

TEST_F(combined_suite, two_requests_for_one_key_are_not_both_granted) {
    session one{first_, calm("one")};
    const key name = used_keys(one, 1).at(0);
    const std::vector<acquire_request> wanted{request(one, name), request(one, name)};
    const auto tokens = acquire(wanted);
    EXPECT_NE(tokens.at(0).has_value(), tokens.at(1).has_value());
    EXPECT_EQ(grant_of(wanted[0]), tokens[0]);
    EXPECT_EQ(grant_of(wanted[1]), tokens[1]);
}

TEST_F(combined_suite, a_session_that_has_ended_is_granted_nothing) {
    session one{first_, calm("one")}, dead{first_, calm("dead")};
    const auto names = used_keys(one, 2);
    expire(dead);
    const auto tokens = acquire({request(dead, names[0]), request(one, names[1])});
    EXPECT_FALSE(tokens.at(0));
    EXPECT_TRUE(tokens.at(1));
}

// A granted request has got all that it asks for; another one has got nothing.
TEST_F(combined_suite, a_term_a_delay_and_metadata_are_those_of_each_request) {
    session one{first_, calm("one")};
    const auto names = used_keys(one, 3);
    auto brief = request(one, names[0]), delayed = request(one, names[1]),
         described = request(one, names[2]);
    brief.fixed_term = 1h;
    delayed.lock_delay = 60s;
    described.metadata = R"(a "quoted" \word, {braces}, NULL and 'more')";
    const auto tokens = acquire({brief, delayed, described});
    if (tokens.at(0)) {
        EXPECT_FALSE(describe(first_, names[0])->session);
        EXPECT_LE(describe(first_, names[0])->remaining, 1h);
    }
    if (tokens.at(2)) {
        EXPECT_EQ(describe(first_, names[2])->metadata, described.metadata);
    }
    if (tokens.at(1)) {
        current().age_session(one.id(), calm("one").ttl + 1s);
        session two{second_, calm("two")};
        EXPECT_FALSE(is_granted(mutex(two, names[1]).try_acquire()));
    }
}

TEST_F(combined_suite, what_each_has_is_released_and_nothing_else) {
    session one{first_, calm("one")};
    const std::vector<key> names = used_keys(one, 3);
    const std::vector<acquire_request> wanted{
        request(one, names[0]), request(one, names[1]), request(one, names[2])};
    auto held = holds_of(wanted, acquire(wanted));
    hold stale = held[1];
    --stale.token.number;
    hold strange = held[2];
    strange.owner = owner_id::random();
    EXPECT_EQ(release({held[0], stale, strange}), (std::vector<bool>{true, false, false}));
    EXPECT_FALSE(describe(first_, names[0])->is_held);
    EXPECT_EQ(release(held), (std::vector<bool>{false, true, true}));
    EXPECT_EQ(release(held), (std::vector<bool>{false, false, false}));
    for (const key& each : names) EXPECT_FALSE(describe(first_, each)->is_held);
    EXPECT_EQ(describe(first_, names[1])->token, held[1].token) << "the fence stays";
}

TEST_F(combined_suite, levels_and_waiters_are_left_to_a_release_of_its_own) {
    session one{first_, calm("one")};
    const std::vector<key> names = used_keys(one, 2);
    const std::vector<acquire_request> wanted{request(one, names[0]), request(one, names[1])};
    const auto held = holds_of(wanted, acquire(wanted));
    first_.inner()->use([&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<hold_store>().reenter(on, held[0]), 2);
        EXPECT_EQ(
            stores.get<waiter_store>().enqueue(on, request(one, names[1])).status,
            enqueue_status::waiting
        );
    });
    EXPECT_EQ(release(held), (std::vector<bool>{false, false}));
    EXPECT_EQ(describe(first_, names[0])->reentrant_count, 2);
    EXPECT_TRUE(describe(first_, names[1])->is_held);
}

// A proof in a transaction that goes on keeps the release of its own hold waiting, and no other.
TEST_F(combined_suite, a_proof_keeps_no_other_release_waiting) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "a proof keeps every writer out";
    session one{first_, calm("one")};
    const std::vector<key> names = used_keys(one, 2);
    const std::vector<acquire_request> wanted{request(one, names[0]), request(one, names[1])};
    const auto held = holds_of(wanted, acquire(wanted));
    transaction proving = second_.begin();
    ASSERT_TRUE(second_.inner()
                    ->store_for(transaction_ref{proving}.inside())
                    .get<hold_store>()
                    .prove(transaction_ref{proving}.inside(), held[0]));
    EXPECT_EQ(release(held), (std::vector<bool>{false, true}));
    proving.rollback();
    EXPECT_EQ(release(held), (std::vector<bool>{true, false}));
}

database narrow() {
    database_settings settings;
    settings.max_connections = 2;
    settings.pool_timeout = 60s;
    return current().open(settings);
}

TEST_F(combined_suite, of_threads_that_travel_together_no_two_hold_one_key) {
    const database through = narrow();
    for (const auto every : {combiner::way::usual, combiner::way::always}) {
        through.inner()->acquires().suppose(every);
        through.inner()->releases().suppose(every);
        const many_threads done{through, 8, 24, 40};
        EXPECT_EQ(done.broken(), "");
        EXPECT_GT(done.grants(), 100);
    }
}

}  // namespace
}  // namespace leasehold::testing
