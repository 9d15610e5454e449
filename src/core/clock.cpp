#include "leasehold/clock.hpp"

#include <ctime>

namespace leasehold {

local_clock::time_point local_clock::now() noexcept {
#ifdef CLOCK_BOOTTIME
    timespec read{};
    if (clock_gettime(CLOCK_BOOTTIME, &read) == 0) {
        return time_point{
            std::chrono::seconds{read.tv_sec} + std::chrono::nanoseconds{read.tv_nsec}};
    }
#endif
    return time_point{std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace leasehold
