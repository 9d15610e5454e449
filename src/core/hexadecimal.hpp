#pragma once
// Bytes in the form in which people and servers write them.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

// Two lower-case digits for each byte.
LEASEHOLD_EXPORT std::string in_hexadecimal(std::string_view bytes);

}  // namespace leasehold
