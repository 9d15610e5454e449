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

#include "leasehold/export.hpp"

namespace leasehold {

// This clock measures time within one process, and goes on while the machine sleeps.
struct LEASEHOLD_EXPORT local_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<local_clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

// The longest time that a call waits, from any duration: rounded up, none if it is negative, and
// for ever if it is longer than nanoseconds can count. So 0.5s is one, and hours::max() another.
class wait_time {
public:
    template <class Rep, class Period>
    constexpr wait_time(const std::chrono::duration<Rep, Period>& length)
        : length_(in_nanoseconds(length)) {}
    constexpr operator std::chrono::nanoseconds() const noexcept { return length_; }

private:
    template <class Rep, class Period>
    static constexpr std::chrono::nanoseconds in_nanoseconds(
        const std::chrono::duration<Rep, Period>& length
    ) {
        using std::chrono::nanoseconds;
        if (!(length > length.zero())) return nanoseconds{0};  // also for what is no number
        using real = std::chrono::duration<long double, std::nano>;
        if (real{length} >= real{nanoseconds::max()}) return nanoseconds::max();
        return std::chrono::ceil<nanoseconds>(length);
    }

    std::chrono::nanoseconds length_;
};

// The time until which a call waits, by any clock. If that clock is set back meanwhile, or stands
// still while the machine sleeps, the call waits on. A clock that is set forward does not shorten a
// wait whose end was computed before.
class wait_deadline {
public:
    template <class Clock, class Duration>
    wait_deadline(const std::chrono::time_point<Clock, Duration>& at)
        : at_(at.time_since_epoch()), now_([] { return real{Clock::now().time_since_epoch()}; }) {}

    std::chrono::nanoseconds left() const { return wait_time(at_ - now_()); }

private:
    using real = std::chrono::duration<long double, std::nano>;
    real at_;
    real (*now_)();
};

}  // namespace leasehold
