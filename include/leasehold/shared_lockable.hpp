#pragma once
// A shared mutex in the shape of the standard library, so that std::shared_lock works, and
// std::unique_lock, too.
//
//   leasehold::lockable_shared_mutex prices{session, "prices"};
//   std::shared_lock reading{prices, 5s};  // SharedLockable and SharedTimedLockable
//   if (reading && prices.held_locally()) print(load_prices());
//
// | this object …  | lock, try_lock     | lock_shared, try_… | unlock      | unlock_shared |
// |----------------|--------------------|--------------------|-------------|---------------|
// | has nothing    | exclusive          | shared             | no effect   | no effect     |
// | is exclusive   | waits for itself   | waits for itself   | has nothing | has nothing   |
// | is shared, n   | waits for its n    | shared, n + 1      | n - 1       | n - 1         |
//
// A guard cannot report loss: owns_lock() only means "was granted once". Ask lost(), or use
// leasehold::shared_mutex, whose leases say more, and can be upgraded.
//
// Promises: those of leasehold::shared_mutex. unlock() and unlock_shared() never throw; their
// errors go to the observer. Errors: lock() and lock_shared() throw what the mutex throws. Waiting
// asks again at jittered intervals; there is no queue.
//
// Threads: safe. Threads that read beside each other may share an object: each has a hold of its
// own. Unlock from any thread.
#include <chrono>
#include <shared_mutex>
#include <utility>

#include "leasehold/clock.hpp"
#include "leasehold/export.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold {

extern template class lockable<shared_mutex>;

// This mutex fits std::unique_lock and std::shared_lock.
class LEASEHOLD_EXPORT lockable_shared_mutex : public lockable<shared_mutex> {
public:
    lockable_shared_mutex(session& within, key name, shared_mutex_settings settings = {})
        : lockable(shared_mutex{within, std::move(name), settings}) {}

    void lock_shared() { keep(mutex_.acquire_shared()); }
    [[nodiscard]] bool try_lock_shared() { return keep(mutex_.try_acquire_shared()); }
    void unlock_shared() noexcept { unlock(); }

    [[nodiscard]] bool try_lock_shared_for(wait_time timeout) {
        return keep(mutex_.acquire_shared_for(timeout));
    }
    [[nodiscard]] bool try_lock_shared_until(wait_deadline deadline) {
        return keep(mutex_.acquire_shared_until(deadline));
    }
};

}  // namespace leasehold
