#include "leasehold/lockable.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "leasehold/shared_lockable.hpp"
#include "locks/lease.hpp"

namespace leasehold {

template <class Mutex>
bool lockable<Mutex>::keep(acquisition got) {
    if (!got) return false;
    auto held = std::make_shared<lease>(*std::move(got));
    const std::lock_guard guard{held_mutex_};
    held_.push_back(std::move(held));
    return true;
}

template <class Mutex>
void lockable<Mutex>::unlock() noexcept {
    std::shared_ptr<lease> ending;
    {
        const std::lock_guard guard{held_mutex_};
        if (held_.empty()) return;
        ending = std::move(held_.back());
        held_.pop_back();
    }
    // Also while another thread is within with_lease().
    if (ending->inner()) ending->inner()->release_quietly();
}

template <class Mutex>
bool lockable<Mutex>::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    return !held_.empty() &&
           std::ranges::all_of(held_, [](const auto& each) { return each->held_locally(); });
}

template <class Mutex>
std::stop_token lockable<Mutex>::lost() const {
    const std::lock_guard guard{held_mutex_};
    return held_.empty() ? std::stop_token{} : held_.back()->lost();
}

template <class Mutex>
std::shared_ptr<lease> lockable<Mutex>::locked() const {
    {
        const std::lock_guard guard{held_mutex_};
        if (!held_.empty()) return held_.back();
    }
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

template class lockable<mutex>;
template class lockable<shared_mutex>;

}  // namespace leasehold
