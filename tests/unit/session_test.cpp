// leasehold::session on the model: told before lost, never revived, and what its end leaves behind.
#include <malloc.h>

#include <atomic>
#include <iostream>
#include <latch>
#include <thread>

#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using session_test = model_test;

// ---------------------------------------------------------------------------- told before lost

class cut_off : public model_test, public ::testing::WithParamInterface<fault> {};

// Promise 5: at the moment the holder is told, the database still refuses everybody else.
TEST_P(cut_off, a_holder_is_told_before_the_database_lets_go) {
    session mine{faulty(), brief()};
    session other{sound(), calm("other")};
    mutex closing{mine, name_};
    auto held = closing.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<std::int64_t> left = -1;
    std::atomic<bool> others_got_it = true;
    const std::stop_callback on_loss{held->lost(), [&] {
                                         others_got_it =
                                             is_granted(mutex(other, name_).try_acquire());
                                         left = remaining(name_).count();
                                     }};
    plan_->fail_every("heartbeat", GetParam());
    ASSERT_TRUE(stopped(held->lost(), 20s));
    ASSERT_TRUE(eventually([&] { return left != -1; }));
    EXPECT_FALSE(others_got_it);
    EXPECT_GT(left, 0) << "told only when the lease was over";
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_FALSE(held->held_locally());
    EXPECT_FALSE(mine.is_live());
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_GE(plan_->strikes(), 1);
    plan_->let_go();
}

INSTANTIATE_TEST_SUITE_P(
    session_test,
    cut_off,
    ::testing::Values(
        fault::lost_before_sending, fault::lost_on_the_way, fault::refused, fault::hangs
    ),
    [](const auto& each) { return name_of(each.param); }
);

// The first start is carried out, its answer lost, and its row dead before it is asked again: what
// is handed out must be a session that lives.
TEST_F(session_test, a_start_that_is_asked_again_after_its_row_has_expired_gives_a_live_session) {
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement != "start") return std::nullopt;
        if (plan_->strikes() == 0) return fault::lost_after_it;
        for (const session_info& each : list_sessions(sound())) model_.age_session(each.id, 2h);
        return std::nullopt;
    });
    session mine{faulty(), calm()};
    EXPECT_EQ(plan_->strikes(), 1);
    EXPECT_TRUE(mutex(mine, name_).try_acquire());
}

// The database goes on renewing for a holder that hears nothing; it must stop all the same.
TEST_F(session_test, renewals_whose_answers_are_lost_do_not_count) {
    session mine{faulty(), brief()};
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    plan_->fail_every("heartbeat", fault::lost_after_it);
    const auto cut_off = local_clock::now();
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_LE(mine.deadline(), cut_off + 1600ms) << "only what was sent before may count";
}

// Promise 6. The heartbeat was sent in time and is carried out, but its answer comes too late.
TEST_F(session_test, a_late_success_does_not_revive) {
    auto settings = brief();
    settings.heartbeat_every = 700ms;  // lost 0.6 s before the call gives up waiting for its answer
    session mine{patient(), settings};
    mutex closing{mine, name_};
    auto held = closing.try_acquire();
    plan_->fail_every("heartbeat", fault::answered_late);
    ASSERT_TRUE(stopped(mine.lost(), 20s));
    const auto deadline = mine.deadline();
    plan_->heal();
    plan_->let_go();
    // The answer arrives; the session's goodbye follows it, and no heartbeat.
    ASSERT_TRUE(model_.wait_until_free(name_, 20s));
    EXPECT_FALSE(mine.is_live());
    EXPECT_EQ(mine.why_lost(), loss_reason::expired);
    EXPECT_EQ(mine.deadline(), deadline);
    EXPECT_FALSE(held->held_locally());
    EXPECT_FALSE(held->verify());
    const auto failure = thrown_by([&] { (void)closing.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
}

TEST_F(session_test, an_outage_shorter_than_the_lease_is_ridden_over) {
    session mine{faulty(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("", fault::lost_before_sending);  // also every attempt to connect
    ASSERT_TRUE(plan_->wait_for_strikes(4, 20s));
    const auto deadline = mine.deadline();
    plan_->heal();
    EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline; }));
    EXPECT_TRUE(held->verify());
    EXPECT_GE(events_->count(event_kind::late_heartbeat), 3);
}

// A fail-over, or a machine that stood still.
TEST_F(session_test, how_near_it_came_to_its_loss_is_known_and_told_once) {
    session mine{faulty(), eager()};
    EXPECT_TRUE(eventually([&] { return mine.longest_gap() >= 20ms; }));
    test_time::advance(20s);
    EXPECT_TRUE(eventually([&] { return mine.longest_gap() >= 20s; }));
    EXPECT_EQ(events_->count(event_kind::warning), 0);
    test_time::advance(45s);
    EXPECT_TRUE(eventually([&] { return mine.longest_gap() >= 45s; }));
    EXPECT_TRUE(eventually([&] { return events_->count(event_kind::warning) == 1; }));
    const auto deadline = mine.deadline();
    EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline + 1s; }));
    EXPECT_EQ(events_->count(event_kind::warning), 1);
    EXPECT_TRUE(mine.is_live());
}

