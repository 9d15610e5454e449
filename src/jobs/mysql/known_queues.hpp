#pragma once
// This process's knowledge of queues of jobs.
#include <cstdint>
#include <map>
#include <string>

#include "core/thread_mutex.hpp"

namespace leasehold::mysql_dialect {

// The queues as the process has seen them. Hints: a caller with an old one is refused, and looks
// again.
//
// Threads: safe.
class known_queues {
public:
    struct known {
        bool is_claimed_in_turn = false;
        std::int64_t max_running_per_key = 1;
    };
    known of(const std::string& queue) const {
        const thread_guard guard{mutex_};
        const auto found = queues_.find(queue);
        return found == queues_.end() ? known{} : found->second;
    }
    void note(const std::string& queue, known what) {
        const thread_guard guard{mutex_};
        queues_[queue] = what;
    }

private:
    mutable thread_mutex mutex_;
    std::map<std::string, known> queues_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold::mysql_dialect
