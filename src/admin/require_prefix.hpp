#pragma once
#include <string_view>

#include "core/utf8.hpp"
#include "leasehold/error.hpp"
#include "leasehold/key.hpp"

namespace leasehold {

// Throws invalid_argument for a prefix that no key can begin with.
inline void require_prefix(std::string_view prefix) {
    if (prefix.size() <= key::max_bytes && is_utf8(prefix)) return;
    throw error(errc::invalid_argument, "a prefix of keys is UTF-8 of at most 255 bytes");
}

}  // namespace leasehold
