#pragma once
// The life of a session in most tests.
#include <chrono>

#include "leasehold/session.hpp"

namespace leasehold::testing {

// Heartbeats every 20 minutes: whatever is sent, a test has asked for.
inline session_settings calm(const char* name = "calm") {
    session_settings settings;
    settings.name = name;
    settings.ttl = std::chrono::hours{1};
    settings.reap_every = std::chrono::milliseconds{0};
    return settings;
}

}  // namespace leasehold::testing
