#pragma once
// Tells whether bytes are UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above
// U+10FFFF. PostgreSQL and MySQL refuse the same.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

bool is_utf8(std::string_view bytes) noexcept;

// The longest beginning of `text` that has at most `max_bytes` bytes and ends between characters.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) noexcept;

// `bytes` with each byte that is not part of UTF-8, and each control character, replaced by '?'.
LEASEHOLD_EXPORT std::string printable_utf8(std::string_view bytes);
// The same for text in lines, which stay.
std::string printable_lines(std::string_view bytes);

// `bytes` with each byte that is not part of UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view bytes);

}  // namespace leasehold
