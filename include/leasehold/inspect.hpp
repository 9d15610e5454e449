#pragma once
// Who holds what: for operators and dashboards.
//
//   for (const auto& lock : leasehold::list_locks(db, "invoices/")) print(lock);
//
// Promises: reads only, takes no locks, and never blocks anybody, but for force_release and
// request_revoke.
// Does not promise: that it is still true when you read it.
//
// Threads: safe. Errors: what the database says.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/session_info.hpp"

namespace leasehold {

// Nothing where the key was never locked, or was idle for so long that it has been cleaned up. Of
// several holders it is about the oldest.
LEASEHOLD_EXPORT std::optional<lock_info> describe(const database& db, const key& name);

// Who holds this key, and no other: nobody, one, or several, oldest grant first.
LEASEHOLD_EXPORT std::vector<lock_info> list_holders(const database& db, const key& name);

// The held keys that begin with `prefix` (empty: all), in byte order of their names; a key that
// several hold has an entry for each of them, oldest grant first. A latch at which somebody has
// arrived, and nobody holds a place, has one that is not held. Only live waiters are counted.
LEASEHOLD_EXPORT std::vector<lock_info> list_locks(
    const database& db, std::string_view prefix = {}
);

// Live sessions and those that died and were not cleaned up yet, oldest first.
LEASEHOLD_EXPORT std::vector<session_info> list_sessions(const database& db);

// Asks whoever holds the key to let go. Changes nothing else: its lease fires revoke_requested()
// with its next heartbeat, at most a third of its ttl later, and the holder decides. One that holds
// for a fixed term has no heartbeat and is not told; nor are those of a key of another kind than a
// mutex. Waits for a transaction that holds a proof. Answers with who was asked, or nothing where
// the key was free, or held as another kind, which describe() tells.
LEASEHOLD_EXPORT std::optional<lock_info> request_revoke(const database& db, const key& name);

// Frees a key from whoever holds it: from all its holders, where there are several, and from what
// has arrived at a latch, which is closed and empty then; the answer is about the oldest holder and
// says how many there were. Its token becomes stale at once: what the victim proves or writes under
// a fence is refused; its lost() fires with its next heartbeat. Waits for a transaction that holds
// a proof. Answers with what was freed, as it was: not held, and `arrived`, where all that was
// forgotten are arrivals; or nothing where nobody held it.
LEASEHOLD_EXPORT std::optional<lock_info> force_release(const database& db, const key& name);

}  // namespace leasehold
