#pragma once
// A handle that waits for nothing longer than so.
#include <chrono>

#include "leasehold/database.hpp"

namespace leasehold::testing {

inline database_settings impatient(std::chrono::milliseconds limit) {
    database_settings settings;
    settings.connect_timeout = limit;
    settings.pool_timeout = limit;
    settings.statement_timeout = limit;
    return settings;
}

}  // namespace leasehold::testing
