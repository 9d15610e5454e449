// Requests whose answers are lost, one by one: the reports, and that the database ends up with at
// most one holder and no key stuck.
#include <atomic>
#include <thread>

#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using acquire_test = model_test;

// ----------------------------------------------------------------------------- one lost acquire

TEST_F(acquire_test, a_grant_whose_answer_was_lost_is_found_again_by_its_owner_id) {
    session mine{faulty(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::lost_after_it});
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(plan_->strikes(), 1);
    const auto found = row(name_);
    EXPECT_EQ(found->fence, 1) << "a second grant";
    EXPECT_EQ(held->token().number, 1);
    EXPECT_EQ(held->owner(), *found->owner);
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(events_->count(event_kind::granted), 1);
    EXPECT_EQ(events_->count(event_kind::outcome_unknown), 0);
}

TEST_F(acquire_test, a_try_that_was_lost_on_the_way_is_made_again) {
    session mine{faulty(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::lost_on_the_way});
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(row(name_)->fence, 1);
    EXPECT_TRUE(held->verify());
}

TEST_F(acquire_test, a_try_proved_not_done_is_made_again_without_asking) {
    for (const fault how : {fault::lost_before_sending, fault::refused}) {
        std::atomic<int> questions = 0;
        std::atomic<int> tries = 0;
        session mine{faulty(), calm()};
        plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
            if (statement == "find_grants") ++questions;
            if (statement == "try_acquire" && ++tries == 1) return how;
            return std::nullopt;
        });
        auto held = mutex{mine, name_}.try_acquire();
        EXPECT_TRUE(held) << name_of(how);
        EXPECT_EQ(questions, 0);
        EXPECT_EQ(events_->count(event_kind::outcome_unknown), 0);
        plan_->heal();
    }
}

// Promise 9, and the settling: the session lives, and nobody waits for its end.
TEST_F(acquire_test, a_grant_that_cannot_be_asked_for_is_unknown_and_settled_by_the_session) {
    std::atomic<bool> is_down = true;
    session mine{faulty(), calm()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (!is_down) return std::nullopt;
        if (statement == "try_acquire") return fault::lost_after_it;
        return fault::lost_on_the_way;
    });
    mutex closing{mine, name_};
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    EXPECT_NE(std::string(failure->what()).find("'k'"), std::string::npos);
    EXPECT_TRUE(model_.is_held(name_)) << "the test is about a grant nobody knows of";
    EXPECT_EQ(events_->count(event_kind::outcome_unknown), 1);
    is_down = false;
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    EXPECT_TRUE(mine.is_live());
    auto next = closing.acquire_for(20s);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->token().number, 2);
    EXPECT_TRUE(next->verify());
}

TEST_F(acquire_test, an_answer_that_cannot_be_had_ends_no_wait) {
    std::atomic<int> lost = 0;
    session mine{faulty(), calm()};
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (lost >= 12) return std::nullopt;
        ++lost;
        return statement == "try_acquire" ? fault::lost_after_it : fault::lost_on_the_way;
    });
    auto held = mutex{mine, name_}.acquire_for(20s);
    ASSERT_TRUE(held);
    EXPECT_GE(lost, 12);
    EXPECT_TRUE(held->verify());
}

// A server that is starting, or full, is worth waiting for, whatever the kind.
TEST_F(acquire_test, an_outage_that_passes_ends_no_wait_of_any_kind) {
    error_facts starting;
    starting.is_passing = true;
    const auto wait_through = [&](const char* lost, auto&& acquire) {
        session mine{faulty(), calm()};
        const int settled = events_->count(event_kind::outcome_unknown);
        plan_->fail_when([&, settled](std::string_view statement, int) -> std::optional<fault> {
            // Until the question after the lost answer has failed, too.
            if (events_->count(event_kind::outcome_unknown) > settled) return std::nullopt;
            if (statement == lost) return fault::lost_after_it;
            throw error(errc::connection_failed, "the server is starting", starting);
        });
        EXPECT_TRUE(acquire(mine)) << lost;
        EXPECT_GT(events_->count(event_kind::outcome_unknown), settled) << lost;
        plan_->heal();
    };
    const auto hold = "try_acquire_hold";
    wait_through("try_acquire", [](session& mine) { return mutex{mine, "m"}.acquire_for(20s); });
    wait_through(hold, [](session& mine) { return semaphore{mine, "s", 2}.acquire_for(20s, 2); });
    wait_through(hold, [](session& mine) { return shared_mutex{mine, "r"}.acquire_for(20s); });
}

