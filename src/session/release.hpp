#pragma once
// Ends holds in ways that leave no waiter without a key that it could have: every release calls one
// of these.
#include "database/database.hpp"

namespace leasehold {

// Ends one level; at the last one the key is free, or the first waiter's.
release_outcome release_hold(
    database::implementation& within, connection& on, store_set& stores, const hold& held
);

// Ends a hold that has one level alone, on a connection of the pool, together with other calls that
// wait for a connection by then. If a waiter for its key is known, the release is sent by itself,
// in one statement.
release_outcome release_last_level(
    database::implementation& within, const bounds& of_call, const hold& held
);

// Releases all that this owner holds of the key, or waits for.
release_outcome release_owner(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const key& name,
    const owner_id& owner,
    lock_kind kind = lock_kind::mutex
);

// Ends the last level of several holds of one owner; each key is free then, or its first waiter's.
// The answer has the holds that the owner had until now.
std::vector<hold> release_holds(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const std::vector<hold>& held
);

// Hands a key to its first waiter, if the key is takeable.
hand_over_status serve_key(
    database::implementation& within, connection& on, store_set& stores, const key& name
);
// If this fails, waiters find the key takeable at their next look.
void serve_quietly(
    database::implementation& within, connection& on, store_set& stores, const key& name
) noexcept;

}  // namespace leasehold
