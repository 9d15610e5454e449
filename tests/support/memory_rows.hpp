#pragma once
// Questions of the model's stores about its rows; see memory_store.hpp for is_live_hold.
#include <optional>
#include <string>

#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "locks/hold_store.hpp"
#include "support/memory_server.hpp"

namespace leasehold::testing {

bool is_live_session(const memory_tables& tables, const session_id& id);
// There, and expired: a session row that is missing is not proved dead.
bool is_dead_session(const memory_tables& tables, const session_id& id);

// A column that is null where there are no words.
inline std::optional<std::string> words_of(const std::string& words) {
    return words.empty() ? std::nullopt : std::optional{words};
}

// True when an open transaction of another connection proved the hold in this row.
bool is_proved_by_another(const lock_row& row, const connection& than);

// Null when there is no such row.
lock_row* find_row(memory_tables& tables, const key& name);
// The row of exactly this hold.
lock_row* find_hold(memory_tables& tables, const hold& held);

// Rows of any state of a key that several can hold.
bool has_holders(const memory_tables& tables, const std::string& name);

void make_free(memory_tables& tables, lock_row& row);
void make_held(memory_tables& tables, lock_row& row, const acquire_request& wanted);

// The changes that a grant makes in a free row: to an acquire_request or a waiter_row.
template <class Wanted>
void give(const memory_tables& tables, lock_row& row, const Wanted& to) {
    ++row.fence;
    row.owner = to.owner;
    if (to.fixed_term) {
        row.expires_at = tables.now + *to.fixed_term;
    } else {
        row.session = to.session;
    }
    row.node_info = to.node_info;
    row.lock_delay = to.lock_delay;
    row.metadata = words_of(to.metadata);
    row.revocations = 0;
    row.reentrant_count = 1;
}
// The number of holds and waiters of keys that begin so.
lock_counts count_of(const memory_tables& tables, const std::string& prefix);
lock_info info_of(const memory_tables& tables, const std::string& name, const lock_row& row);

}  // namespace leasehold::testing
