#pragma once
// What names of queues, kinds and keys of jobs may be.
#include <string_view>

namespace leasehold {

// Throws invalid_argument unless it is 1 to 255 bytes of UTF-8 without NUL. `what`: for the
// message.
void require_name(std::string_view name, const char* what);
// The same, or empty.
void require_kind(std::string_view kind);
void require_key(std::string_view key, const char* what);

}  // namespace leasehold
