#pragma once
// Asking the doctor about a place, with limits so low that whatever can be there is found.
#include <optional>
#include <string>
#include <string_view>

#include "leasehold/doctor.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {

inline diagnosis_settings strict() {
    using namespace std::chrono_literals;
    diagnosis_settings settings;
    settings.held_longer_than = settings.waiting_longer_than = settings.snapshot_older_than =
        settings.dead_longer_than = 1s;
    settings.connections_percent = 0;
    settings.max_dead_rows = 0;
    settings.max_history_length = 0;
    settings.max_log_bytes = 0;
    settings.max_slot_bytes = 0;
    return settings;
}

// The same server, at an address of which nobody knows that it is this machine's.
inline std::string from_afar(std::string url) {
    const std::string here = "127.0.0.1";
    const auto at = url.find(here);
    return at == std::string::npos ? url : url.replace(at, here.size(), "0.0.0.0");
}

// Asks until there is such a finding; the last one asked for that is.
inline std::optional<finding> soon_found(const database& db, std::string_view name) {
    std::optional<finding> found;
    eventually([&] { return (found = find(diagnose(db, strict()), name)).has_value(); });
    return found;
}

}  // namespace leasehold::testing
