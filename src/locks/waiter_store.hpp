#pragma once
// The operations on the queue of a key. The general MUSTs: hold_store.hpp.
//
// Words: a *waiter* is a row of the queue; it carries all that a grant needs. The lock row's
// *ticket* is its last_ticket. It is not 0 while somebody may wait, and the transaction that queues
// a waiter sets it under the lock row's lock. So a release sees it, however late:
//
// | ticket | hold_store::release()          | hand_over(), serve()                              |
// |--------|--------------------------------|---------------------------------------------------|
// | 0      | frees the key                  | frees the key                                     |
// | not 0  | refuses: hand_over() is needed | first live waiter gets it, the dead before it go; |
// |        |                                | where none is left the key is free, the ticket 0  |
//
// Tickets only grow within a queue, and are never used again: a new queue starts at the clock, in
// microseconds, if that is greater. A key is *takeable* when it has no owner, or an owner that
// is dead and was dead for the row's lock_delay (see try_acquire on proof).
//
// A packet that locks the lock row MUST also let go of it: a client that is paused or cut off
// between two round trips would keep everybody from the key for as long as its connection lives,
// whatever its TTL. A packet that cannot finish lets go of the row, and the store sends another
// one.
//
// After Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization" (1991): the releaser
// writes into the place its successor looks at, so that a hand-over costs the same however many
// wait.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "locks/hold_store.hpp"

namespace leasehold {

class sql_dialect;

struct waiter_id {
    leasehold::key key;
    owner_id owner;
    std::int64_t ticket = 0;
};

enum class enqueue_status {
    waiting = 1,
    session_ended = 2,
    not_now = 3,      // somebody has the row locked: try again
    wrong_kind = 4,   // see acquire_result::kind
    unknown_key = 5,  // the key has no row: only a grant makes one
};

struct enqueue_result {
    enqueue_status status = enqueue_status::not_now;
    std::int64_t ticket = 0;      // where waiting
    bool looks_takeable = false;  // where waiting: call serve(), since nobody else may do it
    bool is_being_taken = false;  // where not_now: it was free, so that a try would wait and tell
    lock_kind kind = lock_kind::mutex;
};

// The waiter that got the key.
struct successor {
    leasehold::key key;
    owner_id owner;
    session_id session;
    fencing_token token;
    std::optional<std::chrono::microseconds> fixed_term;
    std::string wakeup_address{};  // as it was queued with
};

enum class hand_over_status {
    refused = 1,      // hand_over: not held by it; serve: not takeable, or not without waiting
    freed = 2,        // nobody live was waiting
    handed_over = 3,  // see `next`
};

struct hand_over_result {
    hand_over_status status = hand_over_status::refused;
    std::optional<successor> next;
};

enum class look_status { waiting = 1, granted = 2, gone = 3 };

struct look_result {
    look_status status = look_status::gone;
    fencing_token token;                                 // where granted
    std::optional<std::chrono::microseconds> term_left;  // of a fixed term, never negative
    bool looks_takeable = false;                         // where waiting
};

struct queued_waiter {
    std::int64_t ticket = 0;
    waiter_info info;
};

class waiter_store {
public:
    virtual ~waiter_store() = default;
    static std::unique_ptr<waiter_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Puts a waiter at the end of the queue, and its ticket into the lock row. Grants nothing. MUST
    // NOT wait for the lock row: a proof may hold it for long (not_now). MAY commit asynchronously:
    // look() finds the waiters missing that a crash loses.
    virtual enqueue_result enqueue(connection& on, const acquire_request& wanted) = 0;

    // The last level of this hold ends, and the first live waiter is granted the key: under its
    // fence + 1, durably, in one commit. MUST look at the queue as it is once the lock row is
    // locked: a waiter that queued while this waited for the row is among them. Waits for proofs.
    virtual hand_over_result hand_over(connection& on, const hold& held) = 0;

    // As hand_over(), but for a takeable key, which nobody holds live. MUST wait for nobody.
    virtual hand_over_result serve(connection& on, const key& name) = 0;

    // Removes the waiter; false if it is gone, because it was granted the key or removed as dead.
    // MUST NOT wait for the lock row, whose ticket may stay. If a lost answer left the waiter's
    // ticket unknown the caller gives none, and one more look finds it.
    virtual bool leave(
        connection& on, const key& name, const owner_id& owner, std::optional<std::int64_t> ticket
    ) = 0;

    // The state of each of them: one plain read of one snapshot for up to 256 of them. Same order.
    virtual std::vector<look_result> look(connection& on, const std::vector<waiter_id>& who) = 0;

    // The waiters whose session lives, in the order of the queue: the first `limit` behind that
    // ticket. A plain read.
    virtual std::vector<queued_waiter> list(
        connection& on, const key& name, std::int64_t after, int limit
    ) = 0;

    // As list() for all keys that begin with `prefix`, in the order of keys and of each queue: the
    // first `limit` behind that ticket of that key; from the beginning for an empty key.
    virtual std::vector<queued_waiter> list_all(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        std::int64_t after_ticket,
        int limit
    ) = 0;

    // True when this waiter waits for a key whose holder waits, … for a key of its own session.
    // MUST be false if it waits no more: a key that was handed over to it is its own session's.
    // Plain reads of one snapshot that leave out dead sessions. The caller asks after enqueue() has
    // committed, so that of the sessions that close a circle together the last one sees it.
    virtual bool closes_a_circle(connection& on, const waiter_id& who, const session_id& own) = 0;

    // Notifies a waiter of another process, whose room listens to channel(), if no datagram can be
    // sent; only on an engine that has notifications. A hint: MUST NOT make anybody wait for a log
    // flush.
    virtual void notify(connection& on, const owner_id& whom) = 0;
    virtual std::string channel() const = 0;
};

}  // namespace leasehold
