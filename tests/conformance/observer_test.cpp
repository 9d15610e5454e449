// The events that an observer gets on every engine: each one that needs no failing network. The
// others are provoked in tests/unit/events_test.cpp.
#include <optional>
#include <stop_token>

#include "conformance/suite.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/metrics.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

class observer_suite : public suite {
protected:
    database watched() {
        database_settings settings;
        settings.statement_timeout = 10s;
        settings.observer = told_;
        return current().open(settings);
    }
    // The settings of a session that asks often.
    static session_settings eager(const char* name) {
        session_settings settings = calm(name);
        settings.ttl = 60s;
        settings.heartbeat_every = 100ms;
        return settings;
    }
    std::optional<told_event> told(event_kind kind, const key& about) const {
        return told_->only(kind, about.name());
    }
    bool is_waited_for(const key& name) {
        return eventually([&] {
            const auto seen = describe(second_, name);
            return seen && seen->waiters > 0;
        });
    }

    const std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
};

TEST_F(observer_suite, a_grant_and_its_release_are_told_with_how_long_they_took) {
    session mine{watched(), calm("mine")};
    const key name = fresh("k");
    auto held = mutex{mine, name}.try_acquire();
    ASSERT_TRUE(held);
    const auto granted = told(event_kind::granted, name);
    ASSERT_TRUE(granted);
    EXPECT_EQ(granted->number, held->token().number);
    EXPECT_EQ(granted->reason, event_reason::tried);
    EXPECT_GT(granted->took.value(), 0ns);
    held->release();
    const auto released = told(event_kind::released, name);
    ASSERT_TRUE(released);
    EXPECT_EQ(released->number, held->token().number);
    EXPECT_EQ(released->reason, event_reason::released);
    EXPECT_GT(released->took.value(), 0ns);
    held->release();
    EXPECT_EQ(told_->of(event_kind::released, name.name()).size(), 1U);
}

TEST_F(observer_suite, a_refusal_is_told) {
    session mine{watched(), calm("mine")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{other, name}.try_acquire();
    EXPECT_FALSE(is_granted(mutex{mine, name}.try_acquire()));
    const auto refused = told(event_kind::refused, name);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->reason, event_reason::busy);
    EXPECT_FALSE(told(event_kind::waited_in_vain, name)) << "it did not wait";
}

TEST_F(observer_suite, a_run_that_is_not_to_be_is_told_with_its_reason) {
    session mine{watched(), calm("mine")};
    const key name = fresh("task");
    once task{mine, name, schedule::every(24h)};
    auto run = task.try_start();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    EXPECT_FALSE(is_granted(task.try_start()));
    const auto refused = told(event_kind::refused, name);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->reason, event_reason::already_run);
}

TEST_F(observer_suite, an_on_lost_that_throws_is_told_and_ends_nothing_else) {
    session mine{watched(), calm("mine")};
    for (const bool is_standard : {true, false}) {
        const key name = fresh("office");
        election_settings settings;
        settings.on_lost = [&](fencing_token, loss_reason) {
            if (is_standard) throw std::runtime_error{"no ink"};
            throw 42;
        };
        auto leading = leader_election{mine, name, settings}.try_campaign();
        ASSERT_TRUE(leading);
        EXPECT_EQ(leading->resign(), release_outcome::released);
        const auto warned = told(event_kind::warning, name);
        ASSERT_TRUE(warned);
        const std::string words = is_standard ? "no ink" : "an exception that is no std::exception";
        EXPECT_EQ(warned->detail, "on_lost has thrown: " + words);
        EXPECT_TRUE(mine.is_live());
    }
}

