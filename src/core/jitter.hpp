#pragma once
// Random waiting times, so that processes that failed together do not come back together.
#include <chrono>

#include "leasehold/export.hpp"

namespace leasehold {

// The pauses of a caller that asks again, from its first refusal until it gets dull.
struct polling {
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
};

// A random time between half of `upper` and `upper`; at least one microsecond.
LEASEHOLD_EXPORT std::chrono::nanoseconds jittered(std::chrono::nanoseconds upper);

// The pause after `failures` failures in a row: doubled from `first`, at most `last`, jittered.
std::chrono::nanoseconds backed_off(
    int failures, std::chrono::nanoseconds first, std::chrono::nanoseconds last
);

}  // namespace leasehold
