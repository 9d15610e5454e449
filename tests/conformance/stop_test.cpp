// A stop that was requested before the call: every waiting call of every kind is empty, at once,
// without asking the database anything.
#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/granted.hpp"
#include "support/waiting_calls.hpp"

namespace leasehold::testing {
namespace {

const schedule often = schedule::every(1s);

waiting_call::call upgrade_of(session& in, const key& name) {
    const auto on = std::make_shared<shared_mutex>(in, name);
    const auto held = std::make_shared<acquisition>(on->try_acquire_upgradeable());
    EXPECT_TRUE(*held);
    return [on, held](const auto&, const auto& stop) {
        return is_granted(on->upgrade_for(std::move(**held), 1h, stop));
    };
}

waiting_call::call recursion_of(session& in, const key& name) {
    const auto on = std::make_shared<mutex>(in, name, mutex_settings{.recursive = true});
    const auto held = std::make_shared<acquisition>(on->try_acquire());
    EXPECT_TRUE(*held);
    return [on, held](const auto&, const auto& stop) { return is_granted(on->acquire(stop)); };
}

waiting_call::call open_latch_of(session& in, const key& name) {
    const auto on = std::make_shared<latch>(in, name, 1);
    auto mine = on->try_join();
    on->arrive(std::move(*mine));
    return [on](const auto&, const auto& stop) {
        return on->wait(stop).is_open || on->wait_for(1h, stop).is_open;
    };
}

waiting_call::call barrier_for_one_of(session& in, const key& name) {
    const auto on = std::make_shared<barrier>(in, name, 1);
    return [on](const auto&, const auto& stop) {
        return on->arrive_and_wait(stop) || on->arrive_and_wait_for(1h, stop);
    };
}

waiting_call::call quorum_of(session& in, const key& name) {
    quorum_settings settings;
    settings.session = calm("quorum");
    settings.server_timeout = 20s;
    const auto servers = std::make_shared<quorum>(std::vector{in.database()}, settings);
    EXPECT_TRUE(is_granted(quorum_lock(*servers, name).try_acquire())) << "its session is open now";
    const auto on = std::make_shared<quorum_lock>(*servers, name);
    return [servers, on](const auto&, const auto& stop) {
        return is_granted(on->acquire(stop)) || is_granted(on->acquire_for(1h, stop));
    };
}

waiting_call::call first_look_of(session& in, const key& name) {
    const auto on = std::make_shared<leader_watch>(in.database(), name);
    return [on](const auto&, const auto& stop) { return on->next(stop) || on->next_for(1h, stop); };
}

waiting_call::call once_of(session& in, const key& name) {
    const auto on = std::make_shared<once>(in, name, often);
    return [on](const auto&, const auto& stop) { return is_granted(on->start(stop)); };
}

// And the calls that would not wait: the key they want is theirs, or nobody's.
std::vector<waiting_call> all_calls() {
    std::vector<waiting_call> all = waiting_calls();
    all.push_back({"shared_mutex_upgrade", upgrade_of});
    all.push_back({"recursive_mutex_while_it_holds", recursion_of});
    all.push_back({"latch_that_is_open", open_latch_of});
    all.push_back({"barrier_for_one", barrier_for_one_of});
    all.push_back({"leader_watch_that_has_not_looked", first_look_of});
    all.push_back({"quorum_lock", quorum_of});
    all.push_back({"once_start", once_of});
    return all;
}

class stop_before : public suite, public ::testing::WithParamInterface<waiting_call> {};

TEST_P(stop_before, the_call_makes_it_empty_at_once_and_asks_nothing) {
    const auto way = std::make_shared<gate>();
    database db = current().open_through(way);
    session within{db, calm("asked to stop")};
    const key name = fresh("k");
    std::stop_source stop;
    stop.request_stop();
    const auto start = local_clock::now();
    {
        const auto call = GetParam().prepare(within, name);
        const int before = way->passed();
        for (const wait_length& each : {wait_length{}, wait_length{1h}, wait_length{start + 1h}}) {
            EXPECT_FALSE(call(each, stop.get_token()));
        }
        EXPECT_EQ(way->passed(), before) << "calls to the database";
    }
    EXPECT_LT(local_clock::now() - start, 60s) << "it waited";
    const auto seen = describe(first_, name);
    EXPECT_TRUE(!seen || (!seen->is_held && seen->waiters == 0)) << "it left something there";
    EXPECT_FALSE(outlook(first_, name, often).last) << "it ran";
}

INSTANTIATE_TEST_SUITE_P(
    waiting,
    stop_before,
    ::testing::ValuesIn(all_calls()),
    [](const auto& each) { return std::string(each.param.name); }
);

class stopped_suite : public suite {};

TEST_F(stopped_suite, what_an_upgrade_that_was_asked_to_stop_started_from_is_as_it_was) {
    session within{first_, calm("reader")};
    shared_mutex prices{within, fresh("k")};
    auto held = prices.try_acquire_upgradeable();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(is_granted(prices.upgrade_for(std::move(*held), 1h, stop.get_token())));
    EXPECT_TRUE(held->verify());
}

// The loop of leader_election.hpp.
TEST_F(stopped_suite, a_leader_that_was_asked_to_stop_is_not_elected_again) {
    session within{first_, calm("leader")};
    std::stop_source stop;
    leader_election election{within, fresh("office")};
    int terms = 0;
    while (auto leading = election.campaign(stop.get_token())) {
        stop.request_stop();
        if (++terms == 5) break;
    }
    EXPECT_EQ(terms, 1);
}

// A loop of phases, as in barrier.hpp.
TEST_F(stopped_suite, a_participant_that_was_asked_to_stop_takes_no_part_in_the_next_phase) {
    session within{first_, calm("participant")};
    std::stop_source stop;
    barrier step{within, fresh("step"), 1};
    int phases = 0;
    while (step.arrive_and_wait(stop.get_token())) {
        stop.request_stop();
        if (++phases == 5) break;
    }
    EXPECT_EQ(phases, 1);
}

}  // namespace
}  // namespace leasehold::testing
