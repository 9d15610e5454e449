#pragma once
// The life of a session in most tests.
#include <chrono>
#include <cstdlib>

#include "leasehold/session.hpp"

namespace leasehold::testing {

// Heartbeats every 20 minutes: a test has asked for all that is sent. Every suite also runs with
// sessions that begin with their first grant.
inline session_settings calm(const char* name = "calm") {
    session_settings settings;
    settings.begins_with_grant = std::getenv("LEASEHOLD_TEST_BEGINS_WITH_GRANT") != nullptr;
    settings.name = name;
    settings.ttl = std::chrono::hours{1};
    settings.reap_every = std::nullopt;
    return settings;
}

}  // namespace leasehold::testing
