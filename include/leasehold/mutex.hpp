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
// Does not promise: fairness. A waiting acquire asks again at jittered intervals (poll_min to
// poll_max), holding no connection in between.
//
// Waiting ends early when the session is lost: the call then throws session_lost.
// Where the answer to a try was lost on the way, the library asks again with the owner id; when
// that too fails the call throws an error whose outcome_is_unknown(), and the session goes on
// settling it, so that a grant nobody knows of does not outlive that by more than moments.
//
// Threads: distinct objects, safe; one mutex object, safe.
// Errors: invalid_argument for a bad key or setting; otherwise what the database says.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

struct mutex_settings {
    // The same mutex object may acquire again while it holds: the level is counted in the row and
    // the token stays. The object is the identity, never the thread.
    bool recursive = false;
    // A fixed term, 1 ms to 366 days, instead of a life with the session: nobody renews it, and it
    // outlives the process. For tasks that must not run twice within a time.
    std::optional<std::chrono::microseconds> hold_at_most{};
    std::chrono::milliseconds poll_min{10};   // 1 ms to poll_max
    std::chrono::milliseconds poll_max{250};  // poll_min to 1 h
};

class mutex {
public:
    mutex(session& within, leasehold::key name, mutex_settings settings = {});
    mutex(mutex&&) noexcept;
    mutex& operator=(mutex&&) noexcept;
    ~mutex();

    // Asks once.
    acquisition try_acquire();
    // Waits, as long as it takes; empty only when `cancel` was requested.
    acquisition acquire(std::stop_token cancel = {});
    // Waits at most so long; zero or less asks once.
    acquisition acquire_for(std::chrono::nanoseconds patience, std::stop_token cancel = {});
    acquisition acquire_until(local_clock::time_point deadline, std::stop_token cancel = {});

    const leasehold::key& key() const noexcept;

    class implementation;  // private: src/lock/mutex.cpp

private:
    std::shared_ptr<implementation> inner_;
};

}  // namespace leasehold
