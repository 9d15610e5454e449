#include "bench/suite.hpp"

#include <algorithm>

#include "bench/gauges.hpp"
#include "bench/hand.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;

// Claims have so many workers.
constexpr int claimers = 4;
constexpr int enqueued_at_once = 10'000;

bool has_subject(const workload& what) {
    return what.what != "round-trip" && what.what != "commit";
}

// Connecting, filling tables and getting in line take about a quarter of the time.
timing timing_for(const std::vector<workload>& all, const suite_settings& settings) {
    double rounds = 0;
    for (const workload& each : all) {
        rounds += (has_subject(each) ? 2 : 1) * (settings.repetitions + 0.4);
    }
    const double each = static_cast<double>(settings.whole.count()) * 0.75 / std::max(rounds, 1.0);
    return {settings.repetitions, milliseconds{std::max(static_cast<int>(each), 10)}};
}

contender contender_of(const char* name, std::unique_ptr<side> of, int workers) {
    of->set_up();
    return {name, std::make_unique<thread_crew>(std::move(of), workers)};
}

}  // namespace

const std::vector<std::string>& workload_names() {
    static const std::vector<std::string> names{
        "round-trip",
        "commit",
        "pair",
        "refused",
        "hop",
        "row-claim",
        "versioned-claim",
        "job-drain",
        "job-enqueue",
        "job-start"};
    return names;
}

std::vector<workload> workloads_of(const suite_settings& settings) {
    std::vector<workload> all;
    for (const std::string& name : workload_names()) {
        const auto& only = settings.only;
        if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
        if (name == "pair") {
            for (const int each : settings.threads) all.push_back({name, each});
        } else if (name == "hop") {
            for (const int each : settings.waiters) all.push_back({name, each});
        } else if (name.ends_with("-claim")) {
            for (const int each : settings.batches) all.push_back({name, claimers, false, each});
        } else if (name == "job-drain") {
            for (const int each : settings.batches) all.push_back({name, 1, false, each});
        } else if (name == "job-enqueue") {
            all.push_back({name, 1, false, enqueued_at_once});
        } else {
            all.push_back({name});
        }
    }
    return all;
}

std::vector<report> measure(
    const place& where,
    const suite_settings& settings,
    const listener& tell,
    const std::stop_token& stop
) {
    const auto all = workloads_of(settings);
    const timing times = timing_for(all, settings);
    gauges counted{where};
    std::vector<report> made;
    for (const workload& each : all) {
        if (stop.stop_requested()) throw interrupted();
        std::vector<contender> sides;
        if (has_subject(each)) {
            sides.push_back(contender_of("leasehold", make_subject(each, where), each.workers));
        }
        sides.push_back(contender_of("by hand", make_floor(each, where), each.workers));
        const auto on_round = [&](const std::string& name, int repetition) {
            tell.on_round(each, name, repetition);
        };
        made.push_back(compare(each, sides, times, counted, on_round, stop));
        tell.on_report(made.back());
    }
    return made;
}

}  // namespace leasehold::bench
