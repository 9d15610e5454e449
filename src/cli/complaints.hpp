#pragma once
// What is said of an outage while it lasts: each reason when it is new, and at growing intervals
// what keeps the database away now, so that a log shows that it is away still.
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

    // Whether `failure`, of this moment, is to be said.
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
