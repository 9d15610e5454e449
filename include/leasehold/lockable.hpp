#pragma once
// A mutex in the shape of the standard library, so that std::unique_lock and std::scoped_lock work.
//
//   leasehold::lockable_mutex closing{session, "invoices/closing"};
//   std::unique_lock guard{closing, 5s};          // Lockable and TimedLockable
//   if (guard && closing.held_locally()) close();
//
// A guard cannot report loss: owns_lock() only means "was granted once". Ask lost(), or use
// leasehold::mutex, whose lease says more. std::scoped_lock over several of these works but asks
// the database again and again when they are busy.
//
// Promises: those of leasehold::mutex. unlock() never throws; its errors go to the observer.
// Errors: lock() throws what leasehold::mutex throws.
//
// As with the standard's types each lock needs its unlock: of a recursive mutex, and of a shared
// one, one object has several holds at a time. An unlock gives back the newest hold of its thread;
// if that has none, one that is lost, or else the newest. The other calls mean the same hold.
//
// Threads: safe; unlock from any thread. A recursive mutex knows its object, not its thread:
// threads that exclude each other by one need an object each.
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "leasehold/clock.hpp"
#include "leasehold/export.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold {

// The common part of the lockable forms of mutex and shared_mutex.
template <class Mutex>
class LEASEHOLD_EXPORT lockable {
public:
    lockable(const lockable&) = delete;
    lockable& operator=(const lockable&) = delete;

    void lock() { keep(mutex_.acquire()); }
    [[nodiscard]] bool try_lock() { return keep(mutex_.try_acquire()); }
    void unlock() noexcept;

    [[nodiscard]] bool try_lock_for(wait_time timeout) { return keep(mutex_.acquire_for(timeout)); }
    [[nodiscard]] bool try_lock_until(wait_deadline deadline) {
        return keep(mutex_.acquire_until(deadline));
    }

    // False when nothing is locked, or the lease is lost.
    bool held_locally() const;
    // The stop token of the lock; one that never fires if nothing is locked.
    std::stop_token lost() const;
    // Runs `use` with the lease: for verify_in and the token. Throws lease_lost if none is locked.
    // An unlock() meanwhile releases at once, and the lease is lost for `use`.
    template <class Use>
    auto with_lease(Use&& use) {
        const auto held = locked();
        return std::forward<Use>(use)(*held);
    }

protected:
    explicit lockable(Mutex of) : mutex_(std::move(of)) {}
    ~lockable() = default;

    bool keep(acquisition got);

    Mutex mutex_;

private:
    struct hold {
        std::shared_ptr<lease> what;
        std::thread::id by;
    };

    std::shared_ptr<lease> locked() const;
    // The hold that an unlock() of this thread gives back; the end if there is none.
    typename std::vector<hold>::const_iterator own() const;

    mutable std::mutex held_mutex_;
    std::vector<hold> held_;
};

extern template class lockable<mutex>;

// This mutex fits std::unique_lock and std::scoped_lock.
class lockable_mutex : public lockable<mutex> {
public:
    lockable_mutex(session& within, key name, mutex_settings settings = {})
        : lockable(mutex{within, std::move(name), std::move(settings)}) {}
};

}  // namespace leasehold
