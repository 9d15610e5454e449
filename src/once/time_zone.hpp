#pragma once
// How a zone's clock goes: which offset from UTC, from when until when.
//
// The rules are those of the system's tz database, read once by Howard Hinnant's date library.
// Threads: safe; an immutable value.
#include <chrono>
#include <string_view>

namespace leasehold {

// From `begin` until before `end` the zone's clock shows UTC plus `offset`.
struct zone_period {
    std::chrono::sys_seconds begin;
    std::chrono::sys_seconds end;
    std::chrono::seconds offset;
};

class time_zone {
public:
    // Throws invalid_argument where there is none of this name, unsupported where this build knows
    // UTC only.
    explicit time_zone(std::string_view name);

    zone_period at(std::chrono::sys_seconds instant) const;

private:
    const void* zone_ = nullptr;  // of the date library, which keeps it for ever; nothing: UTC
};

}  // namespace leasehold
