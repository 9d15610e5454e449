#pragma once
// A mutex shared by every process that can reach one database.
//
//   leasehold::mutex closing{session, "invoices/closing"};
//   if (auto lease = closing.acquire_for(5s)) publish(report, lease->token());
//
// | the key is …                | try_acquire()              | release of the lease        |
// |-----------------------------|----------------------------|-----------------------------|
// | free, or its holder is dead | a lease, token + 1         | –                           |
// | held through this mutex     | busy                       | –                           |
// | the same, and it recurses   | same token, a level deeper | a level less, at last free  |
// | held by anyone else         | busy, and who holds it     | not_held, nothing changed   |
//
// Promises: while a lease is live by the database's clock, nobody else is granted one. Each grant's
// token is greater than the one before, also across release, expiry, crash and clean-up. A refused
// try writes nothing to the database.
//
// Waiting calls queue, first come first served, in the database: a release makes the first live
// waiter the owner in the same commit, and tells it.
//
// | a waiting call …               | its place in the queue              | and returns          |
// |--------------------------------|-------------------------------------|----------------------|
// | is first when the key is freed | becomes the grant                   | a lease              |
// | runs out of time, is cancelled | goes; if it was granted meanwhile:  | empty; or that lease |
// | its session is lost or ended   | is passed over, and goes            | throws session_lost  |
// | its process dies               | is passed over when its session did | –                    |
// | its row is lost (an operator)  | is taken anew, at the end           | –                    |
//
// | the key is released by …                  | the next waiter learns of its turn by           |
// |-------------------------------------------|-------------------------------------------------|
// | the same database handle, or a copy of it | the release itself, at once                     |
// | another process of the machine            | a datagram to the socket of the waiter's handle |
// | another machine, if both handles have a   | a datagram over the network                     |
// | wakeup_address (database.hpp)             |                                                 |
// | another machine otherwise                 | PostgreSQL's notifications                      |
// | a process with the same SQLite file       | the change of the file                          |
// | any of them, if nothing of that arrives   | its look, every min_poll to max_poll            |
//
// Each look is one statement for all waiters of a handle. A waiter holds no pooled connection.
// A call that was asked to stop before it began is empty, at once, and asks the database nothing.
// An outage ends no wait: the call goes on when the database answers again. An outage does not
// prolong a wait either. The call ends by its deadline, but not before it has tried for a second to
// open a connection. It also ends when it is cancelled, and when its session is lost. If a
// statement is under way then, the call ends one statement time-out later at most, and the session
// settles that statement.
// acquire_async() waits in the same way without a thread: async.hpp; so does campaign_async() of an
// election. The other kinds of locks have no such call, because they have no queue: their waiting
// calls ask again and again.
// Does not promise: fairness of tries. A key can be free while others wait for it, as after a
// death: a try may have it before them, and so may the first try of a waiting call. Waiting calls
// that come while a transaction with a proof is open queue when that has ended, in any order.
//
// If the answer to a try is lost, the library asks again with the owner id. If that fails, too, the
// call throws an error whose outcome_is_unknown(). The session then settles the try, so that a
// grant nobody knows of outlives the error by moments only.
//
// Threads: distinct objects, safe; one mutex object, safe.
// Errors: invalid_argument for a bad key or setting, or a key in use as something else than a
// mutex; would_deadlock; otherwise the database's errors.
//
// Source: hand-over into the place the successor looks at, after Mellor-Crummey and Scott (1991);
// lock_delay after Burrows, "The Chubby lock service" (2006).
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "leasehold/async.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/pending_lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// A mutex counts its holds, sets its terms and waits by these settings.
struct mutex_settings {
    // The same mutex object may acquire again while it holds: the level is counted in the row and
    // the token stays. The object is the identity, never the thread.
    bool recursive = false;
    // A fixed term, 1 ms to 366 days, instead of a life with the session: nobody renews it, and it
    // outlives a process that dies. The lease's destructor frees the key as ever: a task that must
    // not run twice within a time is a `once` with hold_at_least. Another level of a recursive hold
    // does not begin the term anew. A call that waits gets its term at the hand-over. A waiter that
    // has died may still be handed the key within the session's ttl, and then nobody has the key
    // until the term is over, or force_release().
    std::optional<std::chrono::microseconds> fixed_term{};
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
    // After a holder died (its session or term ran out), nobody gets the key for this time, 0 to 60
    // s: writes that it had already sent arrive before the next holder's, also at a resource that
    // compares no tokens. Does not apply after a release or force_release().
    std::chrono::microseconds lock_delay{0};
    // For people and programs that ask who holds the key: UTF-8, at most 4,000 bytes.
    std::string metadata{};
    // Throws would_deadlock instead of waiting in a circle: for a key whose holder waits, perhaps
    // through others, for one of this session's. If several close a circle at the same moment,
    // at least one of them is refused, and perhaps more. Off by default, because a session with
    // several threads is not one waiter: one thread that waits need not keep the keys of another
    // from being released. Holders of a fixed term are in no circle.
    bool detects_deadlock = false;
};

class LEASEHOLD_EXPORT mutex {
public:
    mutex(session& within, leasehold::key name, mutex_settings settings = {});
    mutex(mutex&&) noexcept;
    mutex& operator=(mutex&&) noexcept;
    ~mutex();

    // Asks once.
    acquisition try_acquire();
    // Waits, as long as it takes; empty only when `cancel` was requested, before the call or in it.
    acquisition acquire(std::stop_token cancel = {});
    // Waits for `timeout` at most; zero or less asks once.
    acquisition acquire_for(wait_time timeout, std::stop_token cancel = {});
    acquisition acquire_until(wait_deadline deadline, std::stop_token cancel = {});

    // Waits without a thread: `done(failure, got)` is called when the wait is over. Promise, errors
    // and threads: async.hpp. In coroutines: await.hpp; with Asio: asio.hpp.
    void acquire_async(async_wait how, acquire_completion done);

    // Asks once, in a transaction of the caller's: the hold stands or falls with the transaction,
    // see pending_lease.hpp. Empty: somebody has the key, perhaps through this mutex, also if it
    // recurses; the transaction goes on. Read the data that the key protects after this call, not
    // before.
    // Costs, beside one statement or two in the transaction, a try on a connection of leasehold's
    // own; one more than max_connections is opened rather than waited for.
    // Errors, none of which ends the transaction: wrong_transaction if none is open, if it is
    // of another engine or database, and at any level of isolation but READ COMMITTED (the default
    // of MySQL and MariaDB is another), on SQLite if it has read before somebody else wrote;
    // session_lost; read_only, schema_missing and permission_denied if the transaction cannot
    // change leasehold's tables.
    pending_acquisition try_acquire_in(transaction_ref tx);

    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/mutex.cpp

private:
    handle<std::shared_ptr<implementation>, "mutex"> inner_;
};

}  // namespace leasehold
