#pragma once
// The server's counters, where it has them and lets us see them: read before and after each round.
// All of it is the whole server's (or, of statements on PostgreSQL, the whole database's), so what
// others do at the same time is in it.
//
// Threads: one at a time.
#include <functional>
#include <map>
#include <string>

#include "bench/workload.hpp"
#include "leasehold/database.hpp"

namespace leasehold::bench {

// Counts by name: "statements", "commits" (transactions that wrote), "flushes" of the log,
// "log_bytes", "server_cpu_us", "client_cpu_us", "bytes_written" (by the clients themselves).
using counts = std::map<std::string, double>;

class gauges {
public:
    // `server_cpu` in microseconds, where the server's processes are known.
    explicit gauges(const place& where, std::function<double()> server_cpu = {});

    counts read();
    // Between two readings, without what reading costs.
    counts between(const counts& before, const counts& after) const;

private:
    counts ask();

    database database_;
    const place place_;
    const engine engine_;
    bool sees_statements_;
    std::function<double()> server_cpu_;
    counts own_;
};

}  // namespace leasehold::bench
