#pragma once
// The numbers of jobs in the queues, by minute, for the last hour: kept in memory alone.
//
// Threads: one at a time.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "leasehold/job_queue.hpp"

namespace leasehold::cli {

struct job_sample {
    std::int64_t minute = 0;   // since the epoch
    std::int64_t waiting = 0;  // available, or will be: scheduled, retryable, blocked
    std::int64_t running = 0;
};

class job_history {
public:
    static constexpr std::size_t max_minutes = 60;
    static constexpr std::size_t max_queues = 200;  // the last ones beyond are left out

    // The last one of a minute is kept.
    void note(std::chrono::system_clock::time_point now, const std::vector<queue_info>& queues);
    // Oldest first; empty for an unknown queue.
    const std::vector<job_sample>& of(const std::string& queue) const;

private:
    std::map<std::string, std::vector<job_sample>> samples_;
};

}  // namespace leasehold::cli
