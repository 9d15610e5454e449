#pragma once
// The course of a zone's clock: each offset from UTC, with the time when it holds.
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
    // Throws invalid_argument if no zone has this name, unsupported if this build knows UTC
    // only.
    explicit time_zone(std::string_view name);

    zone_period at(std::chrono::sys_seconds instant) const;

private:
    const void* zone_ = nullptr;  // owned by the date library, which keeps it for ever; nothing:
                                  // UTC
};

}  // namespace leasehold
