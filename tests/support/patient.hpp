#pragma once
// For tests that are not about time: on a busy machine a server may answer late.
#include <chrono>

#include "leasehold/database.hpp"

namespace leasehold::testing {

inline database_settings patient() {
    database_settings settings;
    settings.connect_timeout = std::chrono::seconds{60};
    settings.pool_timeout = std::chrono::seconds{60};
    settings.statement_timeout = std::chrono::seconds{60};
    return settings;
}

}  // namespace leasehold::testing
