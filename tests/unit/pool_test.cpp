// The pool on connections that do nothing: its bound, its timeout, and what it does with the
// broken.
#include "database/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>

#include "leasehold/error.hpp"
#include "support/eventually.hpp"
#include "support/test_time.hpp"
#include "support/thread.hpp"
#include "unit/idle_connection.hpp"
#include "unit/pool_fixture.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_F(pool_test, nothing_is_opened_before_it_is_needed) {
    pool lends{connect(), settings(4, 1s)};
    EXPECT_EQ(attempts_, 0);
}

TEST_F(pool_test, a_connection_that_came_back_is_lent_again_the_latest_first) {
    pool lends{connect(), settings(4, 1s)};
    auto first = lends.take();
    auto second = lends.take();
    lends.give_back(std::move(first));
    lends.give_back(std::move(second));
    auto again = lends.take();
    EXPECT_EQ(seen(again).number, 2);
    EXPECT_EQ(record_.made, 2);
    EXPECT_EQ(record_.asked, 0) << "a short nap is not worth a round trip";
    lends.give_back(std::move(again));
}

TEST_F(pool_test, every_statement_of_a_lent_connection_is_bounded) {
    auto bounded = settings(1, 1s);
    bounded.statement_timeout = 1234ms;
    pool lends{connect(), bounded};
    auto lent = lends.take();
    EXPECT_EQ(seen(lent).limit, 1234ms);
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, when_all_are_lent_a_take_times_out_and_says_what_to_do) {
    pool lends{connect(), settings(2, 50ms)};
    auto first = lends.take();
    auto second = lends.take();
    const auto start = local_clock::now();
    try {
        lends.take();
        FAIL() << "a third connection";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::timed_out);
        EXPECT_NE(std::string(failure.what()).find("max_connections"), std::string::npos);
    }
    EXPECT_GE(local_clock::now() - start, 50ms);
    EXPECT_EQ(attempts_, 2);
    lends.give_back(std::move(first));
    auto third = lends.take();
    EXPECT_EQ(record_.made, 2);
    lends.give_back(std::move(second));
    lends.give_back(std::move(third));
}

TEST_F(pool_test, whoever_waits_gets_the_next_that_comes_back) {
    pool lends{connect(), settings(1, 20s)};
    auto lent = lends.take();
    std::atomic<bool> got = false;
    thread waiter{[&] {
        auto mine = lends.take();
        got = true;
        lends.give_back(std::move(mine));
    }};
    lends.give_back(std::move(lent));
    EXPECT_TRUE(eventually([&] { return got.load(); }));
}

TEST_F(pool_test, one_taken_beside_others_does_not_wait_and_is_not_kept_beyond_the_bound) {
    pool lends{connect(), settings(1, 20s)};
    auto lent = lends.take();
    const auto start = local_clock::now();
    auto beside = lends.take_beside();
    EXPECT_LT(local_clock::now() - start, 10s);
    EXPECT_EQ(record_.made, 2);
    lends.give_back(std::move(beside));
    EXPECT_EQ(record_.closed, 1);
    lends.give_back(std::move(lent));
    EXPECT_EQ(record_.closed, 1);
    // Within the bound it is like any other.
    lends.give_back(lends.take_beside());
    EXPECT_EQ(record_.made, 2);
    EXPECT_EQ(record_.closed, 1);
}

TEST_F(pool_test, the_bound_is_kept_by_many_threads) {
    constexpr int bound = 3;
    pool lends{connect(), settings(bound, 20s)};
    std::atomic<int> lent = 0;
    std::atomic<int> most = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < 8; ++each) {
            threads.emplace_back([&] {
                for (int round = 0; round < 200; ++round) {
                    auto mine = lends.take();
                    const int now = ++lent;
                    int before = most;
                    while (before < now && !most.compare_exchange_weak(before, now)) {
                    }
                    std::this_thread::yield();
                    --lent;
                    lends.give_back(std::move(mine));
                }
            });
        }
    }
    EXPECT_LE(most, bound);
    EXPECT_LE(record_.made, bound);
}

