#pragma once
// One try for one key, with every way it can go wrong settled or said.
#include <chrono>
#include <memory>
#include <optional>

#include "lock/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

struct try_outcome {
    std::shared_ptr<grant> granted;   // nothing where busy
    std::optional<lock_info> holder;  // where busy, if it was still there
};

// Throws session_lost where the session is not live, and an error whose outcome_is_unknown() where
// the answer was lost and could not be asked for; the session then settles it in the background.
try_outcome try_once(
    session::implementation& within,
    const key& name,
    std::optional<std::chrono::microseconds> hold_at_most
);

}  // namespace leasehold
