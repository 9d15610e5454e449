#pragma once
// A parameter that counts, at most 2^63 - 1: a greater number becomes that. 2.9 permits would be 2,
// and `true` or 'a' some number: they do not compile.
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "leasehold/export.hpp"

namespace leasehold {

// std::int8_t to std::uint64_t, by whatever names; not bool, nor characters.
template <class Number>
concept whole_number = std::integral<Number> && sizeof(Number) <= sizeof(std::int64_t) &&
                       !std::same_as<Number, bool> && !std::same_as<Number, char> &&
                       !std::same_as<Number, wchar_t> && !std::same_as<Number, char8_t> &&
                       !std::same_as<Number, char16_t> && !std::same_as<Number, char32_t>;

class whole_count {
public:
    template <whole_number Number>
    constexpr whole_count(Number number) noexcept  // NOLINT: converts on purpose
        : number_(
              std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number)
                                                  : std::numeric_limits<std::int64_t>::max()
          ) {}
    constexpr operator std::int64_t() const noexcept { return number_; }  // NOLINT: as above

private:
    std::int64_t number_;
};

}  // namespace leasehold
