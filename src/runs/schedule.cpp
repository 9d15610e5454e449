// Puts a cron expression into a zone. A wall-clock time becomes an instant in one of two ways, see
// the header; both keep the order of times, so that looking for the nearest fire time is walking
// over matches of the wall clock in one direction.
#include "leasehold/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "leasehold/error.hpp"
#include "runs/cron.hpp"
#include "runs/time_zone.hpp"

namespace leasehold {

using std::chrono::floor;
using std::chrono::local_seconds;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

class schedule::implementation {
public:
    explicit implementation(std::string text) : text_(std::move(text)) {}
    virtual ~implementation() = default;
    virtual instant previous(instant at) const = 0;
    virtual instant next(instant after) const = 0;
    const std::string& text() const noexcept { return text_; }

private:
    const std::string text_;
};

namespace {

using wall_minute = cron_expression::wall_minute;

// Reading a clock.
local_seconds wall_at(sys_seconds instant, seconds offset) {
    return local_seconds{instant.time_since_epoch() + offset};
}
sys_seconds instant_of(local_seconds wall, seconds offset) {
    return sys_seconds{wall.time_since_epoch() - offset};
}

std::string text_of(microseconds period) {
    std::string text = "every " + std::to_string(period.count() / 1'000'000);
    const std::string rest = std::to_string(1'000'000 + period.count() % 1'000'000);
    if (rest != "1000000") text += "." + rest.substr(1);
    return text + " s";
}

// The period in a text that text_of() has written; nullopt for any other text.
std::optional<microseconds> period_in(std::string_view text) {
    constexpr std::string_view before = "every ", after = " s";
    if (!text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
    std::string digits{text.substr(before.size(), text.size() - before.size() - after.size())};
    const auto point = digits.find('.');
    const std::size_t places = point == std::string::npos ? 0 : digits.size() - point - 1;
    if (point != std::string::npos) digits.erase(point, 1);
    if (places != 0 && places != 6) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, problem] = std::from_chars(digits.data(), end, number);
    constexpr std::int64_t max_seconds = std::int64_t{366} * 86'400;
    if (problem != std::errc{} || rest != end) return std::nullopt;
    if (places == 0 && (number < 0 || number > max_seconds)) return std::nullopt;
    return microseconds{places == 0 ? number * 1'000'000 : number};
}

class periodic final : public schedule::implementation {
public:
    explicit periodic(microseconds period) : implementation(text_of(period)), period_(period) {}

    schedule::instant previous(schedule::instant at) const override {
        return schedule::instant{at.time_since_epoch() / period_ * period_};
    }
    schedule::instant next(schedule::instant after) const override {
        return previous(after) + period_;
    }

private:
    const microseconds period_;
};

// Goes by real time: within a period of the zone every match is one instant.
class open_hours final : public schedule::implementation {
public:
    open_hours(std::string text, const cron_expression& when, time_zone where)
        : implementation(std::move(text)), when_(when), where_(where) {}

    schedule::instant previous(schedule::instant at) const override {
        auto until = floor<seconds>(at);
        while (true) {
            const zone_period period = where_.at(until);
            const auto wall = floor<minutes>(wall_at(until, period.offset));
            const auto found = instant_of(when_.last_until(wall), period.offset);
            if (found >= period.begin) return found;
            until = period.begin - seconds{1};
        }
    }
    schedule::instant next(schedule::instant after) const override {
        auto from = floor<seconds>(after) + seconds{1};
        while (true) {
            const zone_period period = where_.at(from);
            const auto wall = std::chrono::ceil<minutes>(wall_at(from, period.offset));
            const auto found = instant_of(when_.first_from(wall), period.offset);
            if (found < period.end) return found;
            from = period.end;
        }
    }

private:
    const cron_expression when_;
    const time_zone where_;
};

// Names times of the day: each match of the wall clock is one instant, whatever the clock did.
class times_of_day final : public schedule::implementation {
public:
    times_of_day(std::string text, const cron_expression& when, time_zone where)
        : implementation(std::move(text)), when_(when), where_(where) {}

    schedule::instant previous(schedule::instant at) const override {
        const auto until = floor<seconds>(at);
        auto wall = when_.last_until(floor<minutes>(latest_wall(until)));
        while (fire_time(wall) > until) wall = when_.last_until(wall - minutes{1});
        return fire_time(wall);
    }
    schedule::instant next(schedule::instant after) const override {
        const auto from = floor<seconds>(after);
        const auto now = wall_at(from, where_.at(from).offset);
        auto wall = when_.first_from(floor<minutes>(now));
        while (fire_time(wall) <= from) wall = when_.first_from(wall + minutes{1});
        return fire_time(wall);
    }

private:
    // More than any zone's distance from UTC, and than any jump, which is at most a day.
    static constexpr std::chrono::hours far{26};

    // The first instant at which the clock showed `wall` or, if it never did, jumped over it.
    sys_seconds fire_time(local_seconds wall) const {
        const sys_seconds close{wall.time_since_epoch()};
        zone_period period = where_.at(close - far);
        while (wall_at(period.end, period.offset) <= wall) period = where_.at(period.end);
        return std::max(instant_of(wall, period.offset), period.begin);
    }

    // The latest time the clock has shown up to `instant`: before it was put back, perhaps.
    local_seconds latest_wall(sys_seconds instant) const {
        zone_period period = where_.at(instant - far);
        local_seconds latest = wall_at(std::min(period.end, instant), period.offset);
        while (period.end <= instant) {
            period = where_.at(period.end);
            latest = std::max(latest, wall_at(std::min(period.end, instant), period.offset));
        }
        return latest;
    }

    const cron_expression when_;
    const time_zone where_;
};

schedule::instant checked(schedule::instant given) {
    using namespace std::chrono;
    constexpr sys_days first{year{1970} / 1 / 1}, end{year{10000} / 1 / 1};
    if (given >= first && given < end) return given;
    throw error(errc::invalid_argument, "a schedule knows the years 1970 to 9999");
}

}  // namespace

schedule::schedule(std::shared_ptr<const implementation> made) noexcept : inner_(std::move(made)) {}

schedule schedule::cron(std::string_view expression, std::string_view zone) {
    const cron_expression when{expression};
    const time_zone where{zone};
    std::string text = std::string(expression) + " (" + std::string(zone) + ")";
    if (when.leaves_hour_open()) {
        return schedule{std::make_shared<const open_hours>(std::move(text), when, where)};
    }
    return schedule{std::make_shared<const times_of_day>(std::move(text), when, where)};
}

schedule schedule::every(microseconds period) {
    using std::chrono::hours;
    if (period < seconds{1} || period > hours{366 * 24}) {
        throw error(errc::invalid_argument, "a period must be 1 s to 366 days");
    }
    return schedule{std::make_shared<const periodic>(period)};
}

schedule schedule::parse(std::string_view text) {
    if (const auto period = period_in(text)) return every(*period);
    constexpr std::string_view between = " (";
    const auto at = text.rfind(between);
    if (at == std::string_view::npos || !text.ends_with(')')) {
        throw error(errc::invalid_argument, "it is not the text of a schedule");
    }
    const auto zone = text.substr(at + between.size());
    return cron(text.substr(0, at), zone.substr(0, zone.size() - 1));
}

schedule::instant schedule::previous(instant at) const {
    return inner_->previous(checked(at));
}
schedule::instant schedule::next(instant after) const {
    return inner_->next(checked(after));
}
const std::string& schedule::text() const& {
    return inner_->text();
}

}  // namespace leasehold
