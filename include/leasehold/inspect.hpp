#pragma once
// Lists holders, waiters and sessions, for operators and dashboards.
//
//   for (const auto& lock : leasehold::list_locks(db, "invoices/")) print(lock);
//
// Promises: reads only, takes no locks, and never blocks anybody, except force_release and
// request_revoke; find_row_lock and list_row_locks may lock a row for an instant.
// Does not promise: that an answer is still true when you read it.
//
// Threads: safe. Errors: those of the database.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/page.hpp"
#include "leasehold/session_info.hpp"

namespace leasehold {

// nullopt if the key was never locked, or was idle for so long that it has been cleaned up. If a
// key has several holders the answer is about the oldest.
LEASEHOLD_EXPORT std::optional<lock_info> describe(const database& db, const key& name);

// The holders of this key, and of no other: nobody, one, or several, oldest grant first.
LEASEHOLD_EXPORT std::vector<lock_info> list_holders(const database& db, const key& name);

// The held keys that begin with `prefix` (empty: all), in byte order of their names; a key that
// several hold has an entry for each of them, oldest grant first. A latch at which somebody has
// arrived, and nobody holds a place, has one that is not held. Only live waiters are counted.
LEASEHOLD_EXPORT std::vector<lock_info> list_locks(
    const database& db, std::string_view prefix = {}
);
// This overload lists all locks. Without it list_locks(db, {}) would be ambiguous.
inline std::vector<lock_info> list_locks(const database& db, std::nullptr_t) {
    return list_locks(db, std::string_view{});
}

// A page of keys, in byte order of their names: see page.hpp.
struct lock_filter {
    std::string prefix{};                // only keys that begin so
    std::optional<std::string> after{};  // only keys greater than this
    int limit = 100;                     // 1 to 1,000 entries
};
using lock_page = page<lock_info, std::string>;

// A part of list_locks(db), for programs that show it. Its cost does not grow with the number of
// holds. The entries of one key are all on one page. Of a key with more of them than `limit` the
// youngest are left out, and `holders` counts them all.
LEASEHOLD_EXPORT lock_page list_locks(const database& db, const lock_filter& filter);

// Keys that nobody holds. Each has the token and the name of its last holder, and free_for; a key
// that was idle for so long that it was cleaned up is missing.
LEASEHOLD_EXPORT lock_page list_free_keys(const database& db, const lock_filter& filter = {});

// Counts what list_locks() would list. Reads a row or two of each of them, and sends three numbers.
LEASEHOLD_EXPORT lock_counts count_locks(const database& db, std::string_view prefix = {});

// The waiters for the key as a mutex, first come first; for an election these are the candidates
// that do not lead. The waiters of other kinds are not known: list_locks() counts their waiting
// writers.
LEASEHOLD_EXPORT std::vector<waiter_info> list_waiters(const database& db, const key& name);

// list_waiters() answers with the queues of the keys that fit this.
struct waiter_filter {
    std::string prefix{};  // only keys that begin so; empty: all
};
// The queues of these keys, in byte order of keys and each in its own order. One statement for a
// thousand waiters, however many keys they wait for.
LEASEHOLD_EXPORT std::vector<waiter_info> list_waiters(
    const database& db, const waiter_filter& filter
);

// The open transaction that keeps the key's row locked; nullopt if none does. A key stays closed
// for as long, also when its holder's lease has run out: a transaction that has proved the lease
// may still write under it. Waits for nobody. On a server it tries for an instant to lock the row
// itself. With no right to UPDATE, or on a server that takes no writes, it relies on what the
// server shows. It answers nullopt if it cannot know, such as on MySQL when a proof locks the row
// and this user has only the right to SELECT; diagnose_key() says so.
//
// | engine     | which transaction                       | the rest needs                         |
// |------------|-----------------------------------------|----------------------------------------|
// | PostgreSQL | named; of several that share the lock   | pg_read_all_stats for another user's   |
// |            | the oldest, and may_be_others           | (without: number, user, application)   |
// | MySQL      | named, as on PostgreSQL                 | PROCESS, and SELECT on                 |
// |            |                                         | performance_schema.*; with PROCESS     |
// |            |                                         | alone as on MariaDB                    |
// | MariaDB    | may_be_others where more than one has   | PROCESS; without, that there is one    |
// |            | rows locked: it tells no rows           |                                        |
// | SQLite     | the process that has the file's write   | Linux, the same process namespace; no  |
// |            | lock, whatever the key                  | since when, no application's own name  |
//
// If a right is missing, missing_right names it, and the other fields are empty.
LEASEHOLD_EXPORT std::optional<row_lock_info> find_row_lock(const database& db, const key& name);

// The keys that begin with `prefix` whose holder's lease has run out and whose row such a
// transaction keeps locked, so that nobody can be granted them. list_locks() has none of them.
// Looks at the first 100 holds that have run out and were not cleaned up yet.
LEASEHOLD_EXPORT std::vector<row_lock_info> list_row_locks(
    const database& db, std::string_view prefix = {}
);

// Live sessions and those that died and were not cleaned up yet, oldest first.
LEASEHOLD_EXPORT std::vector<session_info> list_sessions(const database& db);

// Asks the holder of the key to release it, and changes nothing else. The holder's lease fires
// revoke_requested() with its next heartbeat, at most a third of its ttl later, and the holder
// decides. A holder with a fixed term has no heartbeat and is not told; nor are holders of a key of
// another kind than a mutex. Waits for a transaction that holds a proof. Answers with the holder
// that was asked, or nullopt if the key was free, or held as another kind, which describe() tells.
LEASEHOLD_EXPORT std::optional<lock_info> request_revoke(const database& db, const key& name);

// Frees a key from its holder: from all its holders, if there are several, and from all that
// have arrived at a latch, which is closed and empty then; the answer is about the oldest holder
// and says how many there were. The holder's token becomes stale at once: its proofs, and its
// writes under a fence, are refused; its lost() fires with its next heartbeat. Waits for a
// transaction that holds a proof. Answers with the hold that was freed, as it was; if only arrivals
// were forgotten, with an entry that is not held and has `arrived`; or with nullopt if nobody held
// it.
LEASEHOLD_EXPORT std::optional<lock_info> force_release(const database& db, const key& name);

// Frees the key from one grant of a mutex and no other. If the key is no longer held under this
// token it answers nullopt and changes nothing; the statement that frees it decides that. It frees
// nobody from a key that several can hold.
LEASEHOLD_EXPORT std::optional<lock_info> force_release(
    const database& db, const key& name, fencing_token only
);

}  // namespace leasehold
