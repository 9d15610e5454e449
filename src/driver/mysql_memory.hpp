#pragma once
// Private to the MySQL driver: what the connections of one database handle know of the servers.
#include <atomic>

#include "core/standby_refusals.hpp"

namespace leasehold::mysql {

// Threads: safe.
struct handle_memory {
    standby_refusals refusals{};
    // The last refusal was by super_read_only, which alone stops a user who may write under
    // read_only.
    std::atomic<bool> is_super_read_only = false;
};

}  // namespace leasehold::mysql
