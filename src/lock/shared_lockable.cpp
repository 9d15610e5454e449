#include "leasehold/shared_lockable.hpp"

#include "leasehold/error.hpp"
#include "lock/lease.hpp"

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
    auto held = std::make_shared<lease>(*std::move(got));
    const std::lock_guard guard{held_mutex_};
    held.swap(held_);  // an older one goes when this is unlocked
    return true;
}

void lockable_shared_mutex::unlock() noexcept {
    std::shared_ptr<lease> ending;
    {
        const std::lock_guard guard{held_mutex_};
        ending.swap(held_);
    }
    // Also where another thread is within with_lease().
    if (ending && ending->inner()) ending->inner()->release_quietly();
}

bool lockable_shared_mutex::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    return held_ && held_->held_locally();
}

std::stop_token lockable_shared_mutex::lost() const {
    const std::lock_guard guard{held_mutex_};
    return held_ ? held_->lost() : std::stop_token{};
}

std::shared_ptr<lease> lockable_shared_mutex::locked() const {
    {
        const std::lock_guard guard{held_mutex_};
        if (held_) return held_;
    }
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

}  // namespace leasehold
