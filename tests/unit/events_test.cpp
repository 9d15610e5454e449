// The events of failing networks, on the model; those of every engine are in
// tests/conformance/observer_test.cpp.
#include <atomic>

#include "database/pool.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "support/thread.hpp"
#include "support/told_events.hpp"
#include "unit/idle_connection.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class events_test : public model_test {
protected:
    database told_through_faults() {
        database_settings settings;
        settings.observer = told_;
        settings.pool_timeout = 300ms;
        settings.statement_timeout = 300ms;
        return model_.open(settings, plan_->wrapper());
    }
    bool is_told(event_kind kind, const std::string& key) {
        return eventually([&] { return !told_->of(kind, key).empty(); });
    }
    // Expects one request about name_ in doubt, settled once, as expected.
    void expect_settled(event_reason how) {
        EXPECT_TRUE(is_told(event_kind::doubt_settled, "k"));
        const auto settled = told_->only(event_kind::doubt_settled, "k");
        ASSERT_TRUE(settled);
        EXPECT_EQ(settled->reason, how) << name_of(settled->reason);
        EXPECT_GE(settled->took.value(), 0ns);
    }

    const std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
};

TEST_F(events_test, a_grant_that_a_question_found_is_a_doubt_settled_at_once) {
    session mine{told_through_faults(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::lost_after_it});
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    expect_settled(event_reason::granted);
    EXPECT_EQ(told_->count(event_kind::outcome_unknown), 0);
    EXPECT_TRUE(told_->only(event_kind::granted, "k"));
}

TEST_F(events_test, a_ghost_that_was_granted_is_told_as_released) {
    session mine{told_through_faults(), eager()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_after_it;
        if (statement == "find_grants") return fault::lost_on_the_way;
        return std::nullopt;
    });
    EXPECT_TRUE(thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); }));
    EXPECT_TRUE(told_->only(event_kind::outcome_unknown, "k"));
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    plan_->heal();
    EXPECT_EQ(told_->count(event_kind::doubt_settled), 0) << "it may still be on its way";
    mine.end();
    expect_settled(event_reason::released);
}

// The request stays in doubt for two minutes, in which nothing comes.
TEST_F(events_test, what_was_never_there_is_told_as_not_granted) {
    session mine{told_through_faults(), eager()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "try_acquire") return fault::lost_on_the_way;
        if (statement == "find_grants") return fault::lost_on_the_way;
        return std::nullopt;
    });
    EXPECT_TRUE(thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); }));
    EXPECT_TRUE(told_->only(event_kind::outcome_unknown, "k"));
    plan_->heal();
    EXPECT_TRUE(eventually([&] { return told_->count(event_kind::doubt_settled) > 0; }, 300s));
    expect_settled(event_reason::not_granted);
    EXPECT_GE(told_->only(event_kind::doubt_settled, "k")->took.value(), 120s);
}

TEST_F(events_test, what_nobody_could_be_asked_about_is_given_up) {
    {
        session mine{told_through_faults(), calm()};
        plan_->fail_when([&](std::string_view, int) {
            return std::optional{fault::lost_on_the_way};
        });
        EXPECT_TRUE(thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); }));
        EXPECT_TRUE(told_->only(event_kind::outcome_unknown, "k"));
    }
    expect_settled(event_reason::given_up);
    EXPECT_TRUE(is_told(event_kind::release_failed, ""));
    plan_->heal();
}

TEST_F(events_test, every_doubt_ends_once_whatever_fails) {
    for (int seed = 1; seed <= 20; ++seed) {
        {
            session mine{told_through_faults(), eager()};
            plan_->fail_when([seed](std::string_view, int number) -> std::optional<fault> {
                const int kind = (number * 7 + seed * 3) % 11;
                if (kind == 0) return fault::lost_after_it;
                if (kind == 1) return fault::lost_on_the_way;
                return std::nullopt;
            });
            for (int round = 0; round < 20; ++round) {
                thrown_by([&] { (void)mutex{mine, name_}.try_acquire(); });
                thrown_by([&] { (void)semaphore{mine, "s", 2}.try_acquire(); });
            }
        }
        plan_->heal();
        int found = 0;
        for (const told_event& each : told_->all()) {
            if (each.kind == event_kind::doubt_settled && each.reason == event_reason::granted) {
                ++found;
            }
        }
        EXPECT_EQ(
            told_->count(event_kind::outcome_unknown),
            told_->count(event_kind::doubt_settled) - found
        ) << "seed "
          << seed;
    }
    EXPECT_GT(told_->count(event_kind::outcome_unknown), 0);
}