// Given up here, carried out there: the statement waited in the server.
TEST_F(acquire_test, a_grant_that_comes_after_it_was_given_up_does_not_stay) {
    session mine{faulty(), eager()};
    plan_->fail_in_turn("try_acquire", {fault::carried_out_late, fault::carried_out_late});
    mutex closing{mine, name_};
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::timed_out);
    EXPECT_TRUE(failure->outcome_is_unknown());
    EXPECT_FALSE(model_.is_held(name_));
    plan_->carry_out_the_late();
    EXPECT_GE(row(name_)->fence, 1);  // the second may come when the first is released
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    EXPECT_TRUE(mine.is_live());
}

// Heartbeats may be hours apart; the request is not left in doubt until the next.
TEST_F(acquire_test, a_late_grant_does_not_stay_until_a_rare_heartbeat) {
    session mine{faulty(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::carried_out_late, fault::carried_out_late});
    EXPECT_TRUE(thrown_by([&] { (void)mutex(mine, name_).try_acquire(); }));
    // The first round of releases has passed and found nothing.
    const auto started = row(mine.id())->started_at;
    ASSERT_TRUE(eventually([&] { return row(mine.id())->heartbeat_at > started; }));
    plan_->carry_out_the_late();
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    EXPECT_GE(row(name_)->fence, 1);  // the second may come when the first is released
}

TEST_F(acquire_test, a_late_grant_does_not_disturb_the_one_that_was_made_instead) {
    session mine{faulty(), eager()};
    plan_->fail_in_turn("try_acquire", {fault::carried_out_late});
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    plan_->carry_out_the_late();
    const auto beats = row(mine.id())->heartbeat_at;
    ASSERT_TRUE(eventually([&] { return row(mine.id())->heartbeat_at > beats + 100ms; }));
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(row(name_)->fence, 1);
    EXPECT_EQ(held->release(), release_outcome::released);
}

// A ghost that comes when its session is over finds it dead, not missing.
TEST_F(acquire_test, a_grant_carried_out_after_the_session_ended_is_refused) {
    std::optional<session> mine{std::in_place, faulty(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::carried_out_late, fault::carried_out_late});
    mutex closing{*mine, name_};
    EXPECT_TRUE(thrown_by([&] { (void)closing.try_acquire(); }));
    const auto id = mine->id();
    mine.reset();
    plan_->carry_out_the_late();
    EXPECT_FALSE(row(name_));
    EXPECT_TRUE(row(id)) << "its row is kept, expired, for what it sent";
}

// ---------------------------------------------------------------------------------- one release

class lost_release : public model_test, public ::testing::WithParamInterface<fault> {};
TEST_P(lost_release, is_reported_released_and_the_key_is_free) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_in_turn("release", {GetParam()});
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_EQ(held->release(), release_outcome::not_held);
    session other{sound(), calm("other")};
    auto next = mutex{other, name_}.try_acquire();
    ASSERT_TRUE(next);
    plan_->carry_out_the_late();
    EXPECT_TRUE(next->verify()) << "a late release freed somebody else's hold";
}
INSTANTIATE_TEST_SUITE_P(
    acquire_test,
    lost_release,
    ::testing::ValuesIn(all_faults),
    [](const auto& each) { return name_of(each.param); }
);

TEST_F(acquire_test, a_release_nobody_answers_is_unknown_and_settled_by_the_session) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("release", fault::lost_on_the_way);
    EXPECT_EQ(held->release(), release_outcome::unknown);
    EXPECT_TRUE(model_.is_held(name_));
    plan_->heal();
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
    EXPECT_TRUE(mine.is_live());
}

// The first attempt may have done it, or force was faster: nobody can tell any more.
TEST_F(acquire_test, a_lost_release_that_force_may_have_overtaken_is_unknown) {
    database operators = sound();
    std::atomic<int> releases = 0;
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement != "release" || ++releases > 1) return std::nullopt;
        EXPECT_TRUE(force_release(operators, name_));
        return fault::lost_on_the_way;
    });
    EXPECT_EQ(held->release(), release_outcome::unknown);
    EXPECT_FALSE(model_.is_held(name_));
}

