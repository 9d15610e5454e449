#pragma once
// The error for a caller that takes the lease out of an answer that has none.
#include <string>

namespace leasehold {

// Throws errc::busy. `why`: a text, or empty.
[[noreturn]] void throw_not_granted(const std::string& wanted, const std::string& why);

}  // namespace leasehold
