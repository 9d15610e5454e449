#include "leasehold/shared_lockable.hpp"

#include "leasehold/error.hpp"

namespace leasehold {

lockable_shared_mutex::lockable_shared_mutex(
    session& within, key name, shared_mutex_settings settings
)
    : mutex_(within, std::move(name), settings) {}

void lockable_shared_mutex::lock() {
    keep(mutex_.acquire());
}

bool lockable_shared_mutex::try_lock() {
    return keep(mutex_.try_acquire());
}

void lockable_shared_mutex::lock_shared() {
    keep(mutex_.acquire_shared());
}

bool lockable_shared_mutex::try_lock_shared() {
    return keep(mutex_.try_acquire_shared());
}

bool lockable_shared_mutex::keep(acquisition got) {
    if (!got) return false;
    const std::lock_guard guard{held_mutex_};
    held_.emplace(*std::move(got));
    return true;
}

void lockable_shared_mutex::unlock() noexcept {
    std::optional<lease> ending;
    const std::lock_guard guard{held_mutex_};
    ending.swap(held_);  // its destructor releases, and reports what it met to the observer
}

bool lockable_shared_mutex::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    return held_ && held_->held_locally();
}

std::stop_token lockable_shared_mutex::lost() const {
    const std::lock_guard guard{held_mutex_};
    return held_ ? held_->lost() : std::stop_token{};
}

lease& lockable_shared_mutex::locked() {
    if (held_) return *held_;
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

}  // namespace leasehold
