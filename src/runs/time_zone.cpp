#include "runs/time_zone.hpp"

#include <string>

#include "leasehold/error.hpp"

#ifdef LEASEHOLD_WITH_TIME_ZONES
#include <date/tz.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#endif

namespace leasehold {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

bool is_utc(std::string_view name) {
    return name == "UTC" || name == "Etc/UTC";
}

#ifdef LEASEHOLD_WITH_TIME_ZONES

// A folder of zones has files beside those of the IANA database, which are another zone on each
// host (localtime, posixrules), count otherwise (right/...) or stand for none (Factory). A new zone
// is named AREA/LOCATION, so that this list of areas and of older names is complete: the file
// `theory.html` of the database, "Timezone identifiers".
bool is_iana_name(std::string_view name) {
    static constexpr std::array<std::string_view, 16> areas{
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
        "US"};
    static constexpr std::array<std::string_view, 43> alone{
        "CET",       "CST6CDT",   "Cuba",     "EET",     "EST",       "EST5EDT",  "Egypt",
        "Eire",      "GB",        "GB-Eire",  "GMT",     "GMT+0",     "GMT-0",    "GMT0",
        "Greenwich", "HST",       "Hongkong", "Iceland", "Iran",      "Israel",   "Jamaica",
        "Japan",     "Kwajalein", "Libya",    "MET",     "MST",       "MST7MDT",  "NZ",
        "NZ-CHAT",   "Navajo",    "PRC",      "PST8PDT", "Poland",    "Portugal", "ROC",
        "ROK",       "Singapore", "Turkey",   "UCT",     "Universal", "W-SU",     "WET",
        "Zulu"};
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) return std::ranges::find(alone, name) != alone.end();
    return std::ranges::find(areas, name.substr(0, slash)) != areas.end() &&
           name.find("..") == std::string_view::npos;
}

// The library reads the transitions a zone's file lists, not the rule for all later ones at its
// end. Files made without such a list (`zic -b slim`) would silently give the wrong hour.
bool has_listed_transitions() {
    using namespace std::chrono;
    const sys_seconds summer = sys_days{year{2030} / July / 1};
    try {
        return date::locate_zone("America/New_York")->get_info(summer).offset == -4h;
    } catch (const std::runtime_error&) {
        return false;
    }
}

const void* find(std::string_view name) {
    if (!is_iana_name(name)) {
        throw error(
            errc::invalid_argument,
            "'" + std::string(name) +
                "' is no name of the IANA time zone database, which means the same zone on every "
                "host: write it like Europe/Berlin"
        );
    }
    const date::time_zone* found = nullptr;
    try {
        found = date::locate_zone(std::string(name));
    } catch (const std::runtime_error&) {
        throw error(
            errc::invalid_argument,
            "there is no time zone '" + std::string(name) +
                "' in the system's tz database: write it like Europe/Berlin, or install tzdata"
        );
    }
    static const bool is_usable = has_listed_transitions();
    if (is_usable) return found;
    throw error(
        errc::unsupported,
        "the system's tz database cannot be read by this library: install one made with "
        "`zic -b fat`, or use UTC"
    );
}

#else

const void* find(std::string_view name) {
    throw error(
        errc::unsupported,
        "the time zone '" + std::string(name) +
            "' is not known: this build knows UTC only; build with LEASEHOLD_TIME_ZONES=ON"
    );
}

#endif

}  // namespace

time_zone::time_zone(std::string_view name) {
    if (!is_utc(name)) zone_ = find(name);
}

zone_period time_zone::at([[maybe_unused]] sys_seconds instant) const {
#ifdef LEASEHOLD_WITH_TIME_ZONES
    if (zone_) {
        const auto info = static_cast<const date::time_zone*>(zone_)->get_info(instant);
        return {info.begin, info.end, info.offset};
    }
#endif
    constexpr seconds far{1'000'000'000'000};  // beyond every year
    return {sys_seconds{-far}, sys_seconds{far}, seconds{0}};
}

}  // namespace leasehold
