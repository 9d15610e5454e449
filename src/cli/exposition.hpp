#pragma once
// How a database stands, for Prometheus: text of exposition format 0.0.4. All are gauges of what
// the database says, so that a restart of who serves them changes nothing.
//
// Threads: safe.
#include <string>

#include "cli/snapshot.hpp"

namespace leasehold::cli {

inline constexpr const char* exposition_type = "text/plain; version=0.0.4; charset=utf-8";

// Where the database could not be read there is leasehold_up 0, and none of what is not known.
std::string exposition(const snapshot& now, bool is_late);

}  // namespace leasehold::cli
