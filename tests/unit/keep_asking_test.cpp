// Durations of every size, as a time to wait; and what is done until it is over.
#include "locks/keep_asking.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <ratio>
#include <stop_token>
#include <vector>

#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds in_nanoseconds(wait_time length) {
    return length;
}

TEST(keep_asking_test, is_rounded_up_and_never_negative) {
    EXPECT_EQ(in_nanoseconds(3ms), nanoseconds{3'000'000});
    EXPECT_EQ(in_nanoseconds(std::chrono::duration<double>{0.25}), nanoseconds{250'000'000});
    EXPECT_EQ(in_nanoseconds(std::chrono::duration<std::int64_t, std::pico>{1}), nanoseconds{1});
    EXPECT_EQ(in_nanoseconds(0s), nanoseconds{0});
    EXPECT_EQ(in_nanoseconds(-5s), nanoseconds{0});
    EXPECT_EQ(in_nanoseconds(std::chrono::hours::min()), nanoseconds{0});
    const double no_number = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(in_nanoseconds(std::chrono::duration<double>{no_number}), nanoseconds{0});
}

TEST(keep_asking_test, ends_where_nanoseconds_do) {
    EXPECT_EQ(in_nanoseconds(nanoseconds::max()), nanoseconds::max());
    EXPECT_EQ(in_nanoseconds(std::chrono::milliseconds::max()), nanoseconds::max());
    EXPECT_EQ(in_nanoseconds(std::chrono::hours::max()), nanoseconds::max());
    EXPECT_EQ(in_nanoseconds(std::chrono::duration<double>{1e30}), nanoseconds::max());
}

TEST(keep_asking_test, until_a_time_of_any_clock) {
    EXPECT_EQ(wait_deadline{local_clock::time_point::min()}.left(), nanoseconds{0});
    EXPECT_EQ(wait_deadline{std::chrono::steady_clock::now() - 1h}.left(), nanoseconds{0});
    const auto left = wait_deadline{std::chrono::system_clock::now() + 1h}.left();
    EXPECT_GT(left, nanoseconds{30min});
    EXPECT_LE(left, nanoseconds{90min});
    using far = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    EXPECT_EQ(wait_deadline{far::max()}.left(), nanoseconds::max());
}

// -------------------------------------------------------------------------------- asking again

constexpr polling at_once{std::chrono::milliseconds{1}, std::chrono::milliseconds{1}};

// Answers in turn: nothing where it is refused; negative numbers are errors, -1 one that passes.
std::function<std::optional<int>()> in_turn(std::vector<int> answers) {
    return [answers, next = std::size_t{0}]() mutable -> std::optional<int> {
        const int answer = answers.at(next++);
        if (answer < 0) throw error(answer == -1 ? errc::transient : errc::read_only, "no");
        return answer == 0 ? std::nullopt : std::optional{answer};
    };
}

std::optional<int> asked(const wait_limit& limit, std::vector<int> answers) {
    return keep_asking(limit, at_once, {}, std::optional<int>{}, in_turn(std::move(answers)));
}

TEST(keep_asking_test, what_is_refused_or_passes_is_asked_again) {
    EXPECT_EQ(asked(std::stop_token{}, {0, -1, 0, 7}), 7);
    EXPECT_THROW((void)asked(std::stop_token{}, {0, -2, 7}), error);
}

TEST(keep_asking_test, where_time_is_up_one_answer_is_the_last) {
    EXPECT_EQ(asked({0ns, {}}, {7}), 7);
    EXPECT_EQ(asked({0ns, {}}, {0, 7}), std::nullopt);
    EXPECT_THROW((void)asked({0ns, {}}, {-1, 7}), error);
}

TEST(keep_asking_test, who_was_asked_to_stop_asks_nothing) {
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_EQ(asked(stopped.get_token(), {}), std::nullopt);
}

// The connection that an attempt waits for may be refused because of the cancellation itself.
TEST(keep_asking_test, a_cancelled_call_whose_time_is_up_fails_of_nothing_that_passes) {
    std::stop_source stopped;
    const auto failing = [&](errc with) {
        return [&stopped, with]() -> std::optional<int> {
            stopped.request_stop();
            throw error(with, "no");
        };
    };
    const wait_limit late{0ns, stopped.get_token()};
    const std::optional<int> nothing;
    EXPECT_EQ(keep_asking(late, at_once, {}, nothing, failing(errc::timed_out)), std::nullopt);
    stopped = {};
    const wait_limit again{0ns, stopped.get_token()};
    EXPECT_THROW((void)keep_asking(again, at_once, {}, nothing, failing(errc::read_only)), error);
}

TEST(keep_asking_test, what_is_found_after_a_refusal_ends_the_wait) {
    int refusals = 0;
    const auto meanwhile = [&](const std::optional<int>&) {
        std::optional<std::optional<int>> better;
        if (++refusals == 2) better.emplace(9);
        return better;
    };
    const auto ask = in_turn({0, -1, 0, 7});
    const wait_limit limit{std::stop_token{}};
    EXPECT_EQ(keep_asking(limit, at_once, {}, std::optional<int>{}, ask, meanwhile), 9);
}

// ------------------------------------------------------------------------------- sending again

TEST(keep_asking_test, what_is_harmless_is_sent_three_times_at_most) {
    const auto sent = [](std::vector<int> answers, bool may_go_on) {
        int attempts = 0, failures = 0;
        const auto send = [&, answer = in_turn(std::move(answers))](int attempt) {
            EXPECT_EQ(attempt, ++attempts);
            return answer();
        };
        const auto is_asked = [&](const error&) {
            ++failures;
            return may_go_on;
        };
        try {
            repeat(send, is_asked);
        } catch (const error&) {
            EXPECT_EQ(failures, attempts) << "of each failure";
        }
        return attempts;
    };
    EXPECT_EQ(sent({7}, true), 1);
    EXPECT_EQ(sent({-1, -1, 7}, true), 3);
    EXPECT_EQ(sent({-1, -1, -1, 7}, true), 3);
    EXPECT_EQ(sent({-2, 7}, true), 1);
    EXPECT_EQ(sent({-1, 7}, false), 1);
}

}  // namespace
}  // namespace leasehold::testing
