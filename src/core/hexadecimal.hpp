#pragma once
// Bytes in the form in which people and servers write them.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

// Two lower-case digits for each byte.
LEASEHOLD_EXPORT std::string in_hexadecimal(std::string_view bytes);

// The number that a digit of either case stands for; -1 if it is none.
constexpr int hexadecimal_value(char digit) noexcept {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

}  // namespace leasehold
