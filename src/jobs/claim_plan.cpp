#include "jobs/claim_plan.hpp"

#include <algorithm>
#include <cstdint>

namespace leasehold {

std::size_t jobs_ahead(std::size_t threads, std::optional<std::chrono::nanoseconds> mean) noexcept {
    constexpr std::int64_t most = 200;
    if (!mean) return 0;
    const auto each = prefetch_horizon / std::max(*mean, std::chrono::nanoseconds{1});
    const auto more = static_cast<std::size_t>(std::clamp<std::int64_t>(each - 1, 0, most));
    return std::min(threads * more, std::size_t{most});
}

void claim_plan::note_claims(const std::vector<job_executor::task>& jobs) {
    const bool are_fragile = std::ranges::any_of(jobs, &job::implementation::is_fragile);
    careful_for_ -= std::min(careful_for_, jobs.size());
    if (are_fragile) careful_for_ = std::max(careful_for_, jobs.size());
}

std::size_t claim_plan::ahead(const tally& now) const noexcept {
    if (is_careful(now)) return 0;
    if (asked_.prefetch) return static_cast<std::size_t>(*asked_.prefetch);
    const auto threads = static_cast<std::size_t>(asked_.concurrency);
    return has_limits_ ? 0 : jobs_ahead(threads - now.slow, now.mean);
}

std::size_t claim_plan::room(const tally& now) const noexcept {
    const auto most = static_cast<std::size_t>(asked_.concurrency) + ahead(now);
    return now.busy() < most ? most - now.busy() : 0;
}

bool claim_plan::may_claim(const tally& now) const noexcept {
    return room(now) > 0 && now.waiting <= ahead(now) / 2 && local_clock::now() >= now.rests_until;
}

std::optional<local_clock::time_point> claim_plan::ends_wait(const tally& now) const noexcept {
    const std::size_t half = ahead(now) / 2;
    if (!asked_.batches_ends || now.waiting <= half || now.ended > half) return std::nullopt;
    return now.oldest_end + asked_.max_ends_wait;
}

}  // namespace leasehold
