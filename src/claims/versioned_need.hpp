#pragma once
// The rules of a versioned_mapping by itself, and its needs of its table. No I/O.
//
// Threads: plain functions.
#include <cstddef>
#include <string>

#include "claims/mapping_check.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/versioned_claim.hpp"

namespace leasehold {

// The length of the tag that tells one claim from another in claimed_by.
inline constexpr std::size_t tag_size = 12;

// True when a claim leaves a trace.
bool is_claimable(const versioned_mapping& mapping);

// Throws invalid_argument.
[[noreturn]] void refuse(const versioned_mapping& mapping, const std::string& why);

// Returns the mapping; throws invalid_argument if it can work on no engine.
versioned_mapping checked(versioned_mapping mapping);

table_need need_of(const versioned_mapping& mapping, engine which);

}  // namespace leasehold
