#pragma once
// What the dialects' run stores read alike: the twelve columns every engine describes a run with.
//
// name, tick, token, owner, node_info, microseconds since the start, from start to end, until it
// opens again, state, exit_status, message, and whether its owner still holds the lock.
#include <cstddef>

#include "leasehold/once.hpp"

namespace leasehold {

run_info run_info_of(const row& from, std::size_t first);

// 2 succeeded, 3 failed; 1 is what a start writes.
int state_number(const run_result& result) noexcept;

std::int64_t microseconds_since_1970(schedule::instant when) noexcept;
schedule::instant instant_of(std::int64_t microseconds_since_1970) noexcept;

}  // namespace leasehold
