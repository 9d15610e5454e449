#include "dialect/sqlite/boot_clock.hpp"

#include <fstream>

#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

std::int64_t boot_clock::now_microseconds() noexcept {
    const auto since_boot = local_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count();
}

std::string boot_clock::boot_id() {
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
