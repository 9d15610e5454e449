#include "cli/options.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

struct unit {
    std::string_view suffix;
    std::int64_t milliseconds;
};
// "ms" before "m" and "s", which are its ends.
constexpr std::array<unit, 6> units{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}, {"", 1000}}};

// Longer than any wait, and far below the durations at which nanoseconds overflow.
constexpr std::int64_t max_milliseconds = std::int64_t{100} * 366 * 86'400'000;

std::chrono::milliseconds parse(
    std::string_view text, const std::string& what, const std::string& advice
) {
    const auto refuse = [&](const std::string& why) {
        return usage_failure(what + " " + why + "; " + advice);
    };
    if (text.empty()) throw refuse("is empty");
    if (text[0] == '-') throw refuse("must not be negative");
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc::invalid_argument) {
        throw refuse("is no duration: '" + std::string(text) + "'");
    }
    const std::string_view suffix{rest, static_cast<std::size_t>(end - rest)};
    for (const unit& each : units) {
        if (suffix != each.suffix) continue;
        if (problem == std::errc::result_out_of_range ||
            number > max_milliseconds / each.milliseconds) {
            throw refuse("is too long: the limit is 100 years");
        }
        return std::chrono::milliseconds{number * each.milliseconds};
    }
    throw refuse("is no duration: '" + std::string(text) + "'");
}

// The one line of the file, which `named` has named.
std::string url_in(const std::string& path, const std::string& named) {
    std::ifstream file{path};
    const auto refuse = [&](const std::string& why) {
        return usage_failure(named + " is " + path + ", which " + why);
    };
    std::string url;
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        if (!url.empty()) throw refuse("has more than one line: write the URL alone");
        url = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    }
    if (!file.eof()) {
        throw refuse("cannot be read: " + std::generic_category().message(errno));
    }
    if (url.empty()) throw refuse("is empty: write the URL into it");
    return url;
}

}  // namespace

std::optional<std::string> from_environment(const char* name) {
    const char* const found = std::getenv(name);
    if (!found) return std::nullopt;
    if (*found) return found;
    throw usage_failure(std::string(name) + " is set but empty: unset it, or give it a value");
}

std::optional<std::string> url_file_of(const global_options& options) {
    if (!options.url_file.empty()) return options.url_file;
    if (!options.url.empty()) return std::nullopt;
    return from_environment("LEASEHOLD_URL_FILE");
}

std::string url_of(const global_options& options) {
    if (!options.url.empty() && !options.url_file.empty()) {
        throw usage_failure("say --url or --url-file, and not both");
    }
    if (!options.url.empty()) return options.url;
    if (!options.url_file.empty()) return url_in(options.url_file, "--url-file");
    auto url = from_environment("LEASEHOLD_URL");
    const auto file = from_environment("LEASEHOLD_URL_FILE");
    if (url && file) throw usage_failure("set LEASEHOLD_URL or LEASEHOLD_URL_FILE, and not both");
    if (url) return *std::move(url);
    if (file) return url_in(*file, "LEASEHOLD_URL_FILE");
    throw usage_failure(
        "which database is not said: set LEASEHOLD_URL (under cron, in the crontab) or give --url; "
        "for all hosts one server, postgresql://user@host/database or mysql://user@host/database, "
        "or for this machine alone a file, sqlite:/var/lib/app/leasehold.db"
    );
}

std::chrono::milliseconds parse_duration(std::string_view text, const std::string& what) {
    return parse(text, what, "write it as 500ms, 5s, 2m, 1h or 1d");
}

std::chrono::seconds parse_seconds(std::string_view text, const std::string& what) {
    return std::chrono::duration_cast<std::chrono::seconds>(parse_duration(text, what));
}

std::string complaint_of_zone(const std::string& zone) {
    return zone.empty() ? "it is empty: name a zone, like Europe/Berlin" : "";
}

std::optional<std::chrono::milliseconds> parse_timeout(
    std::string_view text, const std::string& what
) {
    if (text == "forever") return std::nullopt;
    return parse(text, what, "write it as 500ms, 5s, 2m, 1h, 1d or forever");
}

}  // namespace leasehold::cli
