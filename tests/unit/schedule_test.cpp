// Fire times: periods, and cron expressions where the zone's clock jumps.
#include "leasehold/schedule.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "leasehold/error.hpp"
#include "leasehold/fence_file.hpp"
#include "runs/time_zone.hpp"
#include "support/required.hpp"

namespace leasehold {
namespace {

using namespace std::chrono;
using instant = schedule::instant;

instant utc(int y, int m, int d, int hour = 0, int minute = 0, int second = 0) {
    return sys_days{year{y} / m / d} + hours{hour} + minutes{minute} + seconds{second};
}

std::string shown(instant when) {
    const auto day = floor<days>(when);
    const year_month_day date{day};
    const auto of_day = floor<seconds>(when - day).count();
    char text[40];
    snprintf(
        text,
        sizeof text,
        "%02u-%02u %02d:%02d",
        unsigned{date.month()},
        unsigned{date.day()},
        static_cast<int>(of_day / 3600),
        static_cast<int>(of_day / 60 % 60)
    );
    return text;
}

using texts = std::vector<std::string>;

// Fire times in [from, until), looked for forwards; backwards must give the same.
texts fire_times(const schedule& when, instant from, instant until) {
    texts forwards, backwards;
    for (auto at = when.next(from - 1us); at < until; at = when.next(at)) {
        forwards.push_back(shown(at));
    }
    for (auto at = when.previous(until - 1us); at >= from; at = when.previous(at - 1us)) {
        backwards.insert(backwards.begin(), shown(at));
    }
    EXPECT_EQ(forwards, backwards) << when.text();
    return forwards;
}

TEST(schedule, is_made_again_from_its_text) {
    for (const char* expression : {"30 2 * * *", "@daily", "*/5 8-18 * * MON-FRI"}) {
        const auto made = schedule::cron(expression);
        const auto again = schedule::parse(made.text());
        EXPECT_EQ(again.text(), made.text());
        EXPECT_EQ(again.next(utc(2026, 3, 1)), made.next(utc(2026, 3, 1))) << made.text();
    }
    for (const std::chrono::microseconds period : {1'000'000us, 3'600'000'000us, 1'500'001us}) {
        const auto made = schedule::every(period);
        const auto again = schedule::parse(made.text());
        EXPECT_EQ(again.text(), made.text());
        EXPECT_EQ(again.next(utc(2026, 3, 1)), made.next(utc(2026, 3, 1))) << made.text();
    }
    EXPECT_EQ(schedule::every(1'500'001us).text(), "every 1.500001 s");
    for (const char* text :
         {"",
          "every s",
          "every x s",
          "every 0 s",
          "every 1.5 s",
          "every 99999999999999 s",
          "every -1 s",
          "every -000024748376570678961 s",
          "30 2 * * *",
          "30 2 * * * UTC)",
          "30 2 * * * (Nowhere/Land)"}) {
        EXPECT_THROW(schedule::parse(text), error) << text;
    }
}

TEST(schedule_test, a_period_fires_at_its_multiples_since_1970_in_utc) {
    const auto hourly = schedule::every(1h);
    EXPECT_EQ(hourly.previous(utc(2026, 10, 5, 12, 59, 59)), utc(2026, 10, 5, 12));
    EXPECT_EQ(hourly.previous(utc(2026, 10, 5, 12)), utc(2026, 10, 5, 12));
    EXPECT_EQ(hourly.next(utc(2026, 10, 5, 12)), utc(2026, 10, 5, 13));
    EXPECT_EQ(hourly.next(utc(2026, 10, 5, 12) - 1us), utc(2026, 10, 5, 12));
    EXPECT_EQ(schedule::every(24h).previous(utc(2026, 10, 5, 23)), utc(2026, 10, 5));
    EXPECT_EQ(hourly.text(), "every 3600 s");
    for (const microseconds bad : {microseconds{0}, microseconds{-1}, microseconds{999'999}}) {
        EXPECT_THROW((void)schedule::every(bad), error);
    }
    EXPECT_THROW((void)schedule::every(hours{367 * 24}), error);
}

TEST(schedule_test, next_is_later_and_previous_is_not) {
    const auto daily = schedule::cron("30 2 * * *");
    const auto fire = utc(2026, 10, 5, 2, 30);
    EXPECT_EQ(daily.previous(fire), fire);
    EXPECT_EQ(daily.previous(fire - 1us), utc(2026, 10, 4, 2, 30));
    EXPECT_EQ(daily.next(fire), utc(2026, 10, 6, 2, 30));
    EXPECT_EQ(daily.next(fire - 1us), fire);
    EXPECT_EQ(daily.text(), "30 2 * * * (UTC)");
}

TEST(schedule_test, only_the_years_1970_to_9999_are_known) {
    const auto daily = schedule::cron("@daily");
    EXPECT_THROW((void)daily.next(utc(1969, 12, 31, 23, 59, 59)), error);
    EXPECT_THROW((void)daily.previous(utc(10000, 1, 1)), error);
    EXPECT_EQ(daily.previous(utc(9999, 12, 31, 12)), utc(9999, 12, 31));
    // A rare time may have fired before.
    EXPECT_EQ(schedule::cron("0 0 29 2 *").previous(utc(1970, 1, 1)), utc(1968, 2, 29));
    EXPECT_EQ(schedule::cron("@yearly").next(utc(1970, 1, 1)), utc(1971, 1, 1));
}

TEST(schedule_test, utc_needs_no_database_and_others_are_known_by_name) {
    EXPECT_NO_THROW((void)schedule::cron("@daily", "UTC"));
    EXPECT_NO_THROW((void)schedule::cron("@daily", "Etc/UTC"));
    for (const char* name :
         {"", "Nowhere/Land", "Europe", "Europe/", "europe/berlin", "../../etc/passwd", "CEST"}) {
        try {
            (void)schedule::cron("@daily", name);
            ADD_FAILURE() << name;
        } catch (const error& failure) {
#ifdef LEASEHOLD_WITH_TIME_ZONES
            EXPECT_EQ(failure.code(), errc::invalid_argument) << name;
#else
            EXPECT_EQ(failure.code(), errc::unsupported) << name;
#endif
        }
    }
}

#ifdef LEASEHOLD_WITH_TIME_ZONES

// 2026-03-29 at 01:00 UTC Berlin's clock goes from 02:00 to 03:00.
TEST(schedule_test, a_time_in_a_skipped_hour_fires_once_at_the_end_of_the_gap) {
    const auto from = utc(2026, 3, 28), until = utc(2026, 3, 31);
    const auto berlin = [&](const char* expression) {
        return fire_times(schedule::cron(expression, "Europe/Berlin"), from, until);
    };
    EXPECT_EQ(berlin("30 2 * * *"), (texts{"03-28 01:30", "03-29 01:00", "03-30 00:30"}));
    // Several in the gap, and one right after it: together.
    EXPECT_EQ(
        berlin("0,20,40 2 * * *"),
        (texts{
            "03-28 01:00",
            "03-28 01:20",
            "03-28 01:40",
            "03-29 01:00",
            "03-30 00:00",
            "03-30 00:20",
            "03-30 00:40"})
    );
    EXPECT_EQ(
        berlin("0 2,3 * * *"),
        (texts{"03-28 01:00", "03-28 02:00", "03-29 01:00", "03-30 00:00", "03-30 01:00"})
    );
    EXPECT_EQ(berlin("59 1 29 3 *"), (texts{"03-29 00:59"}));
    EXPECT_EQ(berlin("0 3 29 3 *"), (texts{"03-29 01:00"}));
}

// 2026-10-25 at 01:00 UTC Berlin's clock goes from 03:00 back to 02:00.
TEST(schedule_test, a_time_in_a_repeated_hour_fires_the_first_time_round) {
    const auto from = utc(2026, 10, 24), until = utc(2026, 10, 27);
    const auto berlin = [&](const char* expression) {
        return fire_times(schedule::cron(expression, "Europe/Berlin"), from, until);
    };
    EXPECT_EQ(berlin("30 2 * * *"), (texts{"10-24 00:30", "10-25 00:30", "10-26 01:30"}));
    EXPECT_EQ(berlin("0 2 25 10 *"), (texts{"10-25 00:00"}));
    EXPECT_EQ(berlin("0 3 25 10 *"), (texts{"10-25 02:00"}));
    EXPECT_EQ(berlin("*/30 2 25 10 *"), (texts{"10-25 00:00", "10-25 00:30"}));
    // Steps of hours name times of the day, too.
    EXPECT_EQ(
        fire_times(
            schedule::cron("0 */2 * * *", "Europe/Berlin"),
            utc(2026, 10, 24, 22),
            utc(2026, 10, 25, 5)
        ),
        (texts{"10-24 22:00", "10-25 00:00", "10-25 03:00"})
    );
}

// When the clock has been put back it shows less than the time that fired last.
TEST(schedule_test, while_the_hour_is_repeated_its_fire_time_is_the_latest) {
    const auto nightly = schedule::cron("30 2 * * *", "Europe/Berlin");
    for (const int minute : {0, 10, 30, 59}) {
        EXPECT_EQ(shown(nightly.previous(utc(2026, 10, 25, 1, minute))), "10-25 00:30") << minute;
        EXPECT_EQ(shown(nightly.next(utc(2026, 10, 25, 1, minute))), "10-26 01:30") << minute;
    }
}

TEST(schedule_test, an_open_hour_goes_by_real_time) {
    const auto hourly = schedule::cron("15 * * * *", "Europe/Berlin");
    EXPECT_EQ(
        fire_times(hourly, utc(2026, 3, 28, 23), utc(2026, 3, 29, 3)),
        (texts{"03-28 23:15", "03-29 00:15", "03-29 01:15", "03-29 02:15"})
    );
    EXPECT_EQ(
        fire_times(hourly, utc(2026, 10, 24, 23), utc(2026, 10, 25, 3)),
        (texts{"10-24 23:15", "10-25 00:15", "10-25 01:15", "10-25 02:15"})
    );
    const auto often = schedule::cron("*/5 * * * *", "America/New_York");
    for (const auto day : {utc(2026, 3, 8), utc(2026, 11, 1), utc(2026, 6, 1)}) {
        EXPECT_EQ(fire_times(often, day, day + 24h).size(), 24U * 12);
    }
}

// 2026-03-08 at 07:00 UTC from 02:00 to 03:00; 2026-11-01 at 06:00 UTC from 02:00 back to 01:00.
TEST(schedule_test, new_york_jumps_on_days_of_its_own) {
    const auto early = schedule::cron("30 2 * * *", "America/New_York");
    EXPECT_EQ(
        fire_times(early, utc(2026, 3, 7), utc(2026, 3, 10)),
        (texts{"03-07 07:30", "03-08 07:00", "03-09 06:30"})
    );
    const auto twice = schedule::cron("30 1 * * *", "America/New_York");
    EXPECT_EQ(
        fire_times(twice, utc(2026, 10, 31), utc(2026, 11, 3)),
        (texts{"10-31 05:30", "11-01 05:30", "11-02 06:30"})
    );
}

// Half an hour: 2026-04-04 at 15:00 UTC from 02:00 back to 01:30; 2026-10-03 at 15:30 UTC from
// 02:00 to 02:30.
TEST(schedule_test, lord_howe_jumps_by_half_an_hour) {
    const char* const zone = "Australia/Lord_Howe";
    const auto spring = [&](const char* expression) {
        return fire_times(
            schedule::cron(expression, zone), utc(2026, 10, 2, 12), utc(2026, 10, 4, 12)
        );
    };
    EXPECT_EQ(spring("15 2 * * *"), (texts{"10-02 15:45", "10-03 15:30"}));
    EXPECT_EQ(spring("45 2 * * *"), (texts{"10-02 16:15", "10-03 15:45"}));
    const auto autumn = [&](const char* expression) {
        return fire_times(
            schedule::cron(expression, zone), utc(2026, 4, 3, 12), utc(2026, 4, 5, 12)
        );
    };
    EXPECT_EQ(autumn("45 1 * * *"), (texts{"04-03 14:45", "04-04 14:45"}));
    EXPECT_EQ(autumn("15 1 * * *"), (texts{"04-03 14:15", "04-04 14:15"}));
    EXPECT_EQ(autumn("0 2 * * *"), (texts{"04-03 15:00", "04-04 15:30"}));
    // The clock shows a quarter to two twice, half an hour apart.
    EXPECT_EQ(
        fire_times(schedule::cron("45 * * * *", zone), utc(2026, 4, 4, 14), utc(2026, 4, 4, 17)),
        (texts{"04-04 14:45", "04-04 15:15", "04-04 16:15"})
    );
}

// Samoa had no 30 December 2011; at its end the clock went on by a day.
TEST(schedule_test, a_day_that_is_skipped_fires_when_it_is_over) {
    const auto noon = schedule::cron("0 12 * * *", "Pacific/Apia");
    EXPECT_EQ(
        fire_times(noon, utc(2011, 12, 28, 12), utc(2012, 1, 1)),
        (texts{"12-28 22:00", "12-29 22:00", "12-30 10:00", "12-30 22:00", "12-31 22:00"})
    );
}

TEST(schedule_test, midnight_can_be_in_the_gap) {
    // Cairo: 2024-04-26 from 00:00 to 01:00, at 2024-04-25 22:00 UTC.
    EXPECT_EQ(
        fire_times(
            schedule::cron("@daily", "Africa/Cairo"), utc(2024, 4, 24, 12), utc(2024, 4, 27, 12)
        ),
        (texts{"04-24 22:00", "04-25 22:00", "04-26 21:00"})
    );
}

// Files of the zones' folder that are no zone of the IANA database are another one on each host.
TEST(schedule_test, only_zones_of_the_iana_database_are_known) {
    for (const char* each :
         {"localtime",
          "posixrules",
          "Factory",
          "posix/Europe/Berlin",
          "right/Europe/Berlin",
          "/usr/share/zoneinfo/Europe/Berlin",
          "Europe/../localtime",
          "CET-1CEST",
          ":Europe/Berlin",
          "europe/berlin",
          ""}) {
        try {
            schedule::cron("@daily", each);
            ADD_FAILURE() << each;
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::invalid_argument);
            EXPECT_NE(std::string(failure.what()).find("IANA"), std::string::npos) << each;
        }
    }
    for (const char* each :
         {"Europe/Berlin",
          "America/Argentina/Buenos_Aires",
          "Etc/GMT+5",
          "EST5EDT",
          "Zulu",
          "US/Pacific"}) {
        EXPECT_NO_THROW(schedule::cron("@daily", each)) << each;
    }
}

TEST(schedule_test, leap_days_are_the_zones_own) {
    EXPECT_EQ(
        schedule::cron("0 1 29 2 *", "Asia/Tokyo").next(utc(2026, 1, 1)), utc(2028, 2, 28, 16)
    );
}

// ------------------------------------------------------------------- against a scan by minutes

// Every minute of [from, until) as the wall clock has it; a minute is its UTC number.
struct scanned {
    std::int64_t minute;
    std::int64_t wall;
};

std::vector<scanned> scan(const time_zone& zone, sys_seconds from, sys_seconds until) {
    std::vector<scanned> minutes_seen;
    for (auto at = from; at < until; at += 1min) {
        const auto wall = at.time_since_epoch() + zone.at(at).offset;
        minutes_seen.push_back({at.time_since_epoch() / 1min, wall / 1min});
    }
    return minutes_seen;
}

struct fields {
    std::set<unsigned> minutes, hours, days, months, weekdays;
    bool any_day = false, any_weekday = false;

    bool match(std::int64_t wall) const {
        const local_days day{std::chrono::days{wall / (24 * 60)}};
        const year_month_day date{day};
        const bool by_date = any_day || days.contains(unsigned{date.day()});
        const bool by_weekday = any_weekday || weekdays.contains(weekday{day}.c_encoding());
        const bool by_day = any_day || any_weekday ? by_date && by_weekday : by_date || by_weekday;
        return by_day && months.contains(unsigned{date.month()}) &&
               hours.contains(static_cast<unsigned>(wall / 60 % 24)) &&
               minutes.contains(static_cast<unsigned>(wall % 60));
    }
};

// The rules of the header, spelled out over a table of all minutes. Its first two days lead in.
std::set<std::int64_t> expected(const fields& when, const std::vector<scanned>& all) {
    std::set<std::int64_t> fires;
    const bool is_open = when.hours.size() == 24;
    std::int64_t highest = all.front().wall - 1;  // that the clock has shown
    for (const scanned& each : all) {
        if (is_open) {
            if (when.match(each.wall)) fires.insert(each.minute);
            continue;
        }
        // The times that the clock shows for the first time, or has just jumped over.
        for (auto wall = highest + 1; wall <= each.wall; ++wall) {
            if (when.match(wall)) fires.insert(each.minute);
        }
        highest = std::max(highest, each.wall);
    }
    return fires;
}

class expressions {
public:
    explicit expressions(std::mt19937_64& random) : random_(random) {}

    std::pair<std::string, fields> any() {
        fields made;
        std::string text = field(made.minutes, 0, 59) + ' ';
        text += number(0, 3) == 0 ? star(made.hours, 0, 23) : field(made.hours, 0, 23);
        text += ' ';
        const auto day = number(0, 1) ? star(made.days, 1, 31) : field(made.days, 1, 28);
        made.any_day = day == "*";
        const auto month = number(0, 2) ? star(made.months, 1, 12) : field(made.months, 1, 12);
        const auto weekday = number(0, 1) ? star(made.weekdays, 0, 6) : field(made.weekdays, 0, 6);
        made.any_weekday = weekday == "*";
        return {text + day + ' ' + month + ' ' + weekday, made};
    }

private:
    unsigned number(unsigned least, unsigned most) {
        return std::uniform_int_distribution<unsigned>{least, most}(random_);
    }
    static std::string star(std::set<unsigned>& into, unsigned least, unsigned most) {
        for (unsigned each = least; each <= most; ++each) into.insert(each);
        return "*";
    }
    // A list of one to three values and ranges.
    std::string field(std::set<unsigned>& into, unsigned least, unsigned most) {
        std::string text;
        for (unsigned count = number(1, 3); count > 0; --count) {
            const unsigned from = number(least, most), to = number(from, most);
            const unsigned step = number(1, std::min(most - least, 4U));
            for (unsigned each = from; each <= to; each += step) into.insert(each);
            if (!text.empty()) text += ',';
            text += std::to_string(from) + '-' + std::to_string(to) + '/' + std::to_string(step);
        }
        return text;
    }

    std::mt19937_64& random_;
};

// Asked at any instant, not only at fire times.
void expect_neighbours(
    const schedule& fires,
    const std::set<std::int64_t>& wanted,
    sys_seconds from,
    sys_seconds until,
    std::mt19937_64& random
) {
    if (wanted.size() < 2) return;
    std::uniform_int_distribution<std::int64_t> any{0, (until - from).count() - 1};
    for (int look = 0; look < 100; ++look) {
        const sys_seconds at = from + seconds{any(random)};
        const auto after = wanted.upper_bound(at.time_since_epoch() / 1min);
        if (after == wanted.begin() || after == wanted.end()) continue;
        EXPECT_EQ(fires.previous(at).time_since_epoch() / 1min, *std::prev(after))
            << fires.text() << " at " << at.time_since_epoch().count();
        EXPECT_EQ(fires.next(at).time_since_epoch() / 1min, *after)
            << fires.text() << " at " << at.time_since_epoch().count();
    }
}

// One thread, so that a sanitizer sees as much in few rounds as in many.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int expressions_per_place = 4;
#else
constexpr int expressions_per_place = 60;
#endif

// Around every kind of jump there is.
TEST(schedule_test, random_expressions_agree_with_a_scan_of_every_minute) {
    const auto seed = testing::seed();
    SCOPED_TRACE("LEASEHOLD_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random{seed};
    expressions write{random};
    const struct {
        const char* zone;
        sys_days middle;
    } places[]{
        {"Europe/Berlin", sys_days{2026y / 3 / 29}},
        {"Europe/Berlin", sys_days{2026y / 10 / 25}},
        {"America/New_York", sys_days{2026y / 3 / 8}},
        {"America/New_York", sys_days{2026y / 11 / 1}},
        {"Australia/Lord_Howe", sys_days{2026y / 4 / 4}},
        {"Australia/Lord_Howe", sys_days{2026y / 10 / 3}},
        {"Pacific/Apia", sys_days{2011y / 12 / 30}},
        {"Africa/Casablanca", sys_days{2026y / 2 / 15}},
        {"Africa/Cairo", sys_days{2024y / 4 / 26}},
        {"America/St_Johns", sys_days{2006y / 10 / 29}},
        {"Antarctica/Troll", sys_days{2026y / 3 / 29}},
        {"Asia/Kathmandu", sys_days{2024y / 2 / 29}},
        {"UTC", sys_days{2024y / 2 / 29}},
    };
    for (const auto& each : places) {
        const sys_seconds from{each.middle - days{5}}, until{each.middle + days{5}};
        const auto all = scan(time_zone{each.zone}, from - days{2}, until);
        for (int round = 0; round < expressions_per_place; ++round) {
            const auto [text, when] = write.any();
            std::set<std::int64_t> wanted = expected(when, all), got, backwards;
            std::erase_if(wanted, [&](auto minute) {
                return minute < from.time_since_epoch() / 1min;
            });
            const auto fires = schedule::cron(text, each.zone);
            for (auto at = fires.next(from - 1us); at < until; at = fires.next(at)) {
                got.insert(at.time_since_epoch() / 1min);
            }
            for (auto at = fires.previous(until - 1us); at >= from; at = fires.previous(at - 1us)) {
                backwards.insert(at.time_since_epoch() / 1min);
            }
            ASSERT_EQ(got, wanted) << text << " in " << each.zone;
            ASSERT_EQ(backwards, wanted) << text << " in " << each.zone;
            expect_neighbours(fires, wanted, from, until, random);
        }
    }
}

#endif

}  // namespace
}  // namespace leasehold
