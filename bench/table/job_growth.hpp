#pragma once
// Measures claims beside a long queue, a long history, and somebody's old snapshot. Each function
// prints a line for people.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace leasehold::bench {

struct flat_settings {
    std::vector<std::int64_t> queued{1'000, 100'000, 1'000'000};
    std::int64_t ended = 0;  // in the history of each
    int rounds = 5;
};
// Queues of each length, in turns.
void measure_flat(const std::string& url, const flat_settings& settings);

struct held_settings {
    std::chrono::seconds length{600};
    int jobs_per_second = 500;
};
// Claims while a snapshot is held that was taken before all of them.
void measure_held(const std::string& url, const held_settings& settings);

}  // namespace leasehold::bench
