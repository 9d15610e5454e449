#pragma once
// Plots of reports: lines over threads, waiters, batches, leases held; one SVG with all of them.
//
// Threads: plain functions.
#include <string>
#include <utility>
#include <vector>

#include "bench/report.hpp"

namespace leasehold::bench {

struct line {
    std::string name;
    std::vector<std::pair<double, double>> points{};  // by rising x
};

struct plot {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::vector<line> lines{};
};

// Throughput and median latency of whatever was measured at two sizes at least.
std::vector<plot> plots_of(const std::vector<report>& all);

std::string svg_of(const std::vector<plot>& all);

}  // namespace leasehold::bench