TEST_F(observer_suite, a_hand_over_is_told_by_who_releases_and_a_grant_by_who_waited) {
    session mine{watched(), calm("mine")}, waiting{watched(), calm("waiting")};
    const key name = fresh("k");
    auto held = mutex{mine, name}.try_acquire();
    ASSERT_TRUE(held);
    std::int64_t next = 0;
    thread waiter{[&] {
        auto got = mutex{waiting, name}.acquire_for(30s);
        EXPECT_TRUE(got);
        if (got) next = got->token().number;
    }};
    ASSERT_TRUE(is_waited_for(name));
    held->release();
    waiter.join();
    const auto passed = told(event_kind::handed_over, name);
    ASSERT_TRUE(passed);
    EXPECT_EQ(passed->number, next);
    EXPECT_EQ(passed->reason, event_reason::released);
    const auto grants = told_->of(event_kind::granted, name.name());
    ASSERT_EQ(grants.size(), 2U);
    EXPECT_EQ(grants.back().number, next);
    EXPECT_EQ(grants.back().reason, event_reason::handed_over);
    const auto released = told_->of(event_kind::released, name.name());
    ASSERT_EQ(released.size(), 2U);
}

TEST_F(observer_suite, a_key_whose_holder_died_is_handed_over_by_who_finds_it) {
    session dead{second_, calm("dead")}, waiting{watched(), calm("waiting")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    ASSERT_TRUE(held);
    thread waiter{[&] { EXPECT_TRUE((mutex{waiting, name}.acquire_for(30s))); }};
    ASSERT_TRUE(is_waited_for(name));
    expire(dead);
    waiter.join();
    const auto granted = told(event_kind::granted, name);
    ASSERT_TRUE(granted);
    EXPECT_EQ(granted->reason, event_reason::handed_over);
    const auto passed = told(event_kind::handed_over, name);
    ASSERT_TRUE(passed);
    EXPECT_EQ(passed->reason, event_reason::found_free);
    EXPECT_EQ(passed->number, granted->number);
}

TEST_F(observer_suite, a_wait_in_vain_is_told_whoever_ended_it) {
    session mine{watched(), calm("mine")}, other{second_, calm("other")};
    const key name = fresh("k"), counted = fresh("s"), several = fresh("m");
    auto held = mutex{other, name}.try_acquire();
    auto permit = semaphore{other, counted, 1}.try_acquire();
    auto one = mutex{other, several}.try_acquire();
    EXPECT_FALSE(is_granted(mutex{mine, name}.acquire_for(50ms)));
    EXPECT_FALSE(is_granted(semaphore{mine, counted, 1}.acquire_for(50ms)));
    EXPECT_FALSE(is_granted(multi_lock{mine, {several}}.acquire_for(50ms)));
    for (const key& each : {name, counted, several}) {
        const auto vain = told(event_kind::waited_in_vain, each);
        ASSERT_TRUE(vain) << each.name();
        EXPECT_EQ(vain->reason, event_reason::timed_out);
        EXPECT_GE(vain->took.value(), 50ms);
    }
    std::stop_source cancel;
    thread waiter{[&] { EXPECT_FALSE(is_granted(mutex{mine, name}.acquire(cancel.get_token()))); }};
    EXPECT_TRUE(is_waited_for(name));
    cancel.request_stop();
    waiter.join();
    const auto vain = told_->of(event_kind::waited_in_vain, name.name());
    ASSERT_EQ(vain.size(), 2U);
    EXPECT_EQ(vain.back().reason, event_reason::cancelled);
}

TEST_F(observer_suite, locks_of_all_kinds_tell_alike) {
    session mine{watched(), calm("mine")};
    const key one = fresh("one"), two = fresh("two"), counted = fresh("s");
    auto both = multi_lock{mine, {one, two}}.try_acquire();
    auto permit = semaphore{mine, counted, 2}.try_acquire();
    ASSERT_TRUE(both && permit);
    both->release();
    permit->release();
    for (const key& each : {one, two, counted}) {
        const auto granted = told(event_kind::granted, each);
        const auto released = told(event_kind::released, each);
        ASSERT_TRUE(granted && released) << each.name();
        EXPECT_EQ(granted->reason, event_reason::tried);
        EXPECT_TRUE(granted->took && released->took);
        EXPECT_EQ(granted->number, released->number);
    }
}

TEST_F(observer_suite, force_is_told_by_who_uses_it_and_by_who_lost) {
    session mine{watched(), eager("mine")};
    const key name = fresh("k");
    auto held = mutex{mine, name}.try_acquire();
    ASSERT_TRUE(held);
    ASSERT_TRUE(force_release(watched(), name));
    const auto released = told(event_kind::released, name);
    ASSERT_TRUE(released);
    EXPECT_EQ(released->reason, event_reason::forced);
    EXPECT_FALSE(released->took);
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_TRUE(eventually([&] { return told(event_kind::lost, name).has_value(); }));
    const auto lost = told(event_kind::lost, name);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->reason, event_reason::taken_over);
    EXPECT_GT(lost->took.value(), 0ns);
    transaction tx = first_.begin();
    EXPECT_TRUE(thrown_by([&] { held->verify_in(tx); }));
    const auto stale = told(event_kind::stale_token_refused, name);
    ASSERT_TRUE(stale);
    EXPECT_EQ(stale->reason, event_reason::taken_over);
}

