#pragma once
// The results of a measurement: plain numbers, for text, JSON and plots.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace leasehold::bench {

// The spread of several repetitions.
struct spread {
    double median = 0;
    double min = 0;
    double max = 0;
};
spread spread_of(std::vector<double> values);

// Microseconds.
struct latencies {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double max = 0;
    double first_p50 = 0;  // of the operation's first part; 0: it has none
};

struct side_report {
    std::string name;
    spread rate{};  // items a second
    latencies took{};
    std::int64_t operations = 0;
    std::map<std::string, double> each{};  // per item; see gauges.hpp
    // The first side beside this one, repetition by repetition; empty for the first side itself.
    spread ratio{};
    double latency_ratio = 0;
};

struct report {
    workload what{};
    int repetitions = 0;
    std::vector<side_report> sides{};  // the first is what is measured, the others are floors
};

nlohmann::json json_of(const report& of);
report report_in(const nlohmann::json& object);

}  // namespace leasehold::bench
