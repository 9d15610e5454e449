#pragma once
// Text as JSON has it (RFC 8259), whatever the bytes are.
#include <string>
#include <string_view>

namespace leasehold {

// In quotes; what is no UTF-8 as U+FFFD.
std::string json_string(std::string_view bytes);

}  // namespace leasehold
