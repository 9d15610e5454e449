#include "observe/job_tally.hpp"

#include <algorithm>

namespace leasehold {

void job_tally::add(const event& what) noexcept {
    if (what.kind == event_kind::job_started) {
        started_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const auto at = std::ranges::find(outcomes, what.reason) - outcomes.begin();
    if (at == std::ssize(outcomes)) return;  // of a later version
    ended_[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
    if (what.took) ran_.add(bounds_, *what.took);
}

job_tally& job_tallies::tally_of(const event& what) noexcept {
    const names by{what.queue, what.job_kind};
    try {
        const thread_guard guard{mutex_};
        if (const auto found = tallies_.find(by); found != tallies_.end()) return found->second;
        if (tallies_.size() < most_) {
            std::pair<std::string, std::string> owned{by};
            return tallies_.try_emplace(std::move(owned), bounds_).first->second;
        }
    } catch (...) {
        // The event counts all the same, below.
    }
    has_other_ = true;
    return other_;
}

std::vector<job_tallies::labelled> job_tallies::all() const {
    std::vector<labelled> found;
    const thread_guard guard{mutex_};
    for (const auto& [by, counts] : tallies_) found.push_back({by.first, by.second, &counts});
    if (has_other_) found.push_back({"other", "other", &other_});
    return found;
}

}  // namespace leasehold