TEST_F(events_test, a_heartbeat_that_fails_and_a_slow_one_are_told_apart) {
    session mine{told_through_faults(), brief()};
    plan_->fail_in_turn("heartbeat", {fault::lost_before_sending});
    EXPECT_TRUE(is_told(event_kind::late_heartbeat, ""));
    const auto late = told_->only(event_kind::late_heartbeat, "");
    ASSERT_TRUE(late);
    EXPECT_EQ(late->reason, event_reason::failed);
    EXPECT_TRUE(late->took);
    EXPECT_EQ(told_->count(event_kind::lost), 0);
    mine.end();
    // Slow: answered behind the interval, and before the time-out.
    session_settings often = eager("often");
    database_settings patient;
    patient.observer = told_;
    patient.statement_timeout = 60s;
    session slow{model_.open(patient, plan_->wrapper()), often};
    std::atomic<int> beats = 0;  // the first ones learn what is new, and are followed by another
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "heartbeat" && ++beats == 4) return fault::answered_late;
        return std::nullopt;
    });
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    local_clock::time_point until = local_clock::now() + often.heartbeat_every.value() * 2;
    EXPECT_TRUE(eventually([&] { return local_clock::now() > until; }));
    plan_->let_go();
    EXPECT_TRUE(eventually([&] {
        const auto all = told_->of(event_kind::late_heartbeat, "");
        return std::ranges::any_of(all, [](const told_event& each) {
            return each.reason == event_reason::slow && each.took > 0ns;
        });
    }));
    slow.end();  // before what the plan counts goes
}

TEST_F(events_test, a_session_that_ran_out_is_lost_as_expired_with_its_leases) {
    session mine{told_through_faults(), brief()};
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    plan_->fail_every("heartbeat", fault::lost_before_sending);
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_TRUE(is_told(event_kind::lost, "k"));
    EXPECT_EQ(told_->only(event_kind::lost, "k").value().reason, event_reason::expired);
    EXPECT_GT(told_->only(event_kind::lost, "k").value().took.value(), 0ns);
    EXPECT_EQ(told_->only(event_kind::lost, "").value().reason, event_reason::expired);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    const auto stale = told_->only(event_kind::stale_token_refused, "k");
    ASSERT_TRUE(stale);
    EXPECT_EQ(stale->reason, event_reason::expired);
    EXPECT_TRUE(is_told(event_kind::reconnected, ""));
    plan_->heal();
}

TEST_F(events_test, several_keys_that_had_gone_are_told_at_their_release_as_lone_leases_are) {
    session mine{told_through_faults(), calm()};
    auto one = mutex{mine, name_}.try_acquire();
    auto both = multi_lock{mine, {key{"a"}, key{"b"}}}.try_acquire();
    ASSERT_TRUE(one && both);
    mine.end();
    EXPECT_EQ(one->release(), release_outcome::not_held);
    EXPECT_EQ(both->release(), release_outcome::not_held);
    for (const char* each : {"k", "a", "b"}) {
        const auto stale = told_->only(event_kind::stale_token_refused, each);
        ASSERT_TRUE(stale) << each;
        EXPECT_EQ(stale->reason, event_reason::session_ended);
    }
}

TEST_F(events_test, a_release_that_cannot_be_said_is_told) {
    session mine{told_through_faults(), calm()};
    {
        auto held = mutex{mine, name_}.try_acquire();
        ASSERT_TRUE(held);
        plan_->fail_every("", fault::lost_before_sending);
    }
    EXPECT_TRUE(told_->only(event_kind::release_failed, "k"));
    plan_->heal();
}

TEST_F(events_test, a_wait_for_a_connection_is_told_when_it_is_over) {
    record made;
    database_settings settings;
    settings.max_connections = 1;
    settings.observer = told_;
    pool lends{
        [&](std::chrono::milliseconds) { return std::make_unique<idle_connection>(made); },
        settings};
    auto first = lends.take();
    EXPECT_EQ(told_->count(event_kind::connection_waited), 0) << "it did not wait";
    std::stop_source cancel;
    thread stopped_one{[&] {
        bounds limited;
        limited.cancel = cancel.get_token();
        EXPECT_TRUE(thrown_by([&] { lends.take(limited); }));
    }};
    cancel.request_stop();
    stopped_one.join();
    ASSERT_EQ(told_->count(event_kind::connection_waited), 1);
    EXPECT_EQ(
        told_->only(event_kind::connection_waited, "").value().reason, event_reason::cancelled
    );
    bounds brief_one;
    const auto asked = local_clock::now();
    brief_one.deadline = asked + 50ms;
    EXPECT_TRUE(thrown_by([&] { lends.take(brief_one); }));
    const auto answered = local_clock::now();
    EXPECT_GE(answered, brief_one.deadline);
    EXPECT_EQ(told_->all().back().reason, event_reason::timed_out);
    EXPECT_GT(told_->all().back().took.value(), 0ms);
    EXPECT_LE(told_->all().back().took.value(), answered - asked);
    // Nobody knows which thread is first: until one has had to wait.
    EXPECT_TRUE(eventually([&] {
        std::atomic<bool> is_asking = false;
        std::unique_ptr<connection> second;
        thread other{[&] {
            is_asking = true;
            second = lends.take();
        }};
        EXPECT_TRUE(eventually([&] { return is_asking.load(); }));
        lends.give_back(std::move(first));
        other.join();
        first = std::move(second);
        return told_->all().back().reason == event_reason::granted;
    }));
    lends.give_back(std::move(first));
}

}  // namespace
}  // namespace leasehold::testing
