#pragma once
// Fire times of tasks: cron expressions in a time zone, and plain periods.
//
//   const auto nightly = leasehold::schedule::cron("30 2 * * MON-FRI", "Europe/Berlin");
//   const auto now = leasehold::schedule::instant{std::chrono::floor<std::chrono::microseconds>(
//       std::chrono::system_clock::now().time_since_epoch())};
//   const auto tick = nightly.previous(now);  // the fire time that is current
//
// | field        | values                | each is a list of values and ranges, with steps  |
// |--------------|-----------------------|--------------------------------------------------|
// | minute       | 0-59                  | `*`, `5`, `1,15,20-22`, `*/15`, `8-18/2`          |
// | hour         | 0-23                  |                                                  |
// | day of month | 1-31                  |                                                  |
// | month        | 1-12, JAN-DEC         | names in any case                                |
// | day of week  | 0-7, SUN-SAT          | 0 and 7 are Sunday                               |
//
// or one of @hourly, @daily, @midnight, @weekly (Sunday), @monthly, @yearly, @annually.
//
// Days, as Vixie cron has it: if both the day of month and the day of week are restricted,
// either is enough; a field that begins with `*` is not a restriction, and then both must match.
//
// Daylight saving. Two rules, for when the zone's clock jumps:
// - An expression that leaves the hour open (all 24 of them) follows real time. It fires whenever
//   the clock shows a matching minute: not in an hour that is skipped, twice in one that is
//   repeated, so that `*/5 * * * *` fires every five real minutes, always.
// - Any other expression names times of the day, and each fires exactly once. A time that is
//   skipped fires at the first instant after the gap, together with others that fell into it; a
//   time that is repeated fires at the first of its two instants.
//
// Promises: fire times are a pure function of the expression and the zone's rules: every host gets
// the same ones. next() is always later than its argument. An expression that would never fire (31
// February) is refused when it is made.
// Does not promise: that every host has the same rules: those of the system's tz database are read
// once, when the first zone is asked for. Nor daylight saving from 2038 on: the files list the
// changes until 2037, and a zone then keeps the last offset that they list. UTC has no such end.
//
// Errors: invalid_argument for a malformed expression, one that never fires, or an unknown zone;
// unsupported if the library was built without time zones (LEASEHOLD_TIME_ZONES) and one other
// than UTC is asked for.
// Threads: an immutable value; copies are cheap.
// Source: crontab(5) of Vixie cron; the rules for daylight saving are close to those of Cronos.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"

namespace leasehold {

class LEASEHOLD_EXPORT schedule {
public:
    // A time in UTC, of the years 1970 to 9999; others are invalid_argument.
    using instant = std::chrono::sys_time<std::chrono::microseconds>;

    // `zone` is a name of the IANA database: "Europe/Berlin", "UTC".
    static schedule cron(std::string_view expression, std::string_view zone = "UTC");

    // Fires at the multiples of `period` since 1970 in UTC: every(1h) at each full hour, every(24h)
    // at 00:00 UTC. 1 s to 366 days.
    static schedule every(std::chrono::microseconds period);

    // The latest fire time not after `at`.
    instant previous(instant at) const;
    // The first fire time after `after`.
    instant next(instant after) const;

    // For people: "30 2 * * MON-FRI (Europe/Berlin)", "every 3600 s".
    const std::string& text() const&;
    std::string text() const&& { return text(); }
    // The schedule that has this text().
    static schedule parse(std::string_view text);

    class implementation;  // private: src/runs/schedule.cpp

private:
    explicit schedule(std::shared_ptr<const implementation> made) noexcept;
    handle<std::shared_ptr<const implementation>, "schedule"> inner_;
};

}  // namespace leasehold
