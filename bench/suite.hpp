#pragma once
// The workloads that `leasehold-bench` measures, and how long each round may take.
//
// Errors: leasehold::error of the database; interrupted. Threads: one.
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/report.hpp"

namespace leasehold::bench {

struct suite_settings {
    std::vector<std::string> only{};  // names of workloads; empty: all
    std::vector<int> threads{1, 16};
    std::vector<int> waiters{2, 8};
    std::vector<int> batches{1, 10, 100};
    int repetitions = 5;
    std::chrono::milliseconds whole{60'000};  // about, for all of it
};

// The names in the order in which they are measured.
const std::vector<std::string>& workload_names();
std::vector<workload> workloads_of(const suite_settings& settings);

// Told of each round, and of each report when it is made.
struct listener {
    std::function<void(const workload& what, const std::string& side, int repetition)> on_round;
    std::function<void(const report& made)> on_report;
};

std::vector<report> measure(
    const place& where,
    const suite_settings& settings,
    const listener& tell,
    const std::stop_token& stop
);

}  // namespace leasehold::bench
