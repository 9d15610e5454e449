#include "runs/cron.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::months;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 12> month_names{
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> weekday_names{
    "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct field {
    std::string_view name;
    int least;
    int most;
    std::span<const std::string_view> names;  // the names of the values from `least` on
};

constexpr std::array<field, 5> fields{{
    {"minute", 0, 59, {}},
    {"hour", 0, 23, {}},
    {"day of month", 1, 31, {}},
    {"month", 1, 12, month_names},
    {"day of week", 0, 7, weekday_names},
}};
constexpr int sunday_again = 7;

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> macros{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

char upper(char each) {
    return each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
}

bool is_same_word(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return upper(a) == upper(b);
    });
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find_first_of(separators);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

// Reads one expression; makes the error if it cannot be read.
class reader {
public:
    explicit reader(std::string_view text LEASEHOLD_LIFETIMEBOUND) : text_(text) {}

    error refusal(const std::string& why) const {
        return error(
            errc::invalid_argument, "'" + std::string(text_) + "' is no cron expression: " + why
        );
    }

    // Calls `set` with each value the field names.
    template <class Set>
    void read(const field& of, std::string_view text, Set set) const {
        for (const std::string_view part : split(text, ",")) {
            const auto [range, step] = stepped(of, part);
            const auto [from, to] = limits(of, range);
            const auto [least, most] = limits(of, "*");
            if (step > most - least + 1) {
                throw refusal(
                    "a step of " + std::to_string(step) + " is longer than the whole field " +
                    std::string(of.name)
                );
            }
            for (int each = from; each <= to; each += step) set(each);
        }
    }

private:
    std::pair<std::string_view, int> stepped(const field& of, std::string_view part) const {
        const auto slash = part.find('/');
        if (slash == std::string_view::npos) return {part, 1};
        const auto range = part.substr(0, slash);
        const auto step = number(part.substr(slash + 1));
        if (!step || *step == 0) {
            throw refusal("the step of '" + std::string(part) + "' must be a number above 0");
        }
        if (range != "*" && range.find('-') == std::string_view::npos) {
            throw refusal(
                "a step needs `*` or a range before it: write '" + std::string(range) + "-" +
                std::to_string(of.most) + "/" + std::to_string(*step) + "' for '" +
                std::string(part) + "'"
            );
        }
        return {range, *step};
    }

    std::pair<int, int> limits(const field& of, std::string_view range) const {
        if (range == "*") return {of.least, of.names.size() == 7 ? of.most - 1 : of.most};
        const auto dash = range.find('-');
        if (dash == std::string_view::npos) {
            const int only = value(of, range);
            return {only, only};
        }
        const int from = value(of, range.substr(0, dash));
        int to = value(of, range.substr(dash + 1));
        // FRI-SUN ends with the Sunday after.
        if (of.most == sunday_again && to == 0 && from > 0) to = sunday_again;
        if (from <= to) return {from, to};
        throw refusal(
            "the range '" + std::string(range) +
            "' runs backwards: write it as two, separated by "
            "a comma"
        );
    }

    int value(const field& of, std::string_view text) const {
        for (std::size_t at = 0; at < of.names.size(); ++at) {
            if (is_same_word(text, of.names[at])) return of.least + static_cast<int>(at);
        }
        const auto found = number(text);
        if (found && *found >= of.least && *found <= of.most) return *found;
        throw refusal(
            "'" + std::string(text) + "' is no " + std::string(of.name) + ": it must be " +
            std::to_string(of.least) + " to " + std::to_string(of.most) +
            (of.names.empty()
                 ? ""
                 : ", or " + std::string(of.names.front()) + " to " + std::string(of.names.back()))
        );
    }

    static std::optional<int> number(std::string_view text) {
        int found = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, found);
        if (text.empty() || text[0] == '-' || rest != end || problem != std::errc{}) {
            return std::nullopt;
        }
        return found;
    }

    std::string_view text_;
};

