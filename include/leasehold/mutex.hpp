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
// A waiter learns of its turn at once from a release through the same database handle (and its
// copies); from other processes of the machine, and others with a wakeup_address (database.hpp), by
// a datagram to its handle's own socket; from processes elsewhere by a notification if the database
// has them (PostgreSQL; on SQLite the file itself); and by a look every min_poll to max_poll in any
// case: one statement for everybody who waits on one handle. It holds no pooled connection
// meanwhile.
// A call that was asked to stop before it began is empty, at once, and asks the database nothing.
// An outage ends no wait, and the call goes on when the database answers again; nor does it keep a
// call beyond its time: the call ends by its deadline (after a second at least, in which a
// connection may be opened), when it is cancelled or when its session is lost, and one statement
// time-out later if a statement was under way, which the session then settles.
// acquire_async() waits so, too, without a thread that waits: async.hpp. The other kinds of locks,
// whose waiting calls have no queue and ask again and again, have no such call.
// Does not promise: fairness of tries. A try may have a key that is really free, as after a death,
// before its waiters; so may a waiting call with its first try. Waiting calls that come while a
// transaction with a proof is open queue when that has ended, in any order.
//
// If the answer to a try was lost on the way, the library asks again with the owner id; when that
// too fails the call throws an error whose outcome_is_unknown(), and the session goes on settling
// the try, so that a grant nobody knows of outlives the error by no more than moments.
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
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/pending_lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

struct mutex_settings {
    // The same mutex object may acquire again while it holds: the level is counted in the row and
    // the token stays. The object is the identity, never the thread.
    bool recursive = false;
    // A fixed term, 1 ms to 366 days, instead of a life with the session: nobody renews it, and it
    // outlives the process. For tasks that must not run twice within a time. Another level of a
    // recursive hold does not begin it anew. A call that waits gets its term at the hand-over. A
    // waiter whose process died may still be handed the key within the session's ttl, and then
    // nobody has it until the term is over, or force_release().
    std::optional<std::chrono::microseconds> hold_at_most{};
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
    // Waits for `patience` at most; zero or less asks once.
    acquisition acquire_for(wait_time patience, std::stop_token cancel = {});
    acquisition acquire_until(wait_deadline deadline, std::stop_token cancel = {});

    // Waits without a thread: `done(failure, got)` is called when the wait is over. Any callable
    // that can be moved. Promise, errors and threads: async.hpp. In coroutines: await.hpp.
    template <class Completion>
    void acquire_async(async_wait how, Completion done) {
        const auto held = std::make_shared<Completion>(std::move(done));
        start_acquire(std::move(how), [held](std::exception_ptr failure, acquisition got) {
            (*held)(std::move(failure), std::move(got));
        });
    }

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

    const leasehold::key& key() const noexcept;

    class implementation;  // private: src/locks/mutex.cpp

private:
    void start_acquire(async_wait how, acquire_completion done);

    std::shared_ptr<implementation> inner_;
};

}  // namespace leasehold
