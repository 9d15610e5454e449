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

}  // namespace leasehold
