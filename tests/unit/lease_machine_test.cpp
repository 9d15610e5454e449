// When a session may believe: every row of the table in lease_machine.hpp, and its edges.
#include "session/lease_machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using instant = lease_machine::instant;

// ttl 12 s, margin 2 s: the deadline is 10 s after what was sent.
session_settings usual() {
    session_settings settings;
    settings.ttl = 12s;
    return completed(settings);
}

constexpr instant at(std::chrono::nanoseconds since) {
    return instant{1000h + since};
}

// Started at 0 and answered at once.
lease_machine started() {
    return {usual(), at(0s), at(0s)};
}

// ------------------------------------------------------------------------------- the state table

struct transition {
    std::string name;
    std::function<void(lease_machine&)> event;
    loss_reason reason;
    std::chrono::nanoseconds deadline;  // after it, since the start
};

const transition transitions[] = {
    {"renewed_in_time", [](auto& m) { m.renewed(at(4s), at(5s)); }, loss_reason::none, 14s},
    {"renewed_just_in_time",
     [](auto& m) { m.renewed(at(4s), at(10s - 1ns)); },
     loss_reason::none,
     14s},
    {"answered_at_the_deadline",
     [](auto& m) { m.renewed(at(4s), at(10s)); },
     loss_reason::expired,
     10s},
    {"answered_after_the_deadline",
     [](auto& m) { m.renewed(at(9s), at(11s)); },
     loss_reason::expired,
     10s},
    {"ended_by_the_database",
     [](auto& m) { m.ended_by_server(at(10s - 1ns)); },
     loss_reason::ended_by_server,
     10s},
    {"ended_by_the_database_and_told_at_the_deadline",
     [](auto& m) { m.ended_by_server(at(10s)); },
     loss_reason::expired,
     10s},
    {"failed", [](auto& m) { m.failed(at(5s)); }, loss_reason::none, 10s},
    {"failed_at_the_deadline", [](auto& m) { m.failed(at(10s)); }, loss_reason::expired, 10s},
    {"the_clock_before_the_deadline",
     [](auto& m) { m.tick(at(10s - 1ns)); },
     loss_reason::none,
     10s},
    {"the_clock_at_the_deadline", [](auto& m) { m.tick(at(10s)); }, loss_reason::expired, 10s},
    {"the_clock_after_the_deadline", [](auto& m) { m.tick(at(99h)); }, loss_reason::expired, 10s},
    {"ended_by_its_owner", [](auto& m) { m.end(); }, loss_reason::session_ended, 10s},
    {"in_a_hurry", [](auto& m) { m.hurry(at(1s)); }, loss_reason::none, 10s},
};

class from_live : public ::testing::TestWithParam<transition> {};

TEST_P(from_live, becomes_what_the_table_says) {
    lease_machine machine = started();
    GetParam().event(machine);
    EXPECT_EQ(machine.reason(), GetParam().reason);
    EXPECT_EQ(machine.is_live(), GetParam().reason == loss_reason::none);
    EXPECT_EQ(machine.deadline(), at(GetParam().deadline));
}

// Promise 6: lost is for ever, and for the first reason.
TEST_P(from_live, changes_nothing_once_lost) {
    for (const auto& [lose, why] : {
             std::pair{+[](lease_machine& m) { m.tick(at(10s)); }, loss_reason::expired},
             std::pair{
                 +[](lease_machine& m) { m.ended_by_server(at(5s)); },
                 loss_reason::ended_by_server},
             std::pair{+[](lease_machine& m) { m.end(); }, loss_reason::session_ended},
         }) {
        lease_machine machine = started();
        lose(machine);
        GetParam().event(machine);
        EXPECT_FALSE(machine.is_live());
        EXPECT_EQ(machine.reason(), why);
        EXPECT_EQ(machine.deadline(), at(10s));
    }
}

INSTANTIATE_TEST_SUITE_P(
    lease_machine,
    from_live,
    ::testing::ValuesIn(transitions),
    [](const auto& each) { return each.param.name; }
);

// ------------------------------------------------------------------------------------ the start

TEST(lease_machine_test, the_deadline_counts_from_before_the_request_was_sent) {
    const lease_machine machine{usual(), at(0s), at(9s)};
    EXPECT_TRUE(machine.is_live());
    EXPECT_EQ(machine.deadline(), at(10s));
}

