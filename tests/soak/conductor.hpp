#pragma once
// One round of a soak run: workers are started and hit by faults, by a seeded schedule, until its
// time is over; its history is then in its folder.
//
// Threads: one.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "soak/faults.hpp"
#include "soak/tables.hpp"

namespace leasehold::soak {

constexpr milliseconds ttl{1000};
constexpr milliseconds liveness_timeout = ttl + milliseconds{5000};

struct plan {
    std::string backend;
    std::vector<std::string> urls;  // of the nodes; the first is the conductor's own
    std::string control;            // empty: no faults of the server
    bool may_kill_servers = true;
    std::string plant;
    std::filesystem::path folder;
    std::string prefix;
    std::uint64_t seed = 0;
    std::chrono::seconds length{0};
};

// So little was done that faults in it would prove nothing.
struct void_run : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class conductor {
public:
    explicit conductor(plan given);

    // Throws void_run where there is nothing to judge, and something else where the run cannot be
    // judged, or a process of it failed.
    void run();

    double operations_per_second() const noexcept { return operations_per_second_; }
    const fault_counts& counts() const noexcept { return counts_; }

private:
    crew::settings crew_settings() const;
    database open() const;
    void wait_for_tables() const;
    void watch_until(clock::time_point when);
    void measure_pace();
    milliseconds between(milliseconds least, milliseconds most);
    void inject_until(clock::time_point end);
    void hit_server();
    void drain();
    void end_crew();
    void take_everything();
    void finish_jobs();
    void take_key(session& last, int key);

    const plan plan_;
    history_writer history_;
    signal_page page_;
    const tables tables_;
    std::mt19937_64 random_;
    std::optional<server_faults> server_;
    crew crew_;  // goes before the server is brought back: nobody waits for it then
    fault_counts counts_;
    double operations_per_second_ = 0;
};

}  // namespace leasehold::soak