// Nobody has the lease any more that could try again, so the session does.
TEST_F(acquire_test, a_release_that_failed_for_good_is_thrown_and_settled_by_the_session) {
    std::atomic<int> releases = 0;
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "release" && ++releases == 1) {
            throw error(errc::read_only, "this is a replica");
        }
        return std::nullopt;
    });
    const auto failure = thrown_by([&] { held->release(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::read_only);
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

TEST_F(acquire_test, a_lost_level_of_a_recursive_hold_does_not_keep_the_key) {
    for (const fault how : all_faults) {
        session mine{faulty(), calm()};
        mutex closing{mine, name_, {.recursive = true}};
        auto outer = closing.try_acquire();
        plan_->fail_in_turn("reenter", {how});
        EXPECT_TRUE(thrown_by([&] { (void)closing.try_acquire(); })) << name_of(how);
        plan_->carry_out_the_late();
        EXPECT_EQ(outer->release(), release_outcome::released) << name_of(how);
        EXPECT_FALSE(model_.is_held(name_)) << name_of(how);
        plan_->heal();
    }
}

// ------------------------------------------------ fail the Nth call, N = 1 … until none is failed

class every_call : public model_test, public ::testing::WithParamInterface<fault> {
protected:
    // Runs `test(number)` for each call it makes, with that call failing, until one run has passed
    // without being touched. Each run has a key of its own.
    void fail_each_call(const std::function<void(const key&, int)>& test) {
        int number = 0;
        do {
            ASSERT_LT(++number, 50) << "an operation that never ends";
            SCOPED_TRACE("call " + std::to_string(number) + " " + name_of(GetParam()));
            was_struck_ = false;
            test(key{"k" + std::to_string(number)}, number);
        } while (was_struck_);
        EXPECT_GT(number, 1) << "no call was failed";
    }

    // The calls that were to fail are over; from here on the test asks for itself.
    void heal() {
        was_struck_ = plan_->strikes() > 0;
        plan_->heal();
    }

    // Nobody is left out for long, whatever happened, and the token has grown.
    void expect_free_soon(const key& name, std::int64_t last_token) {
        EXPECT_TRUE(model_.wait_until_free(name, 20s)) << "stuck";
        session other{sound(), calm("other")};
        auto next = mutex{other, name}.try_acquire();
        ASSERT_TRUE(next);
        EXPECT_GT(next->token().number, last_token);
        plan_->carry_out_the_late();
        EXPECT_TRUE(next->verify()) << "two holders";
    }

    bool was_struck_ = false;
};

TEST_P(every_call, of_an_acquire) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), calm()};
        mutex closing{mine, name};
        plan_->fail_call(number, GetParam());
        std::optional<acquisition> got;
        const auto failure = thrown_by([&] { got.emplace(closing.try_acquire()); });
        heal();
        std::int64_t token = 0;
        if (got && *got) {
            token = (*got)->token().number;
            EXPECT_EQ(row(name)->owner, (*got)->owner());
            EXPECT_EQ(row(name)->fence, token);
            plan_->carry_out_the_late();
            EXPECT_TRUE((*got)->verify()) << "the holder is not the holder";
            EXPECT_EQ((*got)->release(), release_outcome::released);
        } else {
            EXPECT_TRUE(failure || got->holder()) << "free, and refused";
            plan_->carry_out_the_late();
        }
        EXPECT_TRUE(mine.is_live());
        expect_free_soon(name, token);
    });
}

TEST_P(every_call, of_a_release) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), calm()};
        auto held = mutex{mine, name}.try_acquire();
        plan_->fail_call(number, GetParam());
        const auto outcome = held->release();
        heal();
        EXPECT_TRUE(outcome == release_outcome::released || outcome == release_outcome::unknown);
        EXPECT_TRUE(outcome == release_outcome::unknown || !model_.is_held(name));
        EXPECT_TRUE(held->lost().stop_requested());
        expect_free_soon(name, held->token().number);
    });
}

TEST_P(every_call, of_a_verification) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), calm()};
        auto held = mutex{mine, name}.try_acquire();
        plan_->fail_call(number, GetParam());
        std::optional<bool> answer;
        const auto failure = thrown_by([&] { answer = held->verify(); });
        heal();
        EXPECT_NE(failure.has_value(), answer.has_value());
        EXPECT_TRUE(answer.value_or(true)) << "held, and denied";
        EXPECT_FALSE(held->lost().stop_requested()) << "a question that failed takes nothing away";
        EXPECT_TRUE(held->verify());
        EXPECT_EQ(held->release(), release_outcome::released);
        expect_free_soon(name, held->token().number);
    });
}

TEST_P(every_call, of_a_proof_and_its_commit) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), calm()};
        auto held = mutex{mine, name}.try_acquire();
        plan_->fail_call(number, GetParam());
        const auto failure = thrown_by([&] {
            transaction tx = mine.database().begin();
            held->verify_in(tx);
            tx.commit();
        });
        heal();
        EXPECT_FALSE(failure && failure->code() == errc::lease_lost) << "held, and denied";
        plan_->carry_out_the_late();
        EXPECT_TRUE(row(name)->provers.empty()) << "a proof that outlives its transaction";
        EXPECT_EQ(held->release(), release_outcome::released);
        expect_free_soon(name, held->token().number);
    });
}

