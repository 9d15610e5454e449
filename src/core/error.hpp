#pragma once
// Raising an error again in other words.
#include <string>

#include "leasehold/error.hpp"

namespace leasehold {

// What `cause` says of itself, under this message. `outcome_unknown`: as `cause` has it, or more.
error reworded(const error& cause, const std::string& message, bool outcome_unknown);

}  // namespace leasehold
