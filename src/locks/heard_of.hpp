#pragma once
// Repeats an attempt that fails because a node of a cluster lags behind. If several nodes are
// written to, the node of the caller's transaction may lack a grant that was made on another node.
// An attempt that does not find the grant is repeated, for as long as a statement may take, while
// another connection sees the grant committed in the cluster.
#include <algorithm>
#include <chrono>
#include <string>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "database/database.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

inline error not_heard_of(std::chrono::milliseconds timeout) {
    return {
        errc::transient,
        "the node of this transaction has not heard for " + std::to_string(timeout.count()) +
            " ms of what another node of its cluster has committed: roll back, and try again when "
            "it has caught up"};
}

// `attempt()`: in the caller's transaction, true when it has found the grant; `is_there(on,
// stores)`: on a connection of our own, true if the grant exists. Throws transient if the node is
// behind for too long.
template <class Attempt, class Look>
bool where_heard_of(database::implementation& of, Attempt&& attempt, Look&& is_there) {
    if (attempt()) return true;
    if (!of.has_several_writers()) return false;
    const auto timeout = of.settings().statement_timeout;
    const auto until = local_clock::now() + timeout;
    for (int pauses = 1; of.use_beside(bounds{until, {}, {}}, is_there); ++pauses) {
        if (local_clock::now() >= until) throw not_heard_of(timeout);
        pause_for(jittered(std::chrono::milliseconds{std::min(pauses * pauses, 50)}));
        if (attempt()) return true;
    }
    return false;
}

}  // namespace leasehold
