#pragma once
// The messages about an outage while it lasts: each new reason at once, and the present reason
// again at growing intervals, so that a log shows that the database is still away.
//
// Threads: one at a time.
#include <chrono>
#include <set>
#include <string>

#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {

class complaints {
public:
    using instant = local_clock::time_point;

    // True if a message about `failure`, which has just happened, is due.
    bool is_due(const error& failure, instant now);
    // The outage is over.
    void clear() { *this = {}; }

private:
    static constexpr std::chrono::minutes first_pause{1};
    static constexpr std::chrono::minutes longest_pause{10};

    std::set<std::string> said_;
    instant said_at_{};
    std::chrono::minutes pause_ = first_pause;
};

}  // namespace leasehold::cli