// Swallowed, not refused: the call comes back only when its time is up.
TEST_F(session_test, a_heartbeat_without_an_answer_leaves_time_for_another) {
    auto settings = eager();
    settings.ttl = 6s;
    session mine{patient(), settings};
    plan_->fail_in_turn("heartbeat", {fault::hangs});
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    const auto deadline = mine.deadline();
    EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline || !mine.is_live(); }));
    EXPECT_TRUE(mine.is_live());
}

TEST_F(session_test, who_is_told_of_force_may_take_his_time) {
    session mine{faulty(), eager()};
    auto forced = mutex{mine, name_}.try_acquire();
    const auto last_beat = row(mine.id())->heartbeat_at;
    ASSERT_TRUE(force_release(sound(), name_));
    std::atomic<bool> was_renewed_first = false;
    const std::stop_callback slow{
        forced->lost(), [&] { was_renewed_first = row(mine.id())->heartbeat_at > last_beat; }};
    ASSERT_TRUE(stopped(forced->lost(), 20s));
    EXPECT_TRUE(eventually([&] { return was_renewed_first.load(); }));
}

TEST_F(session_test, the_row_is_let_go_only_when_everybody_was_told) {
    session mine{faulty(), brief()};
    auto held = mutex{mine, name_}.try_acquire();
    std::atomic<bool> was_told = false;
    std::atomic<bool> was_free_meanwhile = true;
    const std::stop_callback slow_to_stop{held->lost(), [&] {
                                              was_free_meanwhile =
                                                  model_.wait_until_free(name_, 300ms);
                                              was_told = true;
                                          }};
    plan_->fail_every("heartbeat", fault::refused);
    EXPECT_TRUE(eventually([&] { return was_told.load(); }));
    EXPECT_FALSE(was_free_meanwhile) << "others could have it before the holder had stopped";
    // It is freed at once, rather than at its expiry.
    EXPECT_TRUE(model_.wait_until_free(name_, 20s));
}

TEST_F(session_test, what_a_lost_session_held_is_free_at_once_when_it_can_still_say_so) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("heartbeat", fault::refused);
    model_.age_session(mine.id(), 2h);  // as far as the database knows it is dead
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_TRUE(mine.is_live()) << "its own deadline is an hour away";
    EXPECT_FALSE(held->verify()) << "but who asks is told";
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
}

