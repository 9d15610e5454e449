#pragma once
// The contents of the table in docs/benchmarks.md.
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace leasehold::bench {

struct step {
    workload what;
    std::vector<std::string> floors{"library"};
    int round_ms = 1000;
};

// Quick: shorter rounds, and fewer sizes.
std::vector<step> plan_of(bool is_quick);

}  // namespace leasehold::bench
