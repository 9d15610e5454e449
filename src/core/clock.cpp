#include "leasehold/clock.hpp"

#include <atomic>
#include <ctime>

#include "core/clock_source.hpp"

namespace leasehold {
namespace {

std::atomic<clock_source*> source{nullptr};

local_clock::time_point now_of_machine() noexcept {
#ifdef CLOCK_BOOTTIME
    timespec read{};
    if (clock_gettime(CLOCK_BOOTTIME, &read) == 0) {
        return local_clock::time_point{
            std::chrono::seconds{read.tv_sec} + std::chrono::nanoseconds{read.tv_nsec}};
    }
#endif
    return local_clock::time_point{std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace

clock_source* clock_source::installed() noexcept {
    return source.load(std::memory_order_acquire);
}

void clock_source::install(clock_source* which) noexcept {
    source.store(which, std::memory_order_release);
}

local_clock::time_point local_clock::now() noexcept {
    const clock_source* const moved = clock_source::installed();
    return moved ? moved->now(now_of_machine()) : now_of_machine();
}

}  // namespace leasehold
