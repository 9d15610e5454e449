#include "leasehold/lockable.hpp"

#include "leasehold/error.hpp"
#include "leasehold/shared_lockable.hpp"
#include "locks/lease.hpp"

namespace leasehold {

template <class Mutex>
bool lockable<Mutex>::keep(acquisition got) {
    if (!got) return false;
    auto held = std::make_shared<lease>(*std::move(got));
    const std::lock_guard guard{held_mutex_};
    held.swap(held_);  // an older lease is released after the mutex is unlocked
    return true;
}

template <class Mutex>
void lockable<Mutex>::unlock() noexcept {
    std::shared_ptr<lease> ending;
    {
        const std::lock_guard guard{held_mutex_};
        ending.swap(held_);
    }
    // Also while another thread is within with_lease().
    if (ending && ending->inner()) ending->inner()->release_quietly();
}

template <class Mutex>
bool lockable<Mutex>::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    return held_ && held_->held_locally();
}

template <class Mutex>
std::stop_token lockable<Mutex>::lost() const {
    const std::lock_guard guard{held_mutex_};
    return held_ ? held_->lost() : std::stop_token{};
}

template <class Mutex>
std::shared_ptr<lease> lockable<Mutex>::locked() const {
    {
        const std::lock_guard guard{held_mutex_};
        if (held_) return held_;
    }
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

template class lockable<mutex>;
template class lockable<shared_mutex>;

}  // namespace leasehold
