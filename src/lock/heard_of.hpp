#pragma once
// Tries again what a node of a cluster does not know yet. With several nodes that are written to,
// the node of the caller's transaction may not have heard of a grant that was made on another one.
// An attempt that does not find it there is repeated, for as long as a statement may take, while
// the grant is there by all that the cluster has committed.
#include <algorithm>
#include <chrono>
#include <string>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "database/database.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

inline error not_heard_of(std::chrono::milliseconds patience) {
    return {
        errc::transient,
        "the node of this transaction has not heard for " + std::to_string(patience.count()) +
            " ms of what another node of its cluster has committed: roll back, and try again when "
            "it has caught up"};
}

// `attempt()`: in the caller's transaction, true when it has found what it needs; `is_there(on,
// stores)`: on a connection of our own, true when that is there. Throws transient where the node is
// behind for too long.
template <class Attempt, class Look>
bool where_heard_of(database::implementation& of, Attempt&& attempt, Look&& is_there) {
    if (attempt()) return true;
    if (!of.has_several_writers()) return false;
    const auto patience = of.settings().statement_timeout;
    const auto until = local_clock::now() + patience;
    for (int pauses = 1; of.use_beside(bounds{until, {}, {}}, is_there); ++pauses) {
        if (local_clock::now() >= until) throw not_heard_of(patience);
        pause_for(jittered(std::chrono::milliseconds{std::min(pauses * pauses, 50)}));
        if (attempt()) return true;
    }
    return false;
}

}  // namespace leasehold
