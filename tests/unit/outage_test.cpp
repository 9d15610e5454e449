// A database that cannot be reached any more, with time-outs that are longer than any test: what
// waits ends by its own deadline, when it is cancelled and when its session is lost, and what says
// good-bye does not wait at all.
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "model_fixture.hpp"
#include "support/granted.hpp"
#include "support/waiting_calls.hpp"

namespace leasehold::testing {
namespace {

// Far less than the time-outs, and far more than a machine that stands still for two seconds needs.
constexpr auto soon = 15s;

class outage_test : public model_test {
protected:
    // From here on no connection answers, and no new one opens.
    void cut() {
        plan_->fail_when([](std::string_view, int) { return fault::lost_before_sending; });
    }
    template <class Run>
    static void expect_soon(const char* what, Run&& run) {
        const auto start = local_clock::now();
        run();
        EXPECT_LT(local_clock::now() - start, soon) << what;
    }
};

class wait_in_an_outage : public outage_test, public ::testing::WithParamInterface<waiting_call> {};

TEST_P(wait_in_an_outage, ends_by_its_deadline) {
    session one{patient(), calm()};
    const auto wait = GetParam().prepare(one, name_);
    cut();
    expect_soon("the wait", [&] {
        bool got = false;
        const auto failure = thrown_by([&] { got = wait(50ms, {}); });
        EXPECT_FALSE(got);
        EXPECT_TRUE(!failure || failure->is_transient()) << failure->what();
    });
}

TEST_P(wait_in_an_outage, ends_when_it_is_cancelled) {
    session one{patient(), calm()};
    const auto wait = GetParam().prepare(one, name_);
    cut();
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
        bool got = false;
        static_cast<void>(thrown_by([&] { got = wait(1h, stop.get_token()); }));
        return got;
    });
    EXPECT_TRUE(plan_->wait_for_strikes(2, 20s)) << "it does not try";
    stop.request_stop();
    EXPECT_EQ(waiting.wait_for(soon), std::future_status::ready);
    plan_->heal();
    EXPECT_FALSE(waiting.get());
}

TEST_P(wait_in_an_outage, ends_when_its_session_is_lost) {
    if (!GetParam().ends_with_its_session) GTEST_SKIP() << "it needs none";
    session one{patient(), brief()};
    const auto wait = GetParam().prepare(one, name_);
    cut();
    std::optional<errc> code;
    auto waiting = std::async(std::launch::async, [&] {
        const auto failure = thrown_by([&] { static_cast<void>(wait(1h, {})); });
        if (failure) code = failure->code();
    });
    ASSERT_TRUE(stopped(one.lost(), 20s));
    EXPECT_EQ(waiting.wait_for(soon), std::future_status::ready);
    plan_->heal();
    waiting.get();
    EXPECT_EQ(code, errc::session_lost);
}

INSTANTIATE_TEST_SUITE_P(
    of,
    wait_in_an_outage,
    ::testing::ValuesIn(waiting_calls()),
    [](const auto& each) { return std::string(each.param.name); }
);

TEST_F(outage_test, a_lost_lease_is_not_waited_for) {
    session one{patient(), brief()};
    auto held = mutex{one, name_}.try_acquire();
    auto permit = semaphore{one, key{"s"}, 2}.try_acquire();
    auto both = multi_lock{one, {key{"a"}, key{"b"}}}.try_acquire();
    ASSERT_TRUE(held && permit && both);
    cut();
    ASSERT_TRUE(stopped(held->lost(), 20s));
    expect_soon("a lease that is lost", [&] {
        { const auto gone = *std::move(held); }
        { const auto gone = *std::move(permit); }
        { const auto gone = *std::move(both); }
    });
}

// Its destructor records that; where nobody answers it does not try to.
TEST_F(outage_test, a_run_over_its_limit_asks_nobody_who_is_away) {
    const database db = faulty();
    session one{db, calm()};
    once_settings limited;
    limited.fixed_term = 2s;
    auto run = once{one, name_, schedule::every(1h), limited}.try_start();
    ASSERT_TRUE(run);
    std::atomic<int> asked = 0;
    plan_->fail_when([&asked, here = std::this_thread::get_id()](std::string_view, int) {
        if (std::this_thread::get_id() == here) ++asked;
        return fault::lost_before_sending;
    });
    EXPECT_TRUE(thrown_by([&] { describe(db, name_); }));
    EXPECT_TRUE(thrown_by([&] { describe(db, name_); })) << "no new connection";
    EXPECT_GT(asked, 0);
    ASSERT_TRUE(eventually([&] { return local_clock::now() > run->lease().deadline(); }));
    asked = 0;
    const int failed = events_->count(event_kind::release_failed);
    { const auto gone = *std::move(run); }
    EXPECT_EQ(asked, 0);
    EXPECT_GT(events_->count(event_kind::release_failed), failed) << "nobody was told";
    plan_->heal();
}

TEST_F(outage_test, the_end_of_a_program_waits_for_nothing_that_cannot_be) {
    auto one = std::make_unique<session>(patient(), calm());
    auto held = mutex{*one, name_}.try_acquire();
    auto permit = semaphore{*one, key{"s"}, 2}.try_acquire();
    auto both = multi_lock{*one, {key{"a"}, key{"b"}}}.try_acquire();
    auto office = leader_election{*one, key{"office"}}.try_campaign();
    ASSERT_TRUE(held && permit && both && office);
    cut();
    expect_soon("the end", [&] {
        drop(office);
        { const auto gone = *std::move(both); }
        { const auto gone = *std::move(permit); }
        { const auto gone = *std::move(held); }
        one.reset();
    });
    EXPECT_GE(events_->count(event_kind::release_failed), 1) << "nobody was told";
}

