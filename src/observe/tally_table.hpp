#pragma once
// A tally for each of the first names that are met, and one for all other names.
//
// Threads: safe. A lock is held while a name is looked up.
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "leasehold/export.hpp"
#include "observe/tally.hpp"

namespace leasehold {

template <class Name, class Tally, class Order = std::less<>>
class tally_table {
public:
    // A tally keeps its address, and is never removed.
    using entries = std::vector<std::pair<const Name*, const Tally*>>;

    tally_table(const time_bounds& bounds LEASEHOLD_LIFETIMEBOUND, std::size_t most, Name other)
        : bounds_(bounds), most_(most), other_name_(std::move(other)), other_(bounds) {}

    // The tally of the name that `name()` returns. The one for all others if name() throws, if
    // there are too many names already, and for the name of that tally.
    template <class MakeName>
    Tally& of(const MakeName& name) noexcept {
        try {
            const auto by = name();
            const thread_guard guard{mutex_};
            if (const auto found = tallies_.find(by); found != tallies_.end()) {
                return found->second;
            }
            Name owned{by};
            if (tallies_.size() < most_ && owned != other_name_) {
                return tallies_.try_emplace(std::move(owned), bounds_).first->second;
            }
        } catch (...) {
            // The event counts all the same, below.
        }
        has_other_ = true;
        return other_;
    }
    entries all() const {
        entries found;
        const thread_guard guard{mutex_};
        for (const auto& [name, each] : tallies_) found.emplace_back(&name, &each);
        if (has_other_) found.emplace_back(&other_name_, &other_);
        return found;
    }

private:
    const time_bounds& bounds_;
    const std::size_t most_;
    const Name other_name_;
    Tally other_;
    std::atomic<bool> has_other_ = false;
    mutable thread_mutex mutex_;
    std::map<Name, Tally, Order> tallies_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
