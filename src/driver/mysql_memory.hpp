#pragma once
// Private to the MySQL driver: what the connections of one database handle know of the servers.
#include "core/standby_refusals.hpp"

namespace leasehold::mysql {

// Threads: safe.
struct handle_memory {
    standby_refusals refusals{};
};

}  // namespace leasehold::mysql
