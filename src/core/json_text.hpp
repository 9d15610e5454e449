#pragma once
// Text in the form of JSON (RFC 8259), whatever the bytes are.
#include <string>
#include <string_view>

namespace leasehold {

// The text in quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view bytes);

}  // namespace leasehold
