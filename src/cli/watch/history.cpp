#include "cli/watch/history.hpp"

#include "cli/show/described.hpp"

namespace leasehold::cli {
namespace {

job_sample sample_of(std::int64_t minute, const queue_info& queue) {
    const auto count = [&](job_state state) { return count_in(queue.jobs, state); };
    return {
        minute,
        count(job_state::available) + count(job_state::scheduled) + count(job_state::retryable) +
            count(job_state::blocked),
        count(job_state::running)};
}

}  // namespace

void job_history::note(
    std::chrono::system_clock::time_point now, const std::vector<queue_info>& queues
) {
    using std::chrono::floor;
    using std::chrono::minutes;
    const std::int64_t minute = floor<minutes>(now.time_since_epoch()).count();
    const auto oldest = minute - static_cast<std::int64_t>(max_minutes) + 1;
    for (const queue_info& each : queues) {
        if (samples_.size() >= max_queues && !samples_.contains(each.name)) continue;
        auto& all = samples_[each.name];
        // A clock that was set back begins anew.
        std::erase_if(all, [&](const job_sample& old) { return old.minute >= minute; });
        all.push_back(sample_of(minute, each));
    }
    for (auto& [name, all] : samples_) {
        std::erase_if(all, [&](const job_sample& old) { return old.minute < oldest; });
    }
    std::erase_if(samples_, [](const auto& each) { return each.second.empty(); });
}

const std::vector<job_sample>& job_history::of(const std::string& queue) const {
    static const std::vector<job_sample> none;
    const auto found = samples_.find(queue);
    return found == samples_.end() ? none : found->second;
}

}  // namespace leasehold::cli