std::vector<std::string_view> fields_of(std::string_view text, const reader& from) {
    std::string_view body = text;
    constexpr std::string_view blanks = " \t";
    const auto first = body.find_first_not_of(blanks);
    body.remove_prefix(std::min(first, body.size()));
    if (body.empty()) throw from.refusal("it is empty; write five fields, like '0 3 * * *'");
    if (body.front() == '@') {
        body = body.substr(0, body.find_last_not_of(blanks) + 1);
        for (const auto& [name, meaning] : macros) {
            if (is_same_word(body, name)) return split(meaning, " ");
        }
        throw from.refusal(
            "known are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
        );
    }
    auto parts = split(body, blanks);
    std::erase(parts, std::string_view{});
    if (parts.size() != fields.size()) {
        throw from.refusal(
            "it has " + std::to_string(parts.size()) + (parts.size() == 1 ? " field" : " fields") +
            ", and needs five: minute, hour, day of month, month, day of week"
        );
    }
    return parts;
}

}  // namespace

cron_expression::cron_expression(std::string_view text) {
    const reader from{text};
    const auto parts = fields_of(text, from);
    const auto set_in = [](auto& bits) {
        return [&bits](int each) { bits.set(static_cast<std::size_t>(each)); };
    };
    from.read(fields[0], parts[0], set_in(minutes_));
    from.read(fields[1], parts[1], set_in(hours_));
    from.read(fields[2], parts[2], set_in(days_));
    from.read(fields[3], parts[3], set_in(months_));
    from.read(fields[4], parts[4], [&](int each) {
        weekdays_.set(static_cast<std::size_t>(each % sunday_again));
    });
    either_day_is_enough_ = !parts[2].starts_with('*') && !parts[4].starts_with('*');
    if (either_day_is_enough_) return;
    // Every day of the calendar falls on each day of the week at some time, 29 February, too.
    constexpr std::array<unsigned, 13> longest{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (unsigned month = 1; month <= 12; ++month) {
        for (unsigned day = 1; months_[month] && day <= longest[month]; ++day) {
            if (days_[day]) return;
        }
    }
    throw from.refusal("it never fires: no such day in these months");
}

bool cron_expression::matches_day(year_month_day day) const {
    const bool by_date = days_[unsigned{day.day()}];
    const bool by_weekday = weekdays_[std::chrono::weekday{local_days{day}}.c_encoding()];
    return either_day_is_enough_ ? by_date || by_weekday : by_date && by_weekday;
}

cron_expression::wall_minute cron_expression::first_from(wall_minute from) const {
    auto day = std::chrono::floor<days>(from);
    auto minute_of_day = (from - day).count();
    while (true) {
        const year_month_day date{day};
        if (!months_[unsigned{date.month()}]) {
            day = local_days{date.year() / date.month() / 1 + months{1}};
            minute_of_day = 0;
            continue;
        }
        if (matches_day(date)) {
            for (auto at = minute_of_day; at < 24L * 60; ++at) {
                const auto hour = static_cast<std::size_t>(at / 60);
                if (!hours_[hour]) {
                    at += 59 - at % 60;  // the last minute of it
                } else if (minutes_[static_cast<std::size_t>(at % 60)]) {
                    return day + minutes{at};
                }
            }
        }
        day += days{1};
        minute_of_day = 0;
    }
}

cron_expression::wall_minute cron_expression::last_until(wall_minute until) const {
    auto day = std::chrono::floor<days>(until);
    auto minute_of_day = (until - day).count();
    constexpr auto last_of_day = 24 * 60 - 1;
    while (true) {
        const year_month_day date{day};
        if (!months_[unsigned{date.month()}]) {
            day = local_days{date.year() / date.month() / 1} - days{1};
            minute_of_day = last_of_day;
            continue;
        }
        if (matches_day(date)) {
            for (auto at = minute_of_day; at >= 0; --at) {
                const auto hour = static_cast<std::size_t>(at / 60);
                if (!hours_[hour]) {
                    at = at / 60 * 60;
                } else if (minutes_[static_cast<std::size_t>(at % 60)]) {
                    return day + minutes{at};
                }
            }
        }
        day -= days{1};
        minute_of_day = last_of_day;
    }
}

}  // namespace leasehold
