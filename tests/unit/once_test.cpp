// leasehold::once on the model: lost answers, ghosts, and clocks that are ahead or set back.
#include "leasehold/once.hpp"

#include "leasehold/schedule.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

const schedule slow = schedule::every(std::chrono::hours{300 * 24});
const schedule hourly = schedule::every(1h);

class once_test : public model_test {
protected:
    run_info record() { return list_runs(sound(), name_.name()).at(0); }

    schedule::instant now() {
        return schedule::instant{
            model_.server().with_tables([](memory_tables& tables) { return tables.now; })};
    }
    // Settings for tests that move the clock by hours.
    static session_settings lasting(const char* name = "lasting") {
        auto settings = calm(name);
        settings.ttl = 24h;
        return settings;
    }
    // The clock goes on until so shortly before the next tick.
    schedule::instant advance_until(const schedule& when, std::chrono::microseconds before) {
        const auto tick = when.next(now() + before);
        model_.advance(tick - before - now());
        return tick;
    }
};

TEST_F(once_test, a_start_that_meets_a_fault_is_made_once_or_said_to_have_failed) {
    for (const char* statement : {"look", "claim"}) {
        for (const fault how : all_faults) {
            SCOPED_TRACE(std::string(statement) + " " + name_of(how));
            const key name = std::string(statement) + name_of(how);
            session mine{faulty(), lasting()};
            plan_->fail_in_turn(statement, {how});
            auto run = once{mine, name, slow}.try_start();
            ASSERT_TRUE(run);
            EXPECT_EQ(plan_->strikes(), 1);
            plan_->heal();
            plan_->carry_out_the_late();
            EXPECT_FALSE(is_granted(once{mine, name, slow}.try_start()));
            EXPECT_EQ(list_runs(sound(), name.name()).at(0).token, run->lease().token());
            EXPECT_EQ(run->finish(), finish_outcome::recorded);
        }
    }
}

TEST_F(once_test, an_end_that_meets_a_fault_is_recorded) {
    for (const fault how : all_faults) {
        SCOPED_TRACE(name_of(how));
        const key name = name_of(how);
        session mine{faulty(), lasting()};
        auto run = once{mine, name, slow}.try_start();
        plan_->fail_in_turn("finish", {how});
        EXPECT_EQ(run->finish({.exit_status = 4}), finish_outcome::recorded);
        EXPECT_EQ(plan_->strikes(), 1);
        plan_->heal();
        plan_->carry_out_the_late();
        const run_info last = list_runs(sound(), name.name()).at(0);
        EXPECT_EQ(last.state, run_state::succeeded);
        EXPECT_EQ(last.exit_status, 4);
        EXPECT_FALSE(model_.is_held(name));
    }
}

TEST_F(once_test, an_end_whose_answers_are_all_lost_is_unknown) {
    session mine{faulty(), lasting()};
    auto run = once{mine, name_, slow}.try_start();
    plan_->fail_every("finish", fault::lost_after_it);
    EXPECT_EQ(run->finish(), finish_outcome::unknown);
    EXPECT_EQ(record().state, run_state::succeeded);
}

TEST_F(once_test, an_end_that_could_not_be_sent_is_thrown_and_the_run_can_be_repeated) {
    session mine{faulty(), lasting()};
    {
        auto run = once{mine, name_, slow}.try_start();
        plan_->fail_every("finish", fault::lost_before_sending);
        EXPECT_TRUE(thrown_by([&] { (void)run->finish(); }));
        EXPECT_EQ(record().state, run_state::running);
        plan_->heal();
    }
    EXPECT_EQ(record().state, run_state::abandoned);
    session other{sound(), lasting("other")};
    auto again = once{other, name_, slow}.try_start();
    EXPECT_TRUE(again);
}

// The claim was given up here and waits in the server, while somebody else runs the tick.
TEST_F(once_test, a_claim_that_comes_after_it_was_given_up_changes_nothing) {
    session mine{faulty(), lasting()}, other{sound(), lasting("other")};
    plan_->fail_every("claim", fault::carried_out_late);
    EXPECT_TRUE(thrown_by([&] { (void)(once{mine, name_, slow}.try_start()); }));
    EXPECT_FALSE(model_.is_held(name_));
    plan_->heal();
    auto run = once{other, name_, slow}.try_start();
    ASSERT_TRUE(run);
    plan_->carry_out_the_late();
    EXPECT_EQ(record().token, run->lease().token());
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    EXPECT_EQ(record().state, run_state::succeeded);
}

TEST_F(once_test, who_calls_shortly_before_a_tick_waits_for_it) {
    session mine{sound(), lasting()};
    const auto tick = advance_until(hourly, 80ms);
    auto run = once{mine, name_, hourly}.start();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->tick(), tick);
    EXPECT_GE(now(), tick);
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    EXPECT_EQ(record().tick, tick);
}