TEST_F(session_test, a_session_ended_by_the_database_is_noticed_by_the_next_heartbeat) {
    session mine{faulty(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    model_.age_session(mine.id(), 1h);
    EXPECT_TRUE(stopped(held->lost(), 20s));
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_EQ(mine.why_lost(), loss_reason::ended_by_server);
    EXPECT_EQ(held->why_lost(), loss_reason::ended_by_server);
    EXPECT_FALSE(mine.is_live());
}

TEST_F(session_test, a_session_whose_row_is_gone_is_ended) {
    session mine{faulty(), eager()};
    model_.remove_session_row(mine.id());
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_EQ(mine.why_lost(), loss_reason::ended_by_server);
}

// The session dies between the refused try and the place in the queue.
TEST_F(session_test, who_may_not_queue_because_the_session_has_ended_has_told_the_session) {
    session mine{faulty(), calm()}, other{sound(), calm("other")};
    auto held = mutex{mine, "held"}.try_acquire();
    auto theirs = mutex{other, name_}.try_acquire();
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "enqueue") model_.age_session(mine.id(), 2h);
        return std::nullopt;
    });
    const auto failure = thrown_by([&] { (void)mutex(mine, name_).acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    EXPECT_FALSE(mine.is_live());
    EXPECT_EQ(mine.why_lost(), loss_reason::ended_by_server);
    EXPECT_TRUE(held->lost().stop_requested());
}

TEST_F(session_test, a_lease_freed_by_force_is_noticed_and_the_others_are_kept) {
    session mine{faulty(), eager()};
    auto forced = mutex{mine, name_}.try_acquire();
    auto kept = mutex{mine, "kept"}.try_acquire();
    ASSERT_TRUE(force_release(sound(), name_));
    EXPECT_TRUE(stopped(forced->lost(), 20s));
    EXPECT_EQ(forced->why_lost(), loss_reason::taken_over);
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_TRUE(kept->verify());
    EXPECT_TRUE(mine.is_live());
    EXPECT_EQ(forced->release(), release_outcome::not_held);
}

// The question "which are held" may be the call that fails: it is asked again.
TEST_F(session_test, force_is_noticed_although_any_one_call_on_the_way_fails) {
    for (int number = 1;; ++number) {
        session mine{faulty(), eager()};
        const key name = "k" + std::to_string(number);
        auto forced = mutex{mine, name}.try_acquire();
        auto kept = mutex{mine, "kept"}.try_acquire();
        plan_->fail_call(number, fault::lost_after_it);
        ASSERT_TRUE(force_release(sound(), name));
        EXPECT_TRUE(stopped(forced->lost(), 20s)) << number;
        const bool was_noticed_before = plan_->strikes() == 0;
        plan_->heal();
        EXPECT_TRUE(mine.is_live());
        EXPECT_TRUE(kept->verify());
        if (was_noticed_before) break;
    }
}

TEST_F(session_test, every_one_of_many_leases_is_told) {
    session mine{faulty(), eager()};
    constexpr int count = 500;
    std::vector<acquisition> held;
    std::atomic<int> told = 0;
    std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
    for (int each = 0; each < count; ++each) {
        held.push_back(mutex{mine, "k" + std::to_string(each)}.try_acquire());
        ASSERT_TRUE(held.back());
        callbacks.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
            held.back()->lost(), [&] { ++told; }
        ));
    }
    // The first heartbeat asks for each of them, and must not do so when the session has ended.
    for (int beat = 0; beat < 2; ++beat) {
        const auto deadline = mine.deadline();
        ASSERT_TRUE(eventually([&] { return mine.deadline() > deadline; }));
    }
    model_.age_session(mine.id(), 1h);
    EXPECT_TRUE(eventually([&] { return told == count; }));
    for (auto& each : held) EXPECT_EQ(each->why_lost(), loss_reason::ended_by_server);
}

// --------------------------------------------------------------------------------- fixed terms

// Less than 1 KiB each, with the handle. The rows of the model are there before and after.
TEST_F(session_test, ten_thousand_leases_take_less_than_ten_mebibytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's memory is not the library's";
#else
    session mine{sound(), calm("mine")};
    std::vector<acquisition> held;
    constexpr int number = 10'000;
    held.reserve(number);
    const std::string prefix(40, 'k');
    for (int each = 0; each < number; ++each) {
        held.push_back(mutex(mine, prefix + std::to_string(each)).try_acquire());
        ASSERT_TRUE(held.back());
    }
    const std::size_t with = mallinfo2().uordblks;
    held.clear();
    const std::size_t without = mallinfo2().uordblks;
    std::cout << (with - without) / number << " bytes each\n";
    EXPECT_LT(with - without, std::size_t{10} << 20U);
    EXPECT_GT(with - without, std::size_t{number} * 100) << "or it was not counted";
#endif
}

