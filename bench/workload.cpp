#include "bench/workload.hpp"

#include <algorithm>

#include "leasehold/open.hpp"

namespace leasehold::bench {

std::string_view workload::unit() const {
    if (what == "pair") return "pairs";
    if (what == "refused") return "tries";
    if (what == "hop") return "hops";
    if (what == "commit") return "commits";
    if (what == "heartbeat") return "heartbeats";
    if (what == "sessions") return "seconds of a session";
    if (what == "release") return "releases";
    if (what == "job-start") return "starts";
    if (what.starts_with("job-")) return "jobs";
    if (what.ends_with("-claim")) return "rows";
    return what == "round-trip" ? "round trips" : "runs";
}

std::string workload::shape() const {
    if (what == "sessions") return std::to_string(workers) + " in one process";
    if (what == "release") return std::to_string(workers - 1) + " threads try for it";
    if (what == "job-enqueue") return std::to_string(batch) + " at once";
    if (what == "job-start") return "an idle worker";
    std::string text;
    if (what.ends_with("-claim") || what == "job-drain") {
        text = "batches of " + std::to_string(batch) + ", ";
    }
    if (what == "job-drain") {
        return text + std::to_string(workers) + (workers == 1 ? " worker" : " workers");
    }
    text += std::to_string(workers);
    if (what == "hop") text += " waiting";
    text += are_processes ? " process" : " thread";
    if (workers != 1) text += are_processes ? "es" : "s";
    if (held == 1) text += ", 1 lease held";
    if (held > 1) text += ", " + std::to_string(held) + " leases held";
    return text;
}

std::string job_payload(int number) {
    const std::string digits = std::to_string(number);
    return "purchase " + std::string(std::max<std::size_t>(8, digits.size()) - digits.size(), '0') +
           digits + " of customer 4711 for 99.95 EUR, to be confirmed";
}

int jobs_to_drain(int batch) {
    return batch == 1 ? 4'000 : batch < 50 ? 30'000 : 100'000;
}

database place::open(int connections, std::chrono::milliseconds statement_timeout) const {
    database_settings settings;
    settings.names = names;
    settings.max_connections = connections;
    settings.statement_timeout = statement_timeout;
    return leasehold::open(url, std::move(settings));
}

}  // namespace leasehold::bench
