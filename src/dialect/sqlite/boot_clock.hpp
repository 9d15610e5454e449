#pragma once
// The clock of a SQLite database: the kernel all its processes share.
//
// CLOCK_BOOTTIME together with the kernel's random boot id. Steps of the wall clock do not touch
// it, and a reboot, after which nobody holds anything, is told apart by the id.
#include <cstdint>
#include <string>

namespace leasehold {

struct boot_clock {
    static std::int64_t now_microseconds() noexcept;
    // Of this boot; the same for every process and container of the machine.
    static std::string boot_id();
};

}  // namespace leasehold
