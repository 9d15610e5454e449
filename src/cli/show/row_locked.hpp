#pragma once
// The message for a key that an open transaction keeps closed. It names the transaction as far as
// the server tells, and says how to end it.
//
// Threads: safe.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/exit_status.hpp"
#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

struct row_lock {
    row_lock_info by;
    lock_info lock;  // the key that it keeps closed
};

// nullopt if no transaction keeps the key closed, or if the server cannot tell.
std::optional<row_lock> find_lock_of_row(const database& db, const key& name);
row_lock with_lock_of(const database& db, row_lock_info by);

// "the lease of … has run out, but an open transaction holds the row of key 'k': …"
std::string told(const row_lock& found);
nlohmann::json fields_of(const row_lock_info& by);

// `what` says what could not be done: "'k' is not free".
failure row_locked(const row_lock& found, const std::string& what);

// The failure for the error of a request for this key: the message above, if the request gave up
// waiting for the row's lock.
failure explained(const error& failed, const database& db, const key& name);

}  // namespace leasehold::cli
