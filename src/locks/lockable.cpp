#include "leasehold/lockable.hpp"

#include <algorithm>
#include <iterator>

#include "core/handle_maker.hpp"
#include "leasehold/error.hpp"
#include "leasehold/shared_lockable.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

// A program may have moved the lease out, in with_lease().
bool is_held(const lease& any) {
    return handle_maker::is_there(any) && any.held_locally();
}

}  // namespace

template <class Mutex>
bool lockable<Mutex>::keep(acquisition got) {
    if (!got) return false;
    auto held = std::make_shared<lease>(*std::move(got));
    const std::lock_guard guard{held_mutex_};
    held_.push_back({std::move(held), std::this_thread::get_id()});
    return true;
}

template <class Mutex>
auto lockable<Mutex>::own() const -> typename std::vector<hold>::const_iterator {
    const auto newest_of = [&](auto&& is_meant) {
        const auto found = std::find_if(held_.rbegin(), held_.rend(), is_meant);
        return found == held_.rend() ? held_.end() : std::prev(found.base());
    };
    const auto me = std::this_thread::get_id();
    auto found = newest_of([&](const hold& each) { return each.by == me; });
    if (found != held_.end()) return found;
    found = newest_of([](const hold& each) { return !is_held(*each.what); });
    if (found != held_.end() || held_.empty()) return found;
    return std::prev(held_.end());
}

template <class Mutex>
void lockable<Mutex>::unlock() noexcept {
    std::shared_ptr<lease> ending;
    {
        const std::lock_guard guard{held_mutex_};
        const auto which = own();
        if (which == held_.end()) return;
        ending = which->what;
        held_.erase(which);
    }
    // Also while another thread is within with_lease().
    if (handle_maker::is_there(*ending)) ending->inner()->release_quietly();
}

template <class Mutex>
bool lockable<Mutex>::held_locally() const {
    const std::lock_guard guard{held_mutex_};
    const auto which = own();
    return which != held_.end() && is_held(*which->what);
}

template <class Mutex>
std::stop_token lockable<Mutex>::lost() const {
    const std::lock_guard guard{held_mutex_};
    const auto which = own();
    const bool is_there = which != held_.end() && handle_maker::is_there(*which->what);
    return is_there ? which->what->lost() : std::stop_token{};
}

template <class Mutex>
std::shared_ptr<lease> lockable<Mutex>::locked() const {
    {
        const std::lock_guard guard{held_mutex_};
        if (const auto which = own(); which != held_.end()) return which->what;
    }
    throw error(errc::lease_lost, "nothing is locked: lock '" + mutex_.key().name() + "' first");
}

template class lockable<mutex>;
template class lockable<shared_mutex>;

}  // namespace leasehold
