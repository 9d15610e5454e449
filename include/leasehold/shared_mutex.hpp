#pragma once
// A mutex that many may hold for reading and one for writing, across processes.
//
//   leasehold::shared_mutex prices{session, "prices"};
//   if (auto reading = prices.acquire_shared_for(5s)) print(load_prices());
//   if (auto writing = prices.acquire_for(5s)) store(prices_of_today(), writing->token());
//
// | the key is held …           | shared | upgradeable | exclusive | upgrade of the upgradeable |
// |-----------------------------|--------|-------------|-----------|----------------------------|
// | by nobody, or by the dead   | yes    | yes         | yes       | –                          |
// | shared, by any number       | yes    | yes         | busy      | busy until they have gone  |
// | upgradeable, by one         | yes    | busy        | busy      | exclusive, a new token     |
// | exclusive, by one           | busy   | busy        | busy      | –                          |
// | and somebody waits to write | busy   | busy        | as above  | as above                   |
//
// | a lease that is … | upgrade                      | downgrade          | release         |
// |-------------------|------------------------------|--------------------|-----------------|
// | shared            | invalid_argument             | stays as it is     | one reader less |
// | upgradeable       | another lease; this is spent | shared, same token | the same        |
// | exclusive         | invalid_argument             | shared, same token | free            |
// | lost or released  | lease_lost                   | lease_lost         | not_held        |
//
// Promises: while an exclusive lease is live nobody else has any, and while any other is, nobody
// has an exclusive one. Tokens grow with every grant, across readers and writers: a writer has a
// greater token than all that read or wrote before. Each lease ends alone when its session dies.
// verify_in(tx) of a shared lease keeps writers out until the transaction ends, and lets other
// readers on. A refused try writes nothing.
// A waiting writer (acquire…, upgrade…; not try_…) is not starved: new readers are refused until it
// is granted or gives up. It says so in a row that lives with its session. Where force removed that
// row with the holds, the session's next heartbeat writes it again.
// An upgrade takes a new token, because others have read under later ones since; while it waits it
// keeps the hold it has. A downgrade is atomic: no writer gets in between.
//
// Does not promise: an order among waiting writers, or among readers. A holder that has it shared
// and asks for it shared again, while a writer waits for the first to end, waits for itself. Two
// shared holders cannot both become writers without letting go: only the upgradeable one can, so
// take that one where reading may turn into writing. If the answer to an upgrade is lost and
// cannot be asked for, the hold it started from is given up, too.
//
// Waiting asks again at jittered intervals, and ends early with session_lost. A call that was asked
// to stop before it began is empty at once, and asks nothing; in an outage it ends as a waiting
// call of a mutex does.
// Source: Courtois, Heymans and Parnas, "Concurrent Control with Readers and Writers" (1971), whose
// second problem is that of writers who are not starved; leases instead of their counters.
//
// Threads: distinct objects, safe; one object, safe; one lease, one thread at a time.
// Errors: invalid_argument for a bad key or setting, and if the key is in use as another kind;
// otherwise the database's errors.
#include <chrono>
#include <memory>
#include <stop_token>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// A waiter asks the database at these intervals whether it has its turn.
struct shared_mutex_settings {
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
};

class LEASEHOLD_EXPORT shared_mutex {
public:
    shared_mutex(session& within, leasehold::key name, shared_mutex_settings settings = {});
    shared_mutex(shared_mutex&&) noexcept;
    shared_mutex& operator=(shared_mutex&&) noexcept;
    ~shared_mutex();

    // For writing. try_… asks once; acquire() waits as long as it takes and is empty only when
    // `cancel` was requested; the timed calls wait for `timeout` at most, and zero or less asks
    // once.
    acquisition try_acquire();
    acquisition acquire(std::stop_token cancel = {});
    acquisition acquire_for(wait_time timeout, std::stop_token cancel = {});
    acquisition acquire_until(wait_deadline deadline, std::stop_token cancel = {});

    // For reading.
    acquisition try_acquire_shared();
    acquisition acquire_shared(std::stop_token cancel = {});
    acquisition acquire_shared_for(wait_time timeout, std::stop_token cancel = {});
    acquisition acquire_shared_until(wait_deadline deadline, std::stop_token cancel = {});

    // For reading now and perhaps writing later; one at a time.
    acquisition try_acquire_upgradeable();
    acquisition acquire_upgradeable(std::stop_token cancel = {});
    acquisition acquire_upgradeable_for(wait_time timeout, std::stop_token cancel = {});
    acquisition acquire_upgradeable_until(wait_deadline deadline, std::stop_token cancel = {});

    // Turns an upgradeable hold into an exclusive one. If it succeeds `from` is spent, its
    // lost() fires, and the lease in the answer takes its place; where not, `from` is as it was,
    // and a temporary one is released with the expression.
    // Commit the transaction that proved `from` first.
    acquisition try_upgrade(lease&& from);
    acquisition upgrade(lease&& from, std::stop_token cancel = {});
    acquisition upgrade_for(lease&& from, wait_time timeout, std::stop_token cancel = {});
    acquisition upgrade_until(lease&& from, wait_deadline deadline, std::stop_token cancel = {});

    // Turns an exclusive or upgradeable hold into a shared one: the same lease, the same token.
    // Commit the transaction that proved it first. Throws lease_lost if it is no longer held.
    void downgrade(lease& held);

    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/shared_mutex.cpp

private:
    handle<std::shared_ptr<implementation>, "shared_mutex"> inner_;
};

}  // namespace leasehold
