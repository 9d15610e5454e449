#pragma once
// The local clock of deadlines: monotonic, and counting while the machine sleeps.
//
// The database's clock alone decides whether a lease has ended. This clock only tells a holder when
// to stop believing in its lease. It reads CLOCK_BOOTTIME, because std::chrono::steady_clock stands
// still during suspend on Linux, and a laptop or a paused machine would wake up believing for too
// long (clock_gettime(2)). If there is no such clock it is std::chrono::steady_clock.
//
// Threads: safe.
#include <chrono>
#include <stop_token>

#include "leasehold/export.hpp"

namespace leasehold {

struct LEASEHOLD_EXPORT local_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<local_clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

// The length of a wait, from any duration: rounded up, zero if the duration is negative, and the
// longest that nanoseconds can count if it is longer.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds patience_of(const std::chrono::duration<Rep, Period>& length) {
    using std::chrono::nanoseconds;
    if (length <= length.zero()) return nanoseconds{0};
    using real = std::chrono::duration<long double, std::nano>;
    if (real{length} >= real{nanoseconds::max()}) return nanoseconds::max();
    return std::chrono::ceil<nanoseconds>(length);
}

// The longest time that a call waits, from any duration, as patience_of() reads it: also 0.5s, or
// hours::max(), which waits as long as it takes.
class wait_time {
public:
    template <class Rep, class Period>
    constexpr wait_time(const std::chrono::duration<Rep, Period>& length)
        : length_(patience_of(length)) {}
    constexpr operator std::chrono::nanoseconds() const noexcept { return length_; }

private:
    std::chrono::nanoseconds length_;
};

// The length of a wait until a time of any clock.
template <class Clock, class Duration>
std::chrono::nanoseconds patience_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    using real = std::chrono::duration<long double, std::nano>;
    return patience_of(real{deadline.time_since_epoch()} - real{Clock::now().time_since_epoch()});
}

// Waits until a time of any clock. `wait` waits until a time of the local clock and answers with
// what it got, or nothing. When `deadline`'s clock was set back meanwhile, or stood still while the
// machine slept, time is left after that, and `wait` is called again. A clock that was set forward
// does not shorten a call of `wait`, whose end was computed when it began.
template <class Clock, class Duration, class Wait>
auto wait_by(
    const std::chrono::time_point<Clock, Duration>& deadline,
    const std::stop_token& cancel,
    Wait&& wait
) {
    using local = local_clock::time_point;
    for (;;) {
        const auto now = local_clock::now();
        const auto left = patience_until(deadline);
        auto got = wait(left < local::max() - now ? now + left : local::max());
        const bool is_over = patience_until(deadline) <= std::chrono::nanoseconds{0};
        if (got || cancel.stop_requested() || is_over) return got;
    }
}

}  // namespace leasehold
