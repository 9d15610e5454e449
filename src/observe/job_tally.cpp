#include "observe/job_tally.hpp"

#include <algorithm>

namespace leasehold {

const time_bounds& job_tally::attempt_bounds() noexcept {
    using std::chrono::nanoseconds;
    static const time_bounds bounds{
        nanoseconds{1},
        nanoseconds{2},
        nanoseconds{3},
        nanoseconds{5},
        nanoseconds{10},
        nanoseconds{20},
        nanoseconds{100}};
    return bounds;
}

void job_tally::add(const event& what) noexcept {
    const auto slot = static_cast<std::size_t>(what.kind) - first_slot;
    counts_.at(slot).fetch_add(1, relaxed);
    if (what.kind == event_kind::job_started) {
        in_flight_.fetch_add(1, relaxed);
        if (what.waited) waited_.add(bounds_, *what.waited);
    }
    if (what.kind != event_kind::job_ended) return;
    if (what.took) in_flight_.fetch_sub(1, relaxed);
    const auto at = std::ranges::find(outcomes, what.reason) - outcomes.begin();
    if (at == std::ssize(outcomes)) return;  // of a later version
    ended_[static_cast<std::size_t>(at)].fetch_add(1, relaxed);
    if (what.took) ran_.add(bounds_, *what.took);
    const bool is_final = what.reason == event_reason::completed ||
                          what.reason == event_reason::discarded ||
                          what.reason == event_reason::cancelled;
    if (is_final) attempts_.add(attempt_bounds(), std::chrono::nanoseconds{what.attempt});
}

}  // namespace leasehold