TEST_P(every_call, of_a_sessions_start) {
    fail_each_call([&](const key& name, int number) {
        database mine = faulty();
        plan_->fail_call(number, GetParam());
        std::optional<session> started;
        const auto failure = thrown_by([&] { started.emplace(mine, eager()); });
        heal();
        plan_->carry_out_the_late();
        if (started) {
            EXPECT_TRUE(row(started->id()));
            const auto deadline = started->deadline();
            EXPECT_TRUE(eventually([&] { return started->deadline() > deadline; }));
            auto held = mutex{*started, name}.try_acquire();
            EXPECT_TRUE(held);
        } else {
            EXPECT_TRUE(failure->is_transient());
        }
        started.reset();
        const auto left = model_.server().with_tables([](const memory_tables& tables) {
            return std::count_if(
                tables.sessions.begin(),
                tables.sessions.end(),
                [](const auto& each) { return each.second.node_info.starts_with("eager"); }
            );
        });
        EXPECT_LE(left, 1) << "at most the row of a start that was given up";
        model_.server().with_tables([](memory_tables& tables) { tables.sessions.clear(); });
    });
}

TEST_P(every_call, of_a_heartbeat) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), eager()};
        auto held = mutex{mine, name}.try_acquire();
        const auto before = mine.deadline();
        ASSERT_TRUE(eventually([&] { return mine.deadline() > before; }));
        if (number > 4) return;  // the heartbeat, a connection, the question, the heartbeat again
        plan_->fail_call(number, GetParam());
        ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
        heal();
        const auto deadline = mine.deadline();
        EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline; })) << "gave up renewing";
        plan_->carry_out_the_late();
        EXPECT_TRUE(mine.is_live());
        EXPECT_FALSE(held->lost().stop_requested());
        EXPECT_TRUE(held->verify());
        EXPECT_EQ(held->release(), release_outcome::released);
        expect_free_soon(name, held->token().number);
    });
}

TEST_P(every_call, of_a_sessions_end) {
    fail_each_call([&](const key& name, int number) {
        session mine{faulty(), calm()};
        auto held = mutex{mine, name}.try_acquire();
        plan_->fail_call(number, GetParam());
        mine.end();
        heal();
        EXPECT_TRUE(held->lost().stop_requested());
        plan_->carry_out_the_late();
        // With one failing call at most one of "release" and "end" is lost; either frees the key.
        EXPECT_FALSE(model_.is_held(name));
        expect_free_soon(name, held->token().number);
    });
}

INSTANTIATE_TEST_SUITE_P(
    acquire_test,
    every_call,
    ::testing::ValuesIn(all_faults),
    [](const auto& each) { return name_of(each.param); }
);

// ------------------------------------------------------------------------------- many, at random

// Contenders over bad networks, each failing every so many calls in a way of its own: no two of
// them ever hold the key at once, by the only measure that counts, which is the proof.
TEST_F(acquire_test, contenders_over_bad_networks_never_hold_together) {
    constexpr int contenders = 5;
    constexpr int proofs_wanted = 60;
    constexpr int max_rounds = 100;  // each takes 2 s where a grant nobody knows of is in the way
    std::atomic<int> inside = 0;
    std::atomic<int> together = 0;
    std::atomic<int> proofs = 0;
    const auto contend = [&](int me) {
        const auto plan = std::make_shared<fault_plan>();
        database_settings hasty;
        hasty.pool_timeout = 300ms;
        hasty.statement_timeout = 100ms;
        session mine{model_.open(hasty, plan->wrapper()), eager()};
        plan->fail_when([me](std::string_view, int number) -> std::optional<fault> {
            if (number % (11 + me) != 0) return std::nullopt;
            return all_faults[static_cast<std::size_t>(number / (11 + me)) % std::size(all_faults)];
        });
        mutex closing{mine, name_, {.min_poll = 1ms, .max_poll = 4ms}};
        for (int round = 0; round < max_rounds && proofs < proofs_wanted; ++round) {
            plan->carry_out_the_late();
            try {
                auto held = closing.acquire_for(2s);
                if (!held) continue;
                transaction tx = mine.database().begin();
                held->verify_in(tx);
                if (++inside > 1) ++together;
                std::this_thread::yield();
                ++proofs;
                --inside;
                tx.commit();
            } catch (const error& failure) {
                EXPECT_TRUE(failure.is_transient()) << failure.what();
            }
        }
        plan->heal();
    };
    {
        std::vector<thread> threads;
        for (int each = 0; each < contenders; ++each) threads.emplace_back(contend, each);
    }
    EXPECT_EQ(together, 0);
    EXPECT_GE(proofs, proofs_wanted) << "too few to mean anything";
}

}  // namespace
}  // namespace leasehold::testing