// As the leases of two mutexes would: the observer is not told of a key that went as it should.
TEST_F(observer_suite, the_release_of_several_keys_tells_of_each_what_a_lone_lease_would) {
    session mine{watched(), calm("mine")};
    const key gone = fresh("gone"), kept = fresh("kept");
    auto held = multi_lock{mine, {gone, kept}}.try_acquire();
    ASSERT_TRUE(held);
    ASSERT_TRUE(force_release(second_, gone));
    EXPECT_EQ(held->release(), release_outcome::not_held);
    EXPECT_EQ(told_->of(event_kind::stale_token_refused, gone.name()).size(), 1U);
    EXPECT_TRUE(told_->of(event_kind::stale_token_refused, kept.name()).empty());
    EXPECT_EQ(told_->of(event_kind::released, kept.name()).size(), 1U);
    EXPECT_TRUE(told_->of(event_kind::released, gone.name()).empty());
}

TEST_F(observer_suite, a_session_that_ends_is_told_with_its_leases) {
    const key name = fresh("k"), kept = fresh("kept");
    session dying{watched(), eager("dying")}, ending{watched(), calm("ending")};
    auto held = mutex{dying, name}.try_acquire();
    auto left = mutex{ending, kept}.try_acquire();
    ASSERT_TRUE(held && left);
    current().remove_session_row(dying.id());
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_TRUE(eventually([&] { return told(event_kind::lost, name).has_value(); }));
    EXPECT_EQ(told(event_kind::lost, name).value().reason, event_reason::ended_by_server);
    const auto whole = told_->only(event_kind::lost, "");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->reason, event_reason::ended_by_server);
    ending.end();
    EXPECT_EQ(told(event_kind::lost, kept).value().reason, event_reason::session_ended);
}

