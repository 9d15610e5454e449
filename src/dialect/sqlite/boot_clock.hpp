#pragma once
// The clock of a SQLite database: the kernel all its processes share.
//
// CLOCK_BOOTTIME together with the kernel's random boot id. Steps of the wall clock do not touch
// it, and the id tells a reboot apart, after which nobody holds anything. A time namespace (unshare
// --time, a container that was moved) sets that clock off for the processes in it and leaves the
// id: the class takes that offset off again, so that all processes of the machine agree.
#include <cstdint>
#include <string>

namespace leasehold {

struct boot_clock {
    // Throws unsupported where the process is in a time namespace that cannot be accounted for.
    static std::int64_t now_microseconds();
    // The id of this boot, the same for every process and container of the machine. Throws as
    // above, so that the error shows when a database is opened.
    static std::string boot_id();
};

}  // namespace leasehold
