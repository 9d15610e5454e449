#pragma once
// Text for sentences. Times: "3 days", "2 h", "90 s", whole numbers of the largest unit of which
// there are two at least. And counts.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

LEASEHOLD_EXPORT std::string in_words(std::chrono::microseconds time);
// "1 standby", "2 standbys": a noun that gets an s in the plural.
LEASEHOLD_EXPORT std::string in_words(std::int64_t count, std::string_view noun);

}  // namespace leasehold