TEST_F(observer_suite, an_adoption_is_told) {
    session mine{watched(), calm("mine")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto first = mutex{other, name}.try_acquire();
    ASSERT_TRUE(first);
    auto held = adopt(mine, detach(std::move(*first)));
    ASSERT_TRUE(held);
    EXPECT_EQ(told(event_kind::granted, name).value().reason, event_reason::adopted);
}

TEST_F(observer_suite, a_request_to_let_go_is_told) {
    session mine{watched(), eager("mine")};
    const key name = fresh("k");
    auto held = mutex{mine, name}.try_acquire();
    ASSERT_TRUE(request_revoke(second_, name));
    EXPECT_TRUE(eventually([&] { return told(event_kind::revoke_requested, name).has_value(); }));
    EXPECT_EQ(told(event_kind::revoke_requested, name).value().number, held->token().number);
}

// A pending lease that nobody confirms is in doubt until the session has asked.
TEST_F(observer_suite, a_doubt_is_told_with_what_came_of_it) {
    session mine{watched(), eager("mine")};
    ASSERT_TRUE((mutex{mine, fresh("first")}.try_acquire()));  // it has begun
    for (const bool does_commit : {true, false}) {
        const key name = fresh("k");
        {
            transaction tx = first_.begin();
            auto pending = mutex{mine, name}.try_acquire_in(tx);
            ASSERT_TRUE(pending);
            does_commit ? tx.commit() : tx.rollback();
        }
        ASSERT_TRUE(told(event_kind::outcome_unknown, name));
        EXPECT_TRUE(eventually([&] { return told(event_kind::doubt_settled, name).has_value(); }));
        const auto settled = told(event_kind::doubt_settled, name);
        ASSERT_TRUE(settled);
        const bool was_there = settled->reason == event_reason::released;
        EXPECT_TRUE(was_there || settled->reason == event_reason::not_granted);
        EXPECT_TRUE(was_there || !does_commit);
        EXPECT_TRUE(settled->took);
    }
}

TEST_F(observer_suite, a_transaction_that_was_rolled_back_is_told) {
    session mine{watched(), calm("mine")};
    ASSERT_TRUE((mutex{mine, fresh("first")}.try_acquire()));
    const key name = fresh("k");
    transaction tx = first_.begin();
    auto pending = mutex{mine, name}.try_acquire_in(tx);
    ASSERT_TRUE(pending);
    tx.rollback();
    EXPECT_FALSE(is_granted(pending->confirm()));
    const auto released = told(event_kind::released, name);
    ASSERT_TRUE(released);
    EXPECT_EQ(released->reason, event_reason::rolled_back);
    EXPECT_TRUE(released->took);
    EXPECT_FALSE(told(event_kind::lost, name));
}

TEST_F(observer_suite, what_was_cleaned_is_told) {
    session dead{second_, calm("dead")};
    auto held = mutex{dead, fresh("k")}.try_acquire();
    ASSERT_TRUE(held);
    current().age_session(dead.id(), 1000h);
    const auto report = reap(watched());
    ASSERT_GT(report.sessions_removed + report.locks_freed, 0);
    const auto reaped = told_->only(event_kind::reaped, "");
    ASSERT_TRUE(reaped);
    EXPECT_EQ(reaped->reason, event_reason::dead_rows);
    EXPECT_GT(reaped->number, 0);
}

TEST_F(observer_suite, a_wait_for_a_connection_is_told_and_the_use_of_the_pool_known) {
    database_settings settings;
    settings.max_connections = 1;
    settings.observer = told_;
    settings.pool_timeout = 2s;  // in which the only connection is made, too
    const database small = current().open(settings);
    EXPECT_EQ(small.pool_usage().max, 1);
    std::optional<transaction> only = small.begin();
    EXPECT_EQ(small.pool_usage().lent, 1);
    EXPECT_EQ(small.pool_usage().idle, 0);
    EXPECT_TRUE(thrown_by([&] { small.server(); }));
    const auto waited = told_->only(event_kind::connection_waited, "");
    ASSERT_TRUE(waited);
    EXPECT_EQ(waited->reason, event_reason::timed_out);
    EXPECT_GE(waited->took.value(), 2s);
    only.reset();
    EXPECT_EQ(small.pool_usage().lent, 0);
    EXPECT_EQ(small.pool_usage().idle, 1);
}

TEST_F(observer_suite, metrics_count_what_happens) {
    const auto counts = std::make_shared<metrics>();
    database_settings settings;
    settings.statement_timeout = 10s;
    settings.observer = counts;
    const database db = current().open(settings);
    session mine{db, calm("mine")};
    const key name = fresh("k");
    {
        auto held = mutex{mine, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_FALSE(is_granted(mutex{mine, name}.try_acquire()));
    }
    const std::string page = counts->text(db);
    for (const char* const line :
         {"leasehold_grants_total{reason=\"tried\"} 1\n",
          "leasehold_refusals_total{reason=\"busy\"} 1\n",
          "leasehold_releases_total{reason=\"released\"} 1\n",
          "leasehold_wait_seconds_count{outcome=\"granted\"} 1\n",
          "leasehold_hold_seconds_count{outcome=\"released\"} 1\n",
          "leasehold_connections_max 8\n"}) {
        EXPECT_NE(page.find(line), std::string::npos) << line << page;
    }
}

}  // namespace
}  // namespace leasehold::testing
