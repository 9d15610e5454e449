#pragma once
// Times for sentences: "3 days", "2 h", "90 s". Whole numbers, of the largest unit of which there
// are two at least.
#include <chrono>
#include <string>

#include "leasehold/export.hpp"

namespace leasehold {

LEASEHOLD_EXPORT std::string in_words(std::chrono::microseconds time);

}  // namespace leasehold
