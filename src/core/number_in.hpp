#pragma once
// Reads a text that is a number as a whole.
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace leasehold {

// Nullopt if the text is no number of this type, or has more in it than the number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc{} || stop != end) return std::nullopt;
    return number;
}

}  // namespace leasehold
