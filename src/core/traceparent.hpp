#pragma once
// The traceparent of W3C Trace Context: https://www.w3.org/TR/trace-context/#traceparent-header
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace leasehold {

// Version, trace, parent and flags: hexadecimal digits in lower case, of which the version is not
// ff, and trace and parent are not zero.
inline bool is_traceparent(std::string_view text) noexcept {
    constexpr std::string_view form = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    constexpr std::string_view digits = "0123456789abcdef";
    const auto fits = [&](char each, char place) {
        return place == '-' ? each == '-' : digits.find(each) != std::string_view::npos;
    };
    if (!std::ranges::equal(text, form, fits)) return false;
    const auto is_zero = [&](std::size_t from, std::size_t count) {
        return text.substr(from, count).find_first_not_of('0') == std::string_view::npos;
    };
    constexpr std::size_t trace = 3, trace_digits = 32, parent = 36, parent_digits = 16;
    return !text.starts_with("ff") && !is_zero(trace, trace_digits) &&
           !is_zero(parent, parent_digits);
}

}  // namespace leasehold
