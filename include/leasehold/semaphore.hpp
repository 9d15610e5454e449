#pragma once
// A number of permits that all processes share: at most that many are held at once, each by a
// lease.
//
//   leasehold::semaphore licences{session, "licences/cad", 5};
//   if (auto two = licences.acquire_for(30s, 2)) render(two->lost());
//
// | permits in use (of live holders) | try_acquire(n)              | release of n permits |
// |----------------------------------|-----------------------------|----------------------|
// | at most permits - n              | a lease on all n, token + 1 | n less in use        |
// | more                             | busy, none of them taken    | n less in use        |
// | any, and n > permits or n < 1    | invalid_argument            | –                    |
//
// Promises: never more permits in use than there are. Several are acquired at once or not at all,
// and released together. The permits of a crashed process are free again when its session's TTL has
// passed, without any clean-up running; a paused process cannot commit past the loss of its permits
// under verify_in(tx). shrink_to() gives a part of them back. Tokens grow with every grant. A
// refused try writes nothing.
// Does not promise: an order among waiters; a waiter for many permits can be overtaken for ever by
// waiters for few.
//
// The number of permits belongs to the key as long as anybody holds one: a program that names
// another gets invalid_argument, and both numbers. Once nobody holds any, the next program may name
// another. set_permits() changes it at any time, for programs that follow the key:
//
//   leasehold::semaphore licences{session, "licences/cad", 5, {.follows_key = true}};
//   licences.set_permits(8);   // three were bought
//
// If the new number is smaller than the permits in use, no holder loses any, and none is granted
// until enough have been given back.
//
// Waiting asks again at jittered intervals, and ends early with session_lost. A call that was asked
// to stop before it began is empty at once, and asks nothing; in an outage it ends as a waiting
// call of a mutex does.
// Source: Dijkstra, "Cooperating sequential processes" (1965), with leased permits as Redisson's
// RPermitExpirableSemaphore has them.
//
// Threads: distinct objects, safe; one semaphore object, safe.
// Errors: invalid_argument as above, for a bad key or setting, and if the key is in use as
// another kind; otherwise the database's errors.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"
#include "leasehold/whole_count.hpp"

namespace leasehold {

// A semaphore counts its permits, sets its terms and waits by these settings.
struct semaphore_settings {
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
    // The key's present number counts, not the constructor's; a key that was never used begins with
    // the constructor's. A key that the reaper has forgotten, because nobody used it for long
    // (reaper.hpp: 7 days), begins anew, with the number that its next user has seen last.
    bool follows_key = false;
    // A term for each lease, 1 ms to 366 days: a holder that forgets its permits, or hangs, loses
    // them when that has passed. lost() fires first, as at the end of a session, and then the
    // session gives them back. lease::extend() begins the term anew. This process keeps the term: a
    // process that hangs as a whole has its permits until its session has ended.
    std::optional<std::chrono::microseconds> max_hold{};
};

class LEASEHOLD_EXPORT semaphore {
public:
    static constexpr std::int64_t max_permits = 1'000'000'000;

    // `permits`: 1 to max_permits, the same in every program that does not follow the key.
    semaphore(
        session& within, leasehold::key name, whole_count permits, semaphore_settings settings = {}
    );
    semaphore(semaphore&&) noexcept;
    semaphore& operator=(semaphore&&) noexcept;
    ~semaphore();

    // `wanted` permits in one lease, 1 to permits(), which a follower asks the key for; a wait for
    // more than there are by then ends with invalid_argument. try_acquire asks once; acquire()
    // waits as long as it takes and is empty only when `cancel` was requested; the timed calls wait
    // for `timeout` at most.
    acquisition try_acquire(whole_count wanted = 1);
    acquisition acquire(whole_count wanted = 1, std::stop_token cancel = {});
    acquisition acquire(std::stop_token cancel) { return acquire(1, std::move(cancel)); }
    acquisition acquire_for(wait_time timeout, whole_count wanted = 1, std::stop_token cancel = {});
    acquisition acquire_until(
        wait_deadline deadline, whole_count wanted = 1, std::stop_token cancel = {}
    );

    // The lease keeps `permits`, 1 to those it has; the other permits are free. The token stays.
    // If the outcome is unknown the lease has these, or as many as before, and can keep no more
    // than these: call it again. Throws lease_lost if the lease is no longer held; invalid_argument
    // for another number, and for a lease that is not one of this semaphore in this session.
    void shrink_to(lease& held, whole_count permits);

    // Sets the number of permits, 1 to max_permits, for all that use the key, and for this object.
    // Programs that do not follow the key, and name another number, are refused as long as anybody
    // holds a permit, and then set theirs again. Repeating the call is harmless if the outcome is
    // unknown. It also makes a key that was never used, which then has one permit in use for a
    // moment. Throws invalid_argument for another number, and if the key is in use as another kind.
    void set_permits(whole_count permits);

    // The number of permits that nobody has, by the database; 0 if there are fewer than are in
    // use. Reads a row for each holder.
    std::int64_t free_permits() const;

    // The number of permits; in a follower, as it last saw the key.
    std::int64_t permits() const;
    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/semaphore.cpp

private:
    handle<std::shared_ptr<implementation>, "semaphore"> inner_;
};

}  // namespace leasehold