TEST_F(session_test, a_fixed_term_is_told_at_its_own_end_and_not_with_the_session) {
    session mine{faulty(), calm()};
    auto brief_one = mutex{mine, name_, {.fixed_term = 3s}}.try_acquire();
    auto long_one = mutex{mine, "long", {.fixed_term = 1h}}.try_acquire();
    ASSERT_TRUE(stopped(brief_one->lost(), 20s));
    EXPECT_GT(remaining(name_), 0us) << "a sixth of the term before the database lets go";
    EXPECT_EQ(brief_one->why_lost(), loss_reason::expired);
    EXPECT_FALSE(long_one->lost().stop_requested());
    EXPECT_TRUE(mine.is_live());
}

// The watching thread sleeps when the grant comes: its nap must not be what decides.
TEST_F(session_test, a_short_term_does_not_wait_for_the_end_of_a_nap) {
    session mine{faulty(), calm()};
    std::vector<std::chrono::nanoseconds> late;
    for (int round = 0; round < 15; ++round) {
        auto held = mutex{mine, "k" + std::to_string(round), {.fixed_term = 50ms}}.try_acquire();
        ASSERT_TRUE(stopped(held->lost(), 20s));
        late.push_back(local_clock::now() - held->deadline());
    }
    std::nth_element(late.begin(), late.begin() + 7, late.end());
    EXPECT_LT(late[7], 75ms) << "the usual round was late by " << late[7].count() << " ns";
}

TEST_F(session_test, a_fixed_term_outlives_its_session_and_is_told_all_the_same) {
    std::optional<session> mine{std::in_place, faulty(), calm()};
    auto held = mutex{*mine, name_, {.fixed_term = 3s}}.try_acquire();
    mine.reset();
    EXPECT_TRUE(model_.is_held(name_));
    EXPECT_TRUE(held->held_locally());
    EXPECT_FALSE(held->lost().stop_requested());
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_GT(remaining(name_), 0us);
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_EQ(held->release(), release_outcome::released) << "its row was still there";
}

// ------------------------------------------------------------------------------------- the end

TEST_F(session_test, ending_releases_everything_and_removes_the_row) {
    session mine{faulty(), calm()};
    std::vector<acquisition> held;
    for (int each = 0; each < 20; ++each) {
        held.push_back(mutex{mine, "k" + std::to_string(each)}.try_acquire());
    }
    mine.end();
    EXPECT_FALSE(row(mine.id()));
    for (int each = 0; each < 20; ++each) {
        EXPECT_FALSE(row(key{"k" + std::to_string(each)})->owner);
        const auto at = static_cast<std::size_t>(each);
        EXPECT_TRUE(held[at]->lost().stop_requested());
        EXPECT_EQ(held[at]->why_lost(), loss_reason::session_ended);
        EXPECT_EQ(held[at]->release(), release_outcome::not_held);
    }
    EXPECT_TRUE(mine.lost().stop_requested());
    EXPECT_EQ(mine.why_lost(), loss_reason::session_ended);
    mine.end();  // again, without effect
}

TEST_F(session_test, ending_tells_before_it_frees) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    std::atomic<bool> was_held_when_told = false;
    const std::stop_callback on_loss{
        held->lost(), [&] { was_held_when_told = model_.is_held(name_); }};
    mine.end();
    EXPECT_TRUE(was_held_when_told);
    EXPECT_FALSE(model_.is_held(name_));
}

