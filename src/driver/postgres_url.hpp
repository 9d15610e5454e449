#pragma once
// Private to the PostgreSQL driver: checks a URL before it is used.
#include <string_view>

namespace leasehold::postgres {

// Throws invalid_argument, whose message repeats no part of the URL.
void require_valid_url(std::string_view url);

}  // namespace leasehold::postgres
