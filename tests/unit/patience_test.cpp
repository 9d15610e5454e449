// Durations of every size, as a time to wait.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <ratio>

#include "leasehold/clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(patience_test, is_rounded_up_and_never_negative) {
    EXPECT_EQ(patience_of(3ms), nanoseconds{3'000'000});
    EXPECT_EQ(patience_of(std::chrono::duration<double>{0.25}), nanoseconds{250'000'000});
    EXPECT_EQ(patience_of(std::chrono::duration<std::int64_t, std::pico>{1}), nanoseconds{1});
    EXPECT_EQ(patience_of(0s), nanoseconds{0});
    EXPECT_EQ(patience_of(-5s), nanoseconds{0});
    EXPECT_EQ(patience_of(std::chrono::hours::min()), nanoseconds{0});
}

TEST(patience_test, ends_where_nanoseconds_do) {
    EXPECT_EQ(patience_of(nanoseconds::max()), nanoseconds::max());
    EXPECT_EQ(patience_of(std::chrono::milliseconds::max()), nanoseconds::max());
    EXPECT_EQ(patience_of(std::chrono::hours::max()), nanoseconds::max());
    EXPECT_EQ(patience_of(std::chrono::duration<double>{1e30}), nanoseconds::max());
}

TEST(patience_test, until_a_time_of_any_clock) {
    EXPECT_EQ(patience_until(local_clock::time_point::min()), nanoseconds{0});
    EXPECT_EQ(patience_until(std::chrono::steady_clock::now() - 1h), nanoseconds{0});
    const auto left = patience_until(std::chrono::system_clock::now() + 1h);
    EXPECT_GT(left, nanoseconds{30min});
    EXPECT_LE(left, nanoseconds{90min});
    using far = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    EXPECT_EQ(patience_until(far::max()), nanoseconds::max());
}

}  // namespace
}  // namespace leasehold::testing
