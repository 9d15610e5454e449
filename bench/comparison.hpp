#pragma once
// Two or more sides of one workload, measured in turns: leasehold, floor, leasehold, floor … so
// that other work of the machine meets all of them.
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/crew.hpp"
#include "bench/gauges.hpp"
#include "bench/report.hpp"

namespace leasehold::bench {

struct contender {
    std::string name;
    std::unique_ptr<crew> who;
};

struct timing {
    int repetitions = 5;
    std::chrono::milliseconds round{500};
};

// Told of each round before it begins: the side's name and the number of the repetition, from 1; 0
// is the one that only warms up.
using round_listener = std::function<void(const std::string& name, int repetition)>;

// The measurement was stopped before its end.
class interrupted : public std::exception {
public:
    const char* what() const noexcept override { return "the measurement was stopped"; }
};

report compare(
    const workload& what,
    const std::vector<contender>& sides,
    const timing& timing,
    gauges& counted,
    const round_listener& tell,
    const std::stop_token& stop
);

}  // namespace leasehold::bench
