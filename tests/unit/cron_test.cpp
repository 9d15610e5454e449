// Cron expressions against a wall clock that never jumps: good ones and refused ones.
#include "runs/cron.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "leasehold/error.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold {
namespace {

using namespace std::chrono;
using wall_minute = cron_expression::wall_minute;

// "2026-03-01 00:00", a Sunday.
wall_minute at(int y, unsigned m, unsigned d, int hour = 0, int minute = 0) {
    return local_days{year{y} / static_cast<int>(m) / static_cast<int>(d)} + hours{hour} +
           minutes{minute};
}

std::string shown(wall_minute when) {
    const auto day = floor<days>(when);
    const year_month_day date{day};
    const auto of_day = (when - day).count();
    char text[32];
    snprintf(
        text,
        sizeof text,
        "%04d-%02u-%02u %02d:%02d",
        int{date.year()},
        unsigned{date.month()},
        unsigned{date.day()},
        static_cast<int>(of_day / 60),
        static_cast<int>(of_day % 60)
    );
    return text;
}

// The first matches from the beginning of 2026-03 on, a Sunday.
std::vector<std::string> first_matches(const char* expression, std::size_t count) {
    const cron_expression when{expression};
    std::vector<std::string> found;
    auto from = at(2026, 3, 1);
    while (found.size() < count) {
        from = when.first_from(from);
        found.push_back(shown(from));
        from += minutes{1};
    }
    return found;
}

using texts = std::vector<std::string>;

TEST(cron_test, each_form_of_a_field_is_read) {
    const struct {
        const char* expression;
        texts first;
    } cases[]{
        {"* * * * *", {"2026-03-01 00:00", "2026-03-01 00:01"}},
        {"5 * * * *", {"2026-03-01 00:05", "2026-03-01 01:05"}},
        {"*/20 * * * *", {"2026-03-01 00:00", "2026-03-01 00:20", "2026-03-01 00:40"}},
        {"10-50/20 3 * * *", {"2026-03-01 03:10", "2026-03-01 03:30", "2026-03-01 03:50"}},
        {"0,30,59 23 * * *", {"2026-03-01 23:00", "2026-03-01 23:30", "2026-03-01 23:59"}},
        {"0 1-3,22 * * *", {"2026-03-01 01:00", "2026-03-01 02:00", "2026-03-01 03:00"}},
        {"0 0 31 * *", {"2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00"}},
        {"0 0 1 JAN,jul *", {"2026-07-01 00:00", "2027-01-01 00:00"}},
        {"0 0 1 Feb-Apr *", {"2026-03-01 00:00", "2026-04-01 00:00", "2027-02-01 00:00"}},
        {"0 9 * * MON-FRI", {"2026-03-02 09:00", "2026-03-03 09:00", "2026-03-04 09:00"}},
        {"0 9 * * 1-5/2", {"2026-03-02 09:00", "2026-03-04 09:00", "2026-03-06 09:00"}},
        {"  15\t 4  * * 0 ", {"2026-03-01 04:15", "2026-03-08 04:15"}},
        {"00 007 * * *", {"2026-03-01 07:00"}},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(first_matches(each.expression, each.first.size()), each.first) << each.expression;
    }
}

TEST(cron_test, sunday_is_0_and_7_and_ends_a_range) {
    const texts sundays{"2026-03-01 00:00", "2026-03-08 00:00"};
    EXPECT_EQ(first_matches("0 0 * * 0", 2), sundays);
    EXPECT_EQ(first_matches("0 0 * * 7", 2), sundays);
    EXPECT_EQ(first_matches("0 0 * * sun", 2), sundays);
    const texts weekends{"2026-03-01 00:00", "2026-03-07 00:00", "2026-03-08 00:00"};
    EXPECT_EQ(first_matches("0 0 * * 6-7", 3), weekends);
    EXPECT_EQ(first_matches("0 0 * * SAT-SUN", 3), weekends);
    EXPECT_EQ(first_matches("0 0 * * 0-7", 3), first_matches("0 0 * * *", 3));
}

TEST(cron_test, macros_are_what_they_stand_for) {
    const struct {
        const char* macro;
        const char* meaning;
    } cases[]{
        {"@hourly", "0 * * * *"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"},
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {" @Daily ", "0 0 * * *"},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(first_matches(each.macro, 5), first_matches(each.meaning, 5)) << each.macro;
    }
}

// Vixie's rule: the 13th, and every Friday.
TEST(cron_test, two_restricted_day_fields_are_either_and_a_star_is_no_restriction) {
    EXPECT_EQ(
        first_matches("0 0 13 * FRI", 4),
        (texts{"2026-03-06 00:00", "2026-03-13 00:00", "2026-03-20 00:00", "2026-03-27 00:00"})
    );
    EXPECT_EQ(
        first_matches("0 0 10 * FRI", 3),
        (texts{"2026-03-06 00:00", "2026-03-10 00:00", "2026-03-13 00:00"})
    );
    // Begins with a star: both must match. Odd days that are Mondays.
    EXPECT_EQ(
        first_matches("0 0 */2 * MON", 3),
        (texts{"2026-03-09 00:00", "2026-03-23 00:00", "2026-04-13 00:00"})
    );
    // When either field is enough, a day that is not in the calendar does no harm.
    EXPECT_EQ(first_matches("0 0 31 2 MON", 1), (texts{"2027-02-01 00:00"}));
}

TEST(cron_test, leap_days_come_every_four_years_but_not_in_2100) {
    EXPECT_EQ(first_matches("0 0 29 2 *", 2), (texts{"2028-02-29 00:00", "2032-02-29 00:00"}));
    const cron_expression leap{"0 12 29 2 *"};
    EXPECT_EQ(shown(leap.first_from(at(2096, 3, 1))), "2104-02-29 12:00");
    EXPECT_EQ(shown(leap.first_from(at(2000, 1, 1))), "2000-02-29 12:00");
    EXPECT_EQ(shown(leap.last_until(at(2104, 2, 29, 11, 59))), "2096-02-29 12:00");
    // 29 February on a Monday; from one to the next it is forty years across 2100.
    const cron_expression monday{"0 0 */28 2 MON"};  // 1 and 29 February
    EXPECT_EQ(shown(monday.first_from(at(2044, 2, 2))), "2044-02-29 00:00");
}

TEST(cron_test, the_last_match_is_the_mirror_of_the_first) {
    for (const char* expression :
         {"* * * * *", "*/7 1-5 * * *", "59 23 31 12 *", "0 0 29 2 *", "3 4 1-7 * WED"}) {
        const cron_expression when{expression};
        auto from = at(2023, 12, 30, 5, 5);
        for (int each = 0; each < 50; ++each) {
            const auto first = when.first_from(from);
            EXPECT_EQ(when.last_until(first), first) << expression;
            EXPECT_LT(when.last_until(first - minutes{1}), from) << expression;
            from = first + minutes{1};
        }
    }
}

std::string refusal(const char* expression) {
    try {
        (void)cron_expression{expression};
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::invalid_argument) << expression;
        return failure.what();
    }
    return "";
}

TEST(cron_test, what_never_fires_is_refused) {
    for (const char* expression :
         {"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30-31 FEB *"}) {
        EXPECT_NE(refusal(expression).find("never fires"), std::string::npos) << expression;
    }
    EXPECT_EQ(refusal("0 0 29 2 *"), "");
    EXPECT_EQ(refusal("0 0 31 4,5 *"), "");
}

TEST(cron_test, a_refusal_says_what_is_wrong_and_what_to_write) {
    const struct {
        const char* expression;
        const char* says;
    } cases[]{
        {"", "empty"},
        {"   ", "empty"},
        {"* * * *", "4 fields"},
        {"* * * * * *", "6 fields"},
        {"*", "1 field,"},
        {"60 * * * *", "'60' is no minute: it must be 0 to 59"},
        {"* 24 * * *", "0 to 23"},
        {"* * 0 * *", "1 to 31"},
        {"* * 32 * *", "1 to 31"},
        {"* * * 0 *", "1 to 12, or JAN to DEC"},
        {"* * * 13 *", "1 to 12"},
        {"* * * * 8", "0 to 7, or SUN to SAT"},
        {"-1 * * * *", "is no minute"},
        {"+1 * * * *", "is no minute"},
        {"1.5 * * * *", "is no minute"},
        {"99999999999 * * * *", "is no minute"},
        {"1,,2 * * * *", "'' is no minute"},
        {"1, * * * *", "'' is no minute"},
        {"1- * * * *", "'' is no minute"},
        {"a * * * *", "'a' is no minute"},
        {"* JAN * * *", "'JAN' is no hour"},
        {"* * * MON *", "'MON' is no month"},
        {"* * * * MONDAY", "'MONDAY' is no day of week"},
        {"* * ? * *", "'?' is no day of month"},
        {"* * L * *", "'L' is no day of month"},
        {"* * * * 5#2", "is no day of week"},
        {"30-10 * * * *", "runs backwards"},
        {"* 22-2 * * *", "runs backwards"},
        {"* * * * FRI-MON", "runs backwards"},
        {"*/0 * * * *", "above 0"},
        {"*/ * * * *", "above 0"},
        {"*/-5 * * * *", "above 0"},
        {"*/x * * * *", "above 0"},
        {"*/90 * * * *", "longer than the whole field minute"},
        {"* */25 * * *", "longer than the whole field hour"},
        {"* * * * */8", "longer than the whole field day of week"},
        {"5/15 * * * *", "write '5-59/15'"},
        {"*-5 * * * *", "'*' is no minute"},
        {"** * * * *", "is no minute"},
        {"@reboot", "known are @hourly"},
        {"@", "known are @hourly"},
        {"@daily x", "known are @hourly"},
    };
    for (const auto& each : cases) {
        const std::string said = refusal(each.expression);
        EXPECT_NE(said.find(each.says), std::string::npos) << each.expression << ": " << said;
        EXPECT_EQ(said.find('\n'), std::string::npos);
    }
}

// Other implementations do the same: only the first of the field is left.
TEST(cron_test, a_step_may_be_as_long_as_its_field) {
    const std::pair<const char*, const char*> alike[] = {
        {"*/60 * * * *", "0 * * * *"},
        {"0 */24 * * *", "0 0 * * *"},
        {"0 0 */31 * *", "0 0 1 * *"},
        {"0 0 1 */12 *", "0 0 1 1 *"},
        {"0 0 * * */7", "0 0 * * SUN"},
    };
    for (const auto& [stepped, plain] : alike) {
        auto steps = schedule::cron(stepped), fires = schedule::cron(plain);
        schedule::instant at{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
        for (int each = 0; each < 20; ++each) {
            EXPECT_EQ(steps.next(at), fires.next(at)) << stepped;
            at = fires.next(at);
        }
    }
}

TEST(cron_test, the_hour_is_open_where_all_are_named) {
    EXPECT_TRUE(cron_expression{"5 * * * *"}.leaves_hour_open());
    EXPECT_TRUE(cron_expression{"5 0-23 * * *"}.leaves_hour_open());
    EXPECT_TRUE(cron_expression{"@hourly"}.leaves_hour_open());
    EXPECT_FALSE(cron_expression{"5 */2 * * *"}.leaves_hour_open());
    EXPECT_FALSE(cron_expression{"* 2 * * *"}.leaves_hour_open());
}

}  // namespace
}  // namespace leasehold
