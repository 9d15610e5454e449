#pragma once
// A cron expression on a wall clock that never jumps. schedule.cpp puts it into a zone.
//
// Threads: an immutable value.
#include <bitset>
#include <chrono>
#include <string_view>

namespace leasehold {

class cron_expression {
public:
    using wall_minute = std::chrono::local_time<std::chrono::minutes>;

    // Throws invalid_argument for a malformed expression, and for one that never matches.
    explicit cron_expression(std::string_view text);

    // True when all 24 hours match.
    bool leaves_hour_open() const noexcept { return hours_.all(); }

    // The first match at or after, the last at or before.
    wall_minute first_from(wall_minute from) const;
    wall_minute last_until(wall_minute until) const;

private:
    bool matches_day(std::chrono::year_month_day day) const;

    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;    // from 1
    std::bitset<13> months_;  // from 1
    std::bitset<7> weekdays_;
    // A day must match both fields, unless neither begins with `*`.
    bool either_day_is_enough_ = false;
};

}  // namespace leasehold
