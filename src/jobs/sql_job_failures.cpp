#include "jobs/sql_job_failures.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "core/utf8.hpp"

namespace leasehold {
namespace {

// The text up to the next `end`, or all of it; takes it off, with that `end`.
std::string_view taken(std::string_view& from, char end) {
    const std::size_t at = std::min(from.find(end), from.size());
    const std::string_view part = from.substr(0, at);
    from.remove_prefix(std::min(at + 1, from.size()));
    return part;
}

std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

std::vector<job_failure> failures_in(std::string_view text) {
    constexpr char separator = '\x1e';
    const std::int64_t now = number_in(taken(text, separator));
    const auto ago = [now](std::int64_t then) {
        return std::chrono::microseconds{then > 0 && then < now ? now - then : 0};
    };
    std::vector<job_failure> all;
    while (!text.empty()) {
        std::string_view record = taken(text, separator);
        if (std::ranges::count(record, '\t') < 4) continue;
        const std::int64_t attempt = number_in(taken(record, '\t'));
        const std::int64_t began_at = number_in(taken(record, '\t'));
        const std::int64_t ended_at = number_in(taken(record, '\t'));
        const std::string worker = printable_utf8(taken(record, '\t'));
        if (attempt < 1 || !std::in_range<int>(attempt)) continue;
        all.push_back(
            {static_cast<int>(attempt),
             worker,
             printable_lines(record),
             ago(began_at),
             ago(ended_at)}
        );
    }
    constexpr std::ptrdiff_t most = 20;
    all.erase(all.begin(), all.end() - std::min(std::ssize(all), most));
    return all;
}

}  // namespace leasehold
