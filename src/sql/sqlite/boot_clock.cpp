#include "sql/sqlite/boot_clock.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string link_at(const char* path) {
    std::error_code failure;
    return std::filesystem::read_symlink(path, failure).string();
}

// The lead of the clock of this process's time namespace over the kernel's own. The kernel shows
// the offsets that children will have: those of the process itself only where both are the same.
std::int64_t namespace_offset_microseconds() {
    constexpr const char* kernels_own = "time:[4026531834]";  // PROC_TIME_INIT_INO
    const std::string own = link_at("/proc/self/ns/time");
    if (own == kernels_own) return 0;
    const bool has_none = own.empty() && !link_at("/proc/self/ns/pid").empty();
    if (has_none) return 0;  // before Linux 5.6, or built without
    std::ifstream offsets{"/proc/self/timens_offsets"};
    const bool are_ours = !own.empty() && own == link_at("/proc/self/ns/time_for_children");
    std::string clock;
    std::int64_t seconds = 0, nanoseconds = 0;
    while (are_ours && offsets >> clock >> seconds >> nanoseconds) {
        constexpr std::int64_t micro = 1'000'000, nano_in_micro = 1000;
        if (clock == "boottime") return seconds * micro + nanoseconds / nano_in_micro;
    }
    throw error(
        errc::unsupported,
        "this process is in a Linux time namespace, and /proc/self/timens_offsets does not tell "
        "how "
        "its clock differs from that of the machine's other processes, which SQLite locks go by: "
        "mount /proc, start it outside of the namespace, or use a server"
    );
}

}  // namespace

std::int64_t boot_clock::now_microseconds() {
    // The offset of one process: a fork makes another one.
    struct known_offset {
        pid_t process = 0;
        std::int64_t microseconds = 0;
    };
    thread_local known_offset offset;
    if (offset.process != getpid()) offset = {getpid(), namespace_offset_microseconds()};
    const auto since_boot = local_clock::now().time_since_epoch();
    const auto here = std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count();
    return here - offset.microseconds;
}

std::string boot_clock::boot_id() {
    static_cast<void>(now_microseconds());  // refuses a clock that differs from the kernel's
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    if (std::getline(file, id) && !id.empty()) return id;
    throw error(
        errc::unsupported,
        "/proc/sys/kernel/random/boot_id cannot be read: SQLite locks need to tell reboots apart; "
        "mount /proc, or use a server"
    );
}

}  // namespace leasehold