TEST(lease_machine_test, a_start_that_took_as_long_as_the_lease_is_lost_from_the_first) {
    EXPECT_TRUE(lease_machine(usual(), at(0s), at(10s - 1ns)).is_live());
    EXPECT_EQ(lease_machine(usual(), at(0s), at(10s)).reason(), loss_reason::expired);
}

TEST(lease_machine_test, an_older_request_answered_later_does_not_shorten_the_lease) {
    lease_machine machine = started();
    machine.renewed(at(4s), at(5s));
    machine.renewed(at(2s), at(6s));
    EXPECT_EQ(machine.deadline(), at(14s));
}

// ------------------------------------------------------------------------------ when to say more

TEST(lease_machine_test, a_heartbeat_is_due_each_interval_after_the_last_was_sent) {
    lease_machine machine = started();
    EXPECT_EQ(machine.next_heartbeat(), at(4s));
    machine.renewed(at(4s), at(6s));
    EXPECT_EQ(machine.next_heartbeat(), at(8s));
}

// Every 4 s, lost after 10 s: another heartbeat is possible if one gets no answer.
TEST(lease_machine_test, a_heartbeat_gets_half_of_the_time_to_the_loss) {
    const lease_machine machine = started();
    EXPECT_EQ(machine.time_to_answer(at(4s)), 3s);
    EXPECT_EQ(machine.time_to_answer(at(6s - 1ms)), 3s) << "the same for all about on time";
    EXPECT_EQ(machine.time_to_answer(at(6s)), 2s);
    EXPECT_EQ(machine.time_to_answer(at(9s)), 500ms);
    EXPECT_EQ(machine.time_to_answer(at(11s)), 50ms) << "less is enough for no server";
}

TEST(lease_machine_test, after_a_failure_several_tries_fit_into_what_is_left) {
    lease_machine machine = started();
    machine.failed(at(4s));
    EXPECT_EQ(machine.next_heartbeat(), at(4500ms));  // an eighth of the interval
    int tries = 0;
    while (machine.is_live()) {
        ++tries;
        machine.failed(machine.next_heartbeat());
    }
    EXPECT_GE(tries, 5);
    EXPECT_LE(tries, 30);
}

TEST(lease_machine_test, the_pause_after_a_failure_has_bounds) {
    session_settings brief;
    brief.ttl = 1s;
    brief.heartbeat_every = 40ms;
    lease_machine hasty{completed(brief), at(0s), at(0s)};
    hasty.failed(at(40ms));
    EXPECT_EQ(hasty.next_heartbeat(), at(60ms));
    session_settings long_one;
    long_one.ttl = 24h;
    lease_machine calm{completed(long_one), at(0s), at(0s)};
    calm.failed(at(8h));
    EXPECT_EQ(calm.next_heartbeat(), at(8h + 1s));
}

TEST(lease_machine_test, hurrying_moves_the_next_heartbeat_forward_and_never_back) {
    lease_machine machine = started();
    machine.hurry(at(1s));
    EXPECT_EQ(machine.next_heartbeat(), at(1s));
    machine.hurry(at(3s));
    EXPECT_EQ(machine.next_heartbeat(), at(1s));
}

// ------------------------------------------------------------------------------------- settings

TEST(lease_machine_test, defaults_are_a_third_of_the_ttl_and_the_smaller_of_2_s_and_a_sixth) {
    session_settings settings;
    EXPECT_EQ(completed(settings).heartbeat_every, 10s);
    EXPECT_EQ(completed(settings).margin, 2s);
    settings.ttl = 6s;
    EXPECT_EQ(completed(settings).heartbeat_every, 2s);
    EXPECT_EQ(completed(settings).margin, 1s);
    settings.ttl = 24h;
    EXPECT_EQ(completed(settings).heartbeat_every, 8h);
    EXPECT_EQ(completed(settings).margin, 2s);
}

// Every ttl that is allowed has defaults that are.
TEST(lease_machine_test, the_defaults_of_every_ttl_agree_with_each_other) {
    for (milliseconds ttl = 1s; ttl <= 24h; ttl += ttl / 7 + 1ms) {
        session_settings settings;
        settings.ttl = ttl;
        EXPECT_NO_THROW(completed(settings)) << ttl.count();
    }
}

