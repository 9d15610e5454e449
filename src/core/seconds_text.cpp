#include "core/seconds_text.hpp"

#include <cstdint>

namespace leasehold {

std::string seconds_text(std::chrono::nanoseconds time) {
    constexpr std::uint64_t per_second = 1'000'000'000;
    const bool is_negative = time.count() < 0;
    const auto given = static_cast<std::uint64_t>(time.count());
    const std::uint64_t whole = is_negative ? 0 - given : given;
    std::string text = (is_negative ? "-" : "") + std::to_string(whole / per_second);
    if (whole % per_second == 0) return text;
    const std::string digits = std::to_string(per_second + whole % per_second);
    text += '.' + digits.substr(1);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

}  // namespace leasehold
