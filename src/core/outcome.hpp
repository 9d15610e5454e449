#pragma once
// Says what a failure proves about the outcome of the request that failed.
#include "leasehold/error.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// True when a failure of this class proves that a statement sent outside a transaction, or a
// COMMIT, was not carried out. False for a lost connection or a time-out: then the outcome is
// unknown.
LEASEHOLD_EXPORT bool proves_not_done(errc code) noexcept;

}  // namespace leasehold
