#pragma once
// The local clock of deadlines: monotonic, and counting while the machine sleeps.
//
// Whether a lease has ended is decided by the database's clock alone. This clock only tells a
// holder when to stop believing: it reads CLOCK_BOOTTIME, because std::chrono::steady_clock stands
// still during suspend on Linux and a laptop or a paused machine would wake up believing for too
// long (clock_gettime(2)). Where there is no such clock it is std::chrono::steady_clock.
//
// Threads: safe.
#include <chrono>

namespace leasehold {

struct local_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<local_clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

}  // namespace leasehold
