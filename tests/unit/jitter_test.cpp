// Random waiting times: their bounds, their spread, and that they differ.
#include "core/jitter.hpp"

#include <gtest/gtest.h>

#include <set>

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(jitter_test, it_lies_between_half_of_the_limit_and_the_limit) {
    nanoseconds shortest = 1h, longest = 0ns;
    for (int each = 0; each < 10'000; ++each) {
        const auto got = jittered(1s);
        shortest = std::min(shortest, got);
        longest = std::max(longest, got);
    }
    EXPECT_GE(shortest, 500ms);
    EXPECT_LE(longest, 1s);
    // The waits also reach both ends, rather than gathering in the middle.
    EXPECT_LT(shortest, 510ms);
    EXPECT_GT(longest, 990ms);
}

TEST(jitter_test, it_never_comes_down_to_nothing) {
    for (const nanoseconds upper :
         {nanoseconds{0}, nanoseconds{1}, nanoseconds{-1h}, nanoseconds{1us}}) {
        EXPECT_GE(jittered(upper), 1us) << upper.count();
        EXPECT_LE(jittered(upper), 2us) << upper.count();
    }
}

TEST(jitter_test, it_differs_from_one_to_the_next) {
    std::set<nanoseconds> seen;
    for (int each = 0; each < 100; ++each) seen.insert(jittered(1h));
    EXPECT_GT(seen.size(), 95u);
}

TEST(jitter_test, backing_off_doubles_from_the_first_to_the_last) {
    const nanoseconds uppers[] = {50ms, 50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2s, 2s};
    for (int failures = 0; failures < 9; ++failures) {
        for (int each = 0; each < 100; ++each) {
            const auto got = backed_off(failures, 50ms, 2s);
            EXPECT_GE(got, uppers[failures] / 2) << failures;
            EXPECT_LE(got, uppers[failures]) << failures;
        }
    }
}

TEST(jitter_test, backing_off_stays_at_the_last_however_many_failures) {
    EXPECT_LE(backed_off(1'000'000'000, 50ms, 2s), 2s);
    EXPECT_GE(backed_off(1'000'000'000, 50ms, 2s), 1s);
    EXPECT_LE(backed_off(5, 10s, 1s), 1s) << "a first above the last";
}

}  // namespace
}  // namespace leasehold