// The session sends the releases that the destructors could not send, once somebody answers again.
TEST_F(outage_test, what_a_lease_left_to_its_session_is_released_when_the_database_is_back) {
    session one{patient(), eager()};
    auto held = mutex{one, name_}.try_acquire();
    auto both = multi_lock{one, {key{"a"}, key{"b"}}}.try_acquire();
    auto permit = semaphore{one, key{"s"}, 2}.try_acquire();
    ASSERT_TRUE(held && permit && both);
    cut();
    expect_soon("the leases", [&] {
        { const auto gone = *std::move(held); }
        { const auto gone = *std::move(both); }
        { const auto gone = *std::move(permit); }
    });
    EXPECT_GT(remaining(name_), 0us);
    plan_->heal();
    for (const char* const each : {"k", "a", "b", "s"}) {
        EXPECT_TRUE(eventually([&] { return remaining(key{each}) == 0us; })) << each;
    }
    EXPECT_TRUE(one.is_live());
}

// Statements hang for a second longer than their time-out, those of the heartbeat too.
TEST_F(outage_test, the_end_of_a_program_takes_one_statement_timeout_where_nothing_answers) {
    database_settings settings;
    settings.observer = events_;
    settings.statement_timeout = 5s;
    settings.pool_timeout = 5s;
    auto one = std::make_unique<session>(model_.open(settings, plan_->wrapper()), eager());
    auto first = mutex{*one, key{"1"}}.try_acquire();
    auto second = mutex{*one, key{"2"}}.try_acquire();
    auto third = mutex{*one, key{"3"}}.try_acquire();
    // The thread of the heartbeat, which the end of the program leaves behind, asks the plan too.
    const auto hanging = std::make_shared<std::atomic<int>>(0);
    plan_->fail_when([hanging, program = std::this_thread::get_id()](std::string_view, int) {
        if (std::this_thread::get_id() == program) ++*hanging;
        return fault::hangs;
    });
    EXPECT_TRUE(plan_->wait_for_strikes(1, 20s)) << "the heartbeat hangs";
    expect_soon("the end", [&] {
        { const auto gone = *std::move(first); }
        { const auto gone = *std::move(second); }
        { const auto gone = *std::move(third); }
        one.reset();
    });
    EXPECT_LE(*hanging, 1);
    plan_->let_go();
}

// A server whose commits wait for a standby that is gone: connections open, and what only reads is
// answered. Counted, since each that hangs takes a statement time-out.
TEST_F(
    outage_test, the_end_of_a_program_waits_once_where_connections_open_and_no_write_is_answered
) {
    auto one = std::make_unique<session>(faulty(), calm());
    auto first = mutex{*one, key{"1"}}.try_acquire();
    auto second = semaphore{*one, key{"2"}, 2}.try_acquire();
    auto both = multi_lock{*one, {key{"a"}, key{"b"}}}.try_acquire();
    ASSERT_TRUE(first && second && both);
    const auto hanging = std::make_shared<std::atomic<int>>(0);
    const auto program = std::this_thread::get_id();
    plan_->fail_when([=](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "connect" || statement == "look") return std::nullopt;
        if (std::this_thread::get_id() == program) ++*hanging;  // and the heartbeat on its own
        return fault::hangs;
    });
    { const auto gone = *std::move(first); }
    { const auto gone = *std::move(second); }
    { const auto gone = *std::move(both); }
    one.reset();
    EXPECT_EQ(*hanging, 1);
    plan_->let_go();
}

// The callback takes longer than a statement may, and nobody else has asked the server meanwhile.
TEST_F(outage_test, a_callback_that_takes_its_time_is_no_silent_server) {
    auto one = std::make_unique<session>(faulty(), eager());
    auto held = mutex{*one, name_}.try_acquire();
    auto kept = mutex{*one, key{"kept"}}.try_acquire();
    ASSERT_TRUE(held && kept);
    std::atomic<bool> is_told = false;
    std::stop_source may_return;
    const std::stop_callback on_loss{held->lost(), [&] {
                                         is_told = true;
                                         EXPECT_TRUE(stopped(may_return.get_token(), 20s));
                                     }};
    ASSERT_TRUE(force_release(sound(), name_));
    ASSERT_TRUE(eventually([&] { return is_told.load(); }));
    one->end();  // waits for the heartbeat thread as long as a statement may take
    EXPECT_EQ(remaining(key{"kept"}), 0us) << "the server is well, and was told";
    may_return.request_stop();
}

// On a server that is well a lease is released before its destructor returns, also after an outage.
TEST_F(outage_test, after_an_outage_a_destructor_releases_before_it_returns) {
    session one{patient(), eager()};
    cut();
    EXPECT_TRUE(plan_->wait_for_strikes(3, 20s));
    plan_->heal();
    auto held = mutex{one, name_}.acquire_for(20s);
    ASSERT_TRUE(held);
    { const auto gone = *std::move(held); }
    EXPECT_EQ(remaining(name_), 0us);
}

}  // namespace
}  // namespace leasehold::testing
