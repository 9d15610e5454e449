#pragma once
// This process's knowledge of queues of jobs.
#include <map>
#include <string>

#include "core/thread_mutex.hpp"

namespace leasehold {

// The queues as the process has last seen them. Hints: a caller with an old one is refused, and
// looks again.
//
// Threads: safe.
template <class Known>
class known_queues {
public:
    Known of(const std::string& queue) const {
        const thread_guard guard{mutex_};
        const auto found = queues_.find(queue);
        return found == queues_.end() ? Known{} : found->second;
    }
    void note(const std::string& queue, Known what) {
        const thread_guard guard{mutex_};
        queues_[queue] = what;
    }

private:
    mutable thread_mutex mutex_;
    std::map<std::string, Known> queues_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
