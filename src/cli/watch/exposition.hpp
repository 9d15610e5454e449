#pragma once
// The state of a database, for Prometheus: text of exposition format 0.0.4. All metrics are gauges
// of what the database says, so that a restart of the exporter changes nothing.
//
// Threads: safe.
#include <string>

#include "cli/watch/snapshot.hpp"

namespace leasehold::cli {

inline constexpr const char* exposition_type = "text/plain; version=0.0.4; charset=utf-8";

// If the database could not be read leasehold_up is 0, and unknown gauges are left out.
std::string exposition(const snapshot& now, bool is_late);

}  // namespace leasehold::cli