class unfit : public pool_test, public ::testing::WithParamInterface<connection_state> {};
TEST_P(unfit, connections_are_replaced_and_not_lent_again) {
    pool lends{connect(), settings(1, 1s)};
    auto lent = lends.take();
    seen(lent).now = GetParam();
    lends.give_back(std::move(lent));
    EXPECT_EQ(record_.closed, 1);
    auto next = lends.take();
    EXPECT_EQ(seen(next).number, 2);
    lends.give_back(std::move(next));
}
INSTANTIATE_TEST_SUITE_P(
    pool_test,
    unfit,
    ::testing::Values(
        connection_state::lost, connection_state::failed, connection_state::in_transaction
    )
);

TEST_F(pool_test, one_that_broke_while_it_was_idle_is_replaced) {
    pool lends{connect(), settings(1, 1s)};
    auto lent = lends.take();
    auto& known = seen(lent);
    lends.give_back(std::move(lent));
    known.now = connection_state::lost;
    auto next = lends.take();
    EXPECT_EQ(seen(next).number, 2);
    EXPECT_EQ(record_.closed, 1);
    lends.give_back(std::move(next));
}

TEST_F(pool_test, one_that_slept_is_asked_before_it_is_lent) {
    pool lends{connect(), settings(2, 1s), 0ns};  // any nap is a long one
    auto first = lends.take();
    auto second = lends.take();
    lends.give_back(std::move(first));
    lends.give_back(std::move(second));
    auto awake = lends.take();
    EXPECT_EQ(record_.asked, 1);
    EXPECT_EQ(seen(awake).number, 2);
    lends.give_back(std::move(awake));
    record_.answers = false;
    auto fresh = lends.take();
    EXPECT_EQ(record_.asked, 2) << "one did not answer, and the other has slept for longer";
    EXPECT_EQ(record_.closed, 2);
    EXPECT_EQ(seen(fresh).number, 3);
    lends.give_back(std::move(fresh));
}

// A request to stop that is one of the two a call may have.
enum class stopped_by { cancel, end };
class stop_of_a_call : public pool_test, public ::testing::WithParamInterface<stopped_by> {
protected:
    bounds of_call() const {
        bounds made;
        (GetParam() == stopped_by::cancel ? made.cancel : made.over) = stop_.get_token();
        return made;
    }
    std::stop_source stop_;
};
INSTANTIATE_TEST_SUITE_P(
    pool_test, stop_of_a_call, ::testing::Values(stopped_by::cancel, stopped_by::end)
);

TEST_P(stop_of_a_call, ends_the_wait_for_one_that_is_lent) {
    pool lends{connect(), settings(1, 1h)};
    auto lent = lends.take();
    std::atomic<bool> has_begun = false;
    std::optional<errc> code;
    thread waiting{[&] {
        has_begun = true;
        code = code_of_take(lends, of_call());
    }};
    EXPECT_TRUE(eventually([&] { return has_begun.load(); }));
    stop_.request_stop();
    waiting.join();
    EXPECT_EQ(code, errc::timed_out);
    lends.give_back(std::move(lent));
    lends.give_back(lends.take());  // and nothing counts as lent
}

TEST_P(stop_of_a_call, ends_the_back_off) {
    pool lends{connect(), settings(2, 1h)};
    auto lent = lends.take();
    broken_ = true;
    std::optional<errc> code;
    thread waiting{[&] { code = code_of_take(lends, of_call()); }};
    EXPECT_TRUE(eventually([&] { return attempts_ >= 6; }));  // pauses of up to 2 s from here
    stop_.request_stop();
    waiting.join();
    EXPECT_EQ(code, errc::timed_out);
    lends.give_back(std::move(lent));
}

TEST_P(stop_of_a_call, reaches_the_attempt_to_connect) {
    std::atomic<bool> is_connecting = false;
    pool lends{
        [&](const connect_limits& within) -> std::unique_ptr<connection> {
            is_connecting = true;
            EXPECT_TRUE(stopped(within.stop, 20s));
            throw error(errc::connection_failed, "given up");
        },
        settings(1, 1h)};
    std::optional<errc> code;
    thread waiting{[&] { code = code_of_take(lends, of_call()); }};
    EXPECT_TRUE(eventually([&] { return is_connecting.load(); }));
    stop_.request_stop();
    waiting.join();
    EXPECT_EQ(code, errc::timed_out);
    EXPECT_EQ(lends.last_word(), server_word::answer) << "nothing is known of the server";
}

bounds for_a_while(milliseconds most) {
    bounds made;
    made.deadline = local_clock::now() + most;
    return made;
}