TEST_F(session_test, ending_tells_at_once_though_a_heartbeat_hangs) {
    session mine{patient(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("heartbeat", fault::hangs);
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    thread ending{[&] { mine.end(); }};
    EXPECT_TRUE(stopped(held->lost(), 10s)) << "it hangs for half of the minute to the deadline";
    plan_->heal();
    plan_->let_go();
}

// The renewal that follows the question about the holds left may hang: the lost ones are told all
// the same.
TEST_F(session_test, ending_tells_of_force_though_the_heartbeat_that_found_it_hangs) {
    std::atomic<bool> is_asked = false;
    session mine{patient(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "standings") is_asked = true;
        if (is_asked && statement == "heartbeat") return fault::hangs;
        return std::nullopt;
    });
    ASSERT_TRUE(force_release(sound(), name_));
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    thread ending{[&] { mine.end(); }};
    EXPECT_TRUE(stopped(held->lost(), 10s)) << "it hangs for half of the minute to the deadline";
    plan_->heal();
    plan_->let_go();
}

TEST_F(session_test, ending_wakes_everybody_who_waits) {
    session mine{patient(), calm()}, other{sound(), calm("other")};
    auto held = mutex{other, "queue"}.try_acquire();
    auto of_set = mutex{other, "set"}.try_acquire();
    auto permit = semaphore{other, "permits", 1}.try_acquire();
    ASSERT_TRUE(held && of_set && permit);
    std::atomic<int> told = 0;
    std::stop_source cancel;  // only after a failure
    const auto wait = [&](auto acquire) {
        const auto failure = thrown_by([&] { (void)acquire(); });
        if (failure && failure->code() == errc::session_lost) ++told;
    };
    constexpr milliseconds seldom = 30min;
    std::vector<thread> waiting;
    waiting.emplace_back([&] {
        wait([&] {
            return mutex{mine, "queue", {.min_poll = seldom, .max_poll = seldom}}.acquire(
                cancel.get_token()
            );
        });
    });
    waiting.emplace_back([&] {
        wait([&] {
            return multi_lock{mine, {"set"}, {.min_poll = seldom, .max_poll = seldom}}.acquire(
                cancel.get_token()
            );
        });
    });
    waiting.emplace_back([&] {
        wait([&] {
            semaphore permits{mine, "permits", 1, {.min_poll = seldom, .max_poll = seldom}};
            return permits.acquire(1, cancel.get_token());
        });
    });
    EXPECT_TRUE(eventually([&] { return events_->count(event_kind::refused) >= 3; }));
    mine.end();
    EXPECT_TRUE(eventually([&] { return told == 3; })) << told << " of 3";
    cancel.request_stop();
}

// A hold whose session row is missing counts as alive, so the row must stay where a hold may.
TEST_F(session_test, a_row_whose_holds_could_not_be_released_expires_instead_of_going) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("release_owner", fault::refused);
    mine.end();
    EXPECT_GE(events_->count(event_kind::release_failed), 1);
    EXPECT_TRUE(row(name_)->owner) << "the test is about a row that could not be freed";
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_TRUE(row(mine.id()));
}

TEST_F(session_test, ending_while_an_acquire_is_under_way_leaves_no_key_stuck) {
    session mine{patient(), calm()};
    plan_->fail_in_turn("try_acquire", {fault::answered_late});
    thread acquiring{[&] {
        auto got = mutex{mine, name_}.try_acquire();
        EXPECT_TRUE(got);
        EXPECT_EQ(got->why_lost(), loss_reason::session_ended);
        EXPECT_TRUE(got->lost().stop_requested());
        EXPECT_FALSE(got->held_locally());
    }};
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    ASSERT_TRUE(eventually([&] { return model_.is_held(name_); }));
    mine.end();
    EXPECT_FALSE(model_.is_held(name_));
    plan_->let_go();
}

TEST_F(session_test, ending_while_a_release_is_under_way_leaves_no_key_stuck) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    plan_->fail_every("release", fault::hangs);
    thread releasing{[&] { held->release(); }};
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    mine.end();
    EXPECT_FALSE(model_.is_held(name_));
    plan_->let_go();
}

TEST_F(session_test, moving_over_a_session_ends_it) {
    session one{faulty(), calm("one")};
    session two{faulty(), calm("two")};
    const auto first = one.id();
    const auto second = two.id();
    one = std::move(two);
    EXPECT_FALSE(row(first));
    EXPECT_TRUE(row(second));
    EXPECT_EQ(one.id(), second);
    EXPECT_TRUE(one.is_live());
}

}  // namespace
}  // namespace leasehold::testing
