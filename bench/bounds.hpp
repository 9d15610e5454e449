#pragma once
// The meaning of the figures, in words: where the time goes.
//
// Threads: plain functions.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/report.hpp"

namespace leasehold::bench {

// The parts of the time that one acquire of a free key takes, in microseconds.
struct acquire_parts {
    double whole = 0;
    double round_trip = 0;  // to the server and back, asking for nothing
    double flush = 0;       // the time a durable commit takes beyond that
    double client = 0;      // CPU of this program
    double server = 0;      // the rest; of a file, waiting for the system

    enum class part { round_trip, flush, client, server };
    part largest() const;
};

// Nothing when one of the figures it needs was not measured.
std::optional<acquire_parts> parts_of(const std::vector<report>& all);

// "flush", "round trip", "client CPU", "server"
const char* name_of(acquire_parts::part which) noexcept;

// The machine that measured.
struct surroundings {
    unsigned processors = 1;
    bool has_server = true;  // false: a file
};

// One for a line.
std::vector<std::string> sentences_on(const std::vector<report>& all, const surroundings& with);

}  // namespace leasehold::bench