TEST_F(pool_test, a_call_waits_no_longer_than_its_own_deadline) {
    pool lends{connect(), settings(2, 1h)};
    auto lent = lends.take();
    auto other = lends.take(for_a_while(20s));
    EXPECT_EQ(code_of_take(lends, for_a_while(20ms)), errc::timed_out) << "for a place";
    lends.give_back(nullptr);
    broken_ = true;
    EXPECT_EQ(code_of_take(lends, for_a_while(200ms)), errc::connection_failed) << "for the server";
    EXPECT_LE(asked_timeout_, 200) << "for one attempt";
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, who_parts_waits_for_no_server_that_comes_back) {
    pool lends{connect(), settings(2, 1h)};
    auto lent = lends.take();
    broken_ = true;
    attempts_ = 0;
    bounds once = for_a_while(1h);
    once.is_parting = true;
    EXPECT_EQ(code_of_take(lends, once), errc::connection_failed);
    EXPECT_EQ(attempts_, 1);
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, what_was_last_heard_of_the_server_is_known_until_somebody_has_an_answer) {
    pool lends{connect(), settings(3, 1s)};
    lends.give_back(lends.take());
    EXPECT_EQ(lends.last_word(), server_word::answer);
    lends.note_silence();
    EXPECT_EQ(lends.last_word(), server_word::silence);
    EXPECT_EQ(record_.closed, 1) << "what lay idle would not be answered either";
    auto lent = lends.take();
    EXPECT_EQ(lends.last_word(), server_word::silence) << "that one opens is no answer";
    broken_ = true;
    EXPECT_THROW(lends.connect_apart(20s), error);
    EXPECT_EQ(lends.last_word(), server_word::refusal);
    lends.note_silence();
    EXPECT_EQ(lends.last_word(), server_word::refusal) << "the stronger word";
    broken_ = false;
    static_cast<void>(lends.connect_apart(20s));
    EXPECT_EQ(lends.last_word(), server_word::silence) << "it may be well again";
    lends.note_ignored(local_clock::now());
    static_cast<void>(lends.connect_apart(20s));
    EXPECT_EQ(lends.last_word(), server_word::ignored);
    lends.give_back(std::move(lent));
    EXPECT_EQ(lends.last_word(), server_word::answer);
}

// A firewall may have dropped it, and a check would take a whole statement time-out to say so.
TEST_F(pool_test, a_good_bye_replaces_what_slept_without_asking) {
    pool lends{connect(), settings(2, 1h), 0ns};
    lends.give_back(lends.take());
    bounds parting = for_a_while(1h);
    parting.is_parting = true;
    lends.give_back(lends.take(parting));
    EXPECT_EQ(record_.made, 2);
    EXPECT_EQ(record_.closed, 1);
    EXPECT_EQ(record_.asked, 0);
}

// A wrong address should not take ten seconds to say so.
TEST_F(pool_test, the_first_failure_of_all_is_immediate) {
    broken_ = true;
    pool lends{connect(), settings(1, 1h)};
    EXPECT_EQ(code_of_take(lends), errc::connection_failed);
    EXPECT_EQ(attempts_, 1);
}

TEST_F(pool_test, a_failed_connect_does_not_count_as_lent) {
    broken_ = true;
    pool lends{connect(), settings(1, 1s)};
    for (int each = 0; each < 3; ++each) EXPECT_EQ(code_of_take(lends), errc::connection_failed);
    broken_ = false;
    auto lent = lends.take();
    EXPECT_TRUE(lent);
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, a_refusal_that_will_not_pass_is_not_tried_again) {
    pool lends{connect(), settings(2, 1h)};
    auto lent = lends.take();
    broken_ = true;
    is_passing_ = false;
    EXPECT_EQ(code_of_take(lends), errc::connection_failed);
    EXPECT_EQ(attempts_, 2);
    lends.give_back(std::move(lent));
}

// The check of a half-open connection lasts longer than a connection may be waited for.
TEST_F(pool_test, what_a_check_in_vain_has_cost_is_not_taken_from_the_time_to_connect) {
    auto brief = settings(2, 20ms);
    brief.connect_timeout = 3s;
    pool lends{connect(), brief, 0ns};
    lends.give_back(lends.take());
    record_.answers = false;
    record_.silence = 40ms;
    auto lent = lends.take();
    EXPECT_EQ(record_.asked, 1);
    EXPECT_EQ(seen(lent).number, 2);
    EXPECT_GT(asked_timeout_, milliseconds{2s}.count());
    lends.give_back(std::move(lent));
}

