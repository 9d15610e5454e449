#pragma once
// The error for a caller that takes the lease out of an answer that has none.
#include <optional>
#include <string>

#include "leasehold/lock_info.hpp"

namespace leasehold {

// Throws errc::busy. `why`: a text, or empty.
[[noreturn]] void throw_not_granted(const std::string& wanted, const std::string& why);

// "HOLDER holds it", or empty if no holder is known.
std::string words_for(const std::optional<lock_info>& holder);

}  // namespace leasehold
