#pragma once
// Refuses a number that is none of an enum's values: a caller may have cast one to it.
#include <string>
#include <type_traits>

#include "leasehold/error.hpp"

namespace leasehold {

// For enums whose values are 1 to `last`.
template <class Enum>
void require_known(Enum value, Enum last, const char* what) {
    using number = std::underlying_type_t<Enum>;
    const number given = static_cast<number>(value);
    if (given >= 1 && given <= static_cast<number>(last)) return;
    throw error(
        errc::invalid_argument,
        std::string{what} + " has no value " + std::to_string(given) + ": name one of its values"
    );
}

}  // namespace leasehold