// The pauses after failures 1, 2, 3, 4 … last 25-50, 50-100, 100-200, 200-400 ms …: 600 ms hold
// three to five attempts. Without the back-off they would hold thousands.
TEST_F(pool_test, after_a_connection_once_worked_attempts_are_spaced_by_the_back_off) {
    pool lends{connect(), settings(2, 600ms)};
    auto lent = lends.take();
    broken_ = true;
    attempts_ = 0;
    EXPECT_EQ(code_of_take(lends), errc::connection_failed);
    EXPECT_GE(attempts_, 2);
    EXPECT_LE(attempts_, 5);
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, a_server_that_comes_back_is_found_and_reported) {
    struct counter final : observer {
        void on_event(const event& what) noexcept override {
            if (what.kind == event_kind::reconnected) ++reconnected;
        }
        std::atomic<int> reconnected = 0;
    };
    const auto events = std::make_shared<counter>();
    auto watched = settings(2, 20s);
    watched.observer = events;
    pool lends{connect(), watched};
    auto lent = lends.take();
    broken_ = true;
    thread server{[&] {
        EXPECT_TRUE(eventually([&] { return attempts_ >= 3; }));
        broken_ = false;
    }};
    auto next = lends.take();
    EXPECT_TRUE(next);
    EXPECT_EQ(events->reconnected, 1);
    lends.give_back(std::move(lent));
    lends.give_back(std::move(next));
}

// Observers at times do what they must not do: write to a full disk.
TEST_F(pool_test, an_observer_that_takes_its_time_keeps_no_connection_from_others) {
    struct slow final : observer {
        void on_event(const event&) noexcept override {
            is_told = true;
            was_alone = !eventually([&] { return is_given_back.load(); });
        }
        std::atomic<bool> is_told = false;
        std::atomic<bool> is_given_back = false;
        std::atomic<bool> was_alone = true;
    };
    const auto events = std::make_shared<slow>();
    auto watched = settings(2, 20s);
    watched.observer = events;
    pool lends{connect(), watched};
    auto lent = lends.take();
    lends.note_broken();
    thread other{[&] {
        EXPECT_TRUE(eventually([&] { return events->is_told.load(); }));
        lends.give_back(std::move(lent));
        events->is_given_back = true;
    }};
    auto next = lends.take();
    EXPECT_TRUE(events->is_told);
    EXPECT_FALSE(events->was_alone);
    lends.give_back(std::move(next));
}

// One thread backs off, another waits for a connection to come back; the first must not swallow
// the second's wake-up.
TEST_F(pool_test, a_connection_that_comes_back_reaches_who_waits_for_one) {
    time_.reset();  // in real time, where a wait looks again every second if nobody wakes it up
    pool lends{connect(), settings(2, 1h)};
    auto lent = lends.take();
    broken_ = true;
    attempts_ = 0;
    bounds of_call;
    std::stop_source enough;
    of_call.cancel = enough.get_token();
    thread backing_off{[&] { code_of_take(lends, of_call); }};
    ASSERT_TRUE(eventually([&] { return attempts_ >= 5; }));  // longer and longer pauses from here
    auto least = local_clock::duration::max();
    for (int round = 0; round < 4; ++round) {
        std::atomic<local_clock::time_point> given{};
        thread waiting{[&] {
            lent = lends.take();  // the bound is reached: it waits
            least = std::min(least, local_clock::now() - given.load());
        }};
        EXPECT_EQ(code_of_take(lends, for_a_while(20ms)), errc::timed_out);  // it waits by now
        given = local_clock::now();
        lends.give_back(std::move(lent));
    }
    EXPECT_LT(least, 100ms);
    enough.request_stop();
    backing_off.join();
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, one_apart_is_outside_the_bound_and_shares_the_back_off) {
    pool lends{connect(), settings(1, 1s)};
    auto lent = lends.take();
    auto apart = lends.connect_apart(500ms);
    EXPECT_EQ(seen(apart).number, 2);
    EXPECT_EQ(asked_timeout_, milliseconds{500ms}.count());
    broken_ = true;
    const auto start = local_clock::now();
    EXPECT_THROW(lends.connect_apart(1s), error);
    EXPECT_THROW(lends.connect_apart(1s), error);
    EXPECT_GE(local_clock::now() - start, 25ms - 1ms);
    lends.give_back(std::move(lent));
}

}  // namespace
}  // namespace leasehold::testing