TEST_F(once_test, who_calls_earlier_or_does_not_wait_goes_by_the_tick_that_is_current) {
    session mine{sound(), lasting()};
    const auto tick = advance_until(hourly, 10min);
    for (const bool waits : {true, false}) {
        const key name = waits ? "waits" : "does not";
        once task{mine, name, hourly};
        if (!waits) advance_until(hourly, 4s);
        auto run = waits ? task.start() : task.try_start();
        ASSERT_TRUE(run);
        EXPECT_EQ(run->tick(), tick - 1h);
    }
}

TEST_F(once_test, a_wait_for_a_tick_can_be_cancelled) {
    session mine{sound(), lasting()};
    advance_until(hourly, 4s);
    std::stop_source cancel;
    thread canceller{[&] { cancel.request_stop(); }};
    auto refused = once{mine, name_, hourly}.start(cancel.get_token());
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.outlook().refusal, start_refusal::none);
    EXPECT_TRUE(list_runs(sound()).empty());
}

TEST_F(once_test, a_wait_for_a_tick_ends_when_the_session_is_lost) {
    session mine{sound(), brief()};
    once_settings settings;
    settings.max_early = 1h;
    advance_until(hourly, 20min);
    model_.age_session(mine.id(), 1h);
    const auto failure = thrown_by([&] { (void)(once{mine, name_, hourly, settings}.start()); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
}

// A tick that comes too early for one and too late for another is still one.
TEST_F(once_test, nobody_waits_for_more_than_half_of_a_period) {
    session mine{sound(), lasting()};
    once_settings settings;
    settings.max_early = 1h;
    advance_until(hourly, 31min);
    EXPECT_EQ(outlook(sound(), name_, hourly, settings).refusal, start_refusal::none);
    auto run = once{mine, name_, hourly, settings}.start();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    EXPECT_EQ(outlook(sound(), name_, hourly, settings).refusal, start_refusal::already_run);
    advance_until(hourly, 29min);
    EXPECT_EQ(outlook(sound(), name_, hourly, settings).refusal, start_refusal::none);
}

TEST_F(once_test, no_tick_runs_again_when_the_clock_is_set_back) {
    session mine{sound(), lasting()};
    model_.advance(5h);
    once task{mine, name_, hourly};
    EXPECT_EQ((*task.try_start()).finish(), finish_outcome::recorded);
    model_.advance(-3h);
    for (int hour = 0; hour < 3; ++hour) {
        auto refused = task.try_start();
        EXPECT_FALSE(refused);
        EXPECT_EQ(refused.outlook().refusal, start_refusal::already_run);
        model_.advance(1h);
    }
    model_.advance(1h);
    EXPECT_TRUE(task.try_start());
}

TEST_F(once_test, ticks_nobody_called_for_are_not_made_up_for_except_the_latest) {
    session mine{sound(), lasting()};
    once task{mine, name_, hourly};
    EXPECT_EQ((*task.try_start()).finish(), finish_outcome::recorded);
    model_.advance(30min);
    model_.advance(5h);
    int runs = 0;
    while (auto run = task.try_start()) {
        EXPECT_EQ(run->finish(), finish_outcome::recorded);
        ++runs;
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(once_test, the_observer_is_told_of_refusals) {
    session mine{faulty(), lasting()};
    once task{mine, name_, slow};
    auto run = task.try_start();
    EXPECT_EQ(events_->count(event_kind::refused), 0);
    EXPECT_FALSE(is_granted(task.try_start()));
    EXPECT_EQ(events_->count(event_kind::refused), 1);
}

TEST_F(once_test, a_finish_that_ends_the_session_does_so_whatever_becomes_of_the_answers) {
    for (const char* statement : {"finish", "end_with_release"}) {
        for (const fault how : all_faults) {
            SCOPED_TRACE(std::string(statement) + " " + name_of(how));
            const key name = std::string("f") + statement + name_of(how);
            session mine{faulty(), lasting()};
            auto run = once{mine, name, slow}.try_start();
            ASSERT_TRUE(run);
            plan_->fail_in_turn(statement, {how});
            EXPECT_EQ(run->finish_and_end(mine), finish_outcome::recorded);
            plan_->heal();
            EXPECT_FALSE(mine.is_live());
            EXPECT_EQ(list_runs(sound(), name.name()).at(0).state, run_state::succeeded);
            EXPECT_FALSE(model_.is_held(name));
        }
    }
}

TEST_F(once_test, a_finish_that_ends_the_session_gives_the_key_back_in_the_same_statement) {
    session_settings settings = lasting();
    settings.begins_with_grant = true;
    session mine{faulty(), settings};
    auto run = once{mine, name_, slow}.try_start();
    ASSERT_TRUE(run);
    std::vector<std::string> sent;
    plan_->fail_when([&](std::string_view statement, int) {
        sent.emplace_back(statement);
        return std::optional<fault>{};
    });
    EXPECT_EQ(run->finish_and_end(mine), finish_outcome::recorded);
    EXPECT_EQ(sent, (std::vector<std::string>{"finish", "end_with_release"}));
    plan_->heal();
}

}  // namespace
}  // namespace leasehold::testing
