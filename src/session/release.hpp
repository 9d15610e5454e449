#pragma once
// Ways to end a hold that leave nobody waiting who could have the key: every release goes through
// one of these.
#include "database/database.hpp"

namespace leasehold {

// One level less; at the last one the key is free, or the first waiter's.
release_outcome release_hold(
    database::implementation& within, connection& on, store& stores, const hold& held
);

// The same for a hold that has one level alone, on a connection of the pool, together with whoever
// waits for one by then; where its key is known to be waited for, by itself, in one statement.
release_outcome release_last_level(
    database::implementation& within, const bounds& of_call, const hold& held
);

// Whatever this owner holds of the key, or waits for.
release_outcome release_owner(
    database::implementation& within,
    connection& on,
    store& stores,
    const key& name,
    const owner_id& owner,
    lock_kind kind = lock_kind::mutex
);

// The last level of several holds of one owner, each key free then, or its first waiter's. True
// where all of them were its own until now.
bool release_holds(
    database::implementation& within, connection& on, store& stores, const std::vector<hold>& held
);

// Lets the first waiter have a key that is takeable, if it is.
hand_over_status serve_key(
    database::implementation& within, connection& on, store& stores, const key& name
);
// Where that failed, whoever waits finds the key takeable at its next look.
void serve_quietly(
    database::implementation& within, connection& on, store& stores, const key& name
) noexcept;

}  // namespace leasehold