constexpr milliseconds absurd = milliseconds::max();
constexpr milliseconds absurdly_negative = milliseconds::min();

struct refusal {
    milliseconds ttl;
    std::optional<milliseconds> heartbeat_every, margin, reap_every;
    const char* named;
};

class bad_settings : public ::testing::TestWithParam<refusal> {};

TEST_P(bad_settings, are_refused_by_name) {
    session_settings settings;
    settings.ttl = GetParam().ttl;
    settings.heartbeat_every = GetParam().heartbeat_every;
    settings.margin = GetParam().margin;
    settings.reap_every = GetParam().reap_every;
    try {
        completed(settings);
        FAIL() << "was accepted";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::invalid_argument);
        EXPECT_TRUE(std::string(failure.what()).starts_with(GetParam().named)) << failure.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    lease_machine,
    bad_settings,
    ::testing::Values(
        refusal{0ms, {}, {}, {}, "ttl"},
        refusal{-1ms, {}, {}, {}, "ttl"},
        refusal{999ms, {}, {}, {}, "ttl"},
        refusal{24h + 1ms, {}, {}, {}, "ttl"},
        refusal{absurd, {}, {}, {}, "ttl"},
        refusal{absurdly_negative, {}, {}, {}, "ttl"},
        refusal{12s, -1ms, {}, {}, "heartbeat_every"},
        refusal{12s, 5001ms, {}, {}, "heartbeat_every"},
        refusal{12s, absurd, {}, {}, "heartbeat_every"},
        refusal{12s, absurdly_negative, {}, {}, "heartbeat_every"},
        refusal{12s, 4s, 5s, {}, "heartbeat_every"},
        refusal{12s, 0ms, {}, {}, "heartbeat_every"},
        refusal{12s, {}, 0ms, {}, "margin"},
        refusal{12s, {}, {}, 0ms, "reap_every"},
        refusal{12s, {}, -1ms, {}, "margin"},
        refusal{12s, {}, 6s, {}, "margin"},
        refusal{12s, {}, absurd, {}, "margin"},
        refusal{12s, {}, absurdly_negative, {}, "margin"},
        refusal{12s, {}, {}, -1ms, "reap_every"},
        refusal{12s, {}, {}, 366 * 24h + 1ms, "reap_every"},
        refusal{12s, {}, {}, absurd, "reap_every"}
    )
);

TEST(lease_machine_test, settings_at_their_limits_are_accepted) {
    using some = std::optional<milliseconds>;
    for (const auto& [ttl, every, margin, reap] : {
             std::tuple<milliseconds, some, some, some>{1s, {}, {}, {}},
             {24h, {}, {}, 366 * 24h},
             {12s, 5s, 2s, {}},
             {12s, 3s, 6s - 1ms, {}},
             {12s, 1ms, 1ms, 1ms},
         }) {
        session_settings settings;
        settings.ttl = ttl;
        settings.heartbeat_every = every;
        settings.margin = margin;
        settings.reap_every = reap;
        EXPECT_NO_THROW(completed(settings)) << ttl.count() << ' ' << every.value_or(0ms).count();
    }
}

// ------------------------------------------------------------------------- how near it has come

TEST(lease_machine_test, the_longest_time_in_which_nothing_got_through_is_known) {
    lease_machine machine = started();
    EXPECT_EQ(machine.longest_gap(), 0s);
    machine.renewed(at(4s), at(5s));
    EXPECT_EQ(machine.longest_gap(), 5s) << "from when the last one was sent to the answer";
    machine.renewed(at(6s), at(6s));
    EXPECT_EQ(machine.longest_gap(), 5s);
    EXPECT_FALSE(machine.is_near_loss(machine.longest_gap()));
    machine.failed(at(10s));
    machine.renewed(at(15s), at(15s));
    EXPECT_EQ(machine.longest_gap(), 9s);
    EXPECT_TRUE(machine.is_near_loss(machine.longest_gap())) << "of ten";
    machine.renewed(at(25s), at(26s));
    EXPECT_EQ(machine.longest_gap(), 9s) << "that came too late";
    EXPECT_EQ(machine.reason(), loss_reason::expired);
}

}  // namespace
}  // namespace leasehold
