#pragma once
// The clock of a SQLite database: the kernel all its processes share.
//
// CLOCK_BOOTTIME together with the kernel's random boot id. Steps of the wall clock do not change
// CLOCK_BOOTTIME, and a new id shows a reboot, after which nobody holds anything. A time namespace
// (unshare --time, a container that was moved) adds an offset to the clock for the processes in it
// and leaves the id: the class subtracts the offset, so that all processes of the machine agree.
#include <cstdint>
#include <string>

namespace leasehold {

struct boot_clock {
    // Throws unsupported if the process is in a time namespace whose offset cannot be read.
    static std::int64_t now_microseconds();
    // The id of this boot, the same for every process and container of the machine. Throws as
    // above, so that opening a database already reports the error.
    static std::string boot_id();
};

}  // namespace leasehold
