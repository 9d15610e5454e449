// A stop that was requested before the call: every waiting call of every kind is empty, at once,
// without asking the database anything.
#include <array>
#include <functional>

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

namespace leasehold::testing {
namespace {

// What a call is made on; everything is made before the gate is watched.
struct place {
    database& db;
    session& within;
    key name;
    std::stop_token stop;
    std::function<int()> passed;  // calls that went to the database so far
};

// True where the call was empty and nothing went to the database.
struct waiting_call {
    const char* name;
    std::function<bool(const place&)> is_empty;
};
void PrintTo(const waiting_call& call, std::ostream* to) {
    *to << call.name;
}

// The call alone is counted, not what was prepared for it.
template <class Call>
bool asks_nothing(const place& at, Call&& call) {
    const int before = at.passed();
    const bool is_empty = call();
    EXPECT_EQ(at.passed(), before) << "calls to the database";
    return is_empty;
}

const schedule often = schedule::every(1s);

shared_mutex_settings quick() {
    return {1ms, 20ms};
}

const std::array waiting_calls{
    waiting_call{
        "mutex_acquire",
        [](const place& at) {
            mutex waits{at.within, at.name};
            return asks_nothing(at, [&] { return !waits.acquire(at.stop); });
        }},
    waiting_call{
        "mutex_acquire_for",
        [](const place& at) {
            mutex waits{at.within, at.name};
            return asks_nothing(at, [&] { return !waits.acquire_for(1h, at.stop); });
        }},
    waiting_call{
        "mutex_acquire_until",
        [](const place& at) {
            mutex waits{at.within, at.name};
            return asks_nothing(at, [&] {
                return !waits.acquire_until(local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "recursive_mutex_acquire_while_it_holds",
        [](const place& at) {
            mutex waits{at.within, at.name, {.recursive = true}};
            const auto held = waits.try_acquire();
            return asks_nothing(at, [&] { return !waits.acquire(at.stop); });
        }},
    waiting_call{
        "shared_mutex_acquire",
        [](const place& at) {
            shared_mutex waits{at.within, at.name, quick()};
            return asks_nothing(at, [&] {
                return !waits.acquire(at.stop) && !waits.acquire_for(1h, at.stop) &&
                       !waits.acquire_until(local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "shared_mutex_acquire_shared",
        [](const place& at) {
            shared_mutex waits{at.within, at.name, quick()};
            return asks_nothing(at, [&] {
                return !waits.acquire_shared(at.stop) && !waits.acquire_shared_for(1h, at.stop) &&
                       !waits.acquire_shared_until(local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "shared_mutex_acquire_upgradeable",
        [](const place& at) {
            shared_mutex waits{at.within, at.name, quick()};
            return asks_nothing(at, [&] {
                return !waits.acquire_upgradeable(at.stop) &&
                       !waits.acquire_upgradeable_for(1h, at.stop) &&
                       !waits.acquire_upgradeable_until(local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "shared_mutex_upgrade_for",
        [](const place& at) {
            shared_mutex waits{at.within, at.name, quick()};
            auto held = waits.try_acquire_upgradeable();
            const bool is_empty =
                asks_nothing(at, [&] { return !waits.upgrade_for(*held, 1h, at.stop); });
            EXPECT_TRUE(held->verify()) << "what it started from is as it was";
            return is_empty;
        }},
    waiting_call{
        "semaphore_acquire",
        [](const place& at) {
            semaphore waits{at.within, at.name, 3};
            return asks_nothing(at, [&] {
                return !waits.acquire(2, at.stop) && !waits.acquire_for(1, 1h, at.stop) &&
                       !waits.acquire_until(1, local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "multi_lock_acquire",
        [](const place& at) {
            multi_lock waits{at.within, {at.name, key{at.name.name() + "/2"}}};
            return asks_nothing(at, [&] {
                return !waits.acquire(at.stop) && !waits.acquire_for(1h, at.stop) &&
                       !waits.acquire_until(local_clock::now() + 1h, at.stop);
            });
        }},
    waiting_call{
        "quorum_lock_acquire",
        [](const place& at) {
            quorum_settings settings;
            settings.session = calm("quorum");
            settings.server_timeout = 20s;
            quorum servers{{at.db}, settings};
            EXPECT_TRUE(quorum_lock(servers, at.name).try_acquire()) << "its session is open now";
            quorum_lock waits{servers, at.name};
            return asks_nothing(at, [&] {
                return !waits.acquire(at.stop) && !waits.acquire_for(1h, at.stop);
            });
        }},
    waiting_call{
        "latch_wait_on_one_that_is_open",
        [](const place& at) {
            latch waits{at.within, at.name, 1};
            auto mine = waits.try_join();
            waits.arrive(*mine);
            return asks_nothing(at, [&] {
                return !waits.wait(at.stop).is_open && !waits.wait_for(1h, at.stop).is_open;
            });
        }},
    waiting_call{
        "barrier_arrive_and_wait_for_one",
        [](const place& at) {
            barrier waits{at.within, at.name, 1};
            return asks_nothing(at, [&] {
                return !waits.arrive_and_wait(at.stop) && !waits.arrive_and_wait_for(1h, at.stop);
            });
        }},
    waiting_call{
        "campaign",
        [](const place& at) {
            leader_election waits{at.within, at.name};
            return asks_nothing(at, [&] {
                return !waits.campaign(at.stop) && !waits.campaign_for(1h, at.stop);
            });
        }},
    waiting_call{
        "leader_watch_next",
        [](const place& at) {
            leader_watch waits{at.db, at.name};
            return asks_nothing(at, [&] {
                return !waits.next(at.stop) && !waits.next_for(1h, at.stop);
            });
        }},
    waiting_call{
        "once_start",
        [](const place& at) {
            once waits{at.within, at.name, often};
            return asks_nothing(at, [&] { return !waits.start(at.stop); });
        }},
};

class stop_before : public suite, public ::testing::WithParamInterface<waiting_call> {};

TEST_P(stop_before, the_call_makes_it_empty_at_once_and_asks_nothing) {
    const auto way = std::make_shared<gate>();
    database db = current().open_through(way);
    session within{db, calm("asked to stop")};
    const key name = fresh("k");
    std::stop_source stop;
    stop.request_stop();
    const place at{db, within, name, stop.get_token(), [&] { return way->passed(); }};
    const auto start = local_clock::now();
    EXPECT_TRUE(GetParam().is_empty(at));
    EXPECT_LT(local_clock::now() - start, 60s) << "it waited";
    const auto seen = describe(first_, name);
    EXPECT_TRUE(!seen || (!seen->is_held && seen->waiters == 0)) << "it left something there";
    EXPECT_FALSE(outlook(first_, name, often).last) << "it ran";
}

INSTANTIATE_TEST_SUITE_P(
    waiting,
    stop_before,
    ::testing::ValuesIn(waiting_calls),
    [](const auto& each) { return std::string(each.param.name); }
);

class stopped_suite : public suite {};

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
