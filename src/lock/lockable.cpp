#include "leasehold/lockable.hpp"

#include "leasehold/error.hpp"

namespace leasehold {

lockable_mutex::lockable_mutex(session& within, key name, mutex_settings settings)
    : mutex_(within, std::move(name), settings) {}

void lockable_mutex::lock() {
    keep(mutex_.acquire());
}

bool lockable_mutex::try_lock() {
    return keep(mutex_.try_acquire());
}

bool lockable_mutex::keep(acquisition got) {
    if (!got) return false;
    const std::lock_guard guard{held_mutex_};
    held_.emplace(*std::move(got));
    return true;
}

void lockable_mutex::unlock() noexcept {
    std::optional<lease> ending;
    const std::lock_guard guard{held_mutex_};
    ending.swap(held_);  // its destructor releases, and reports what it met to the observer
}

bool lockable_mutex::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    return held_ && held_->held_locally();
}

std::stop_token lockable_mutex::lost() const {
    const std::lock_guard guard{held_mutex_};
    return held_ ? held_->lost() : std::stop_token{};
}

lease& lockable_mutex::locked() {
    if (held_) return *held_;
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

}  // namespace leasehold
