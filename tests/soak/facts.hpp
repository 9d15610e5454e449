#pragma once
// A history put in order: one value per grant, effect and fault instead of a line per event.
//
// Threads: plain values.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "soak/history.hpp"

namespace leasehold::soak {

using name = std::pair<int, std::int64_t>;  // process and id

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

// The beginning of the detail of an append whose proof was refused.
constexpr std::string_view refused_prefix = "refused ";

// An operation from before it was sent until its answer came; still unknown where none did.
struct step {
    int process = 0;
    std::int64_t id = 0;
    int key = -1;
    std::int64_t grant = 0;
    std::int64_t token = 0;
    std::int64_t number = 0;
    std::int64_t invoked_ns = 0;
    std::int64_t ended_ns = never_ns;
    phase outcome = phase::unknown;
    std::string detail;
};

// One grant, and for how long its holder believed in it.
struct holding {
    int process = 0;
    std::int64_t id = 0;
    int key = -1;
    std::int64_t token = 0;
    std::int64_t invoked_ns = 0;
    std::int64_t granted_ns = 0;
    std::int64_t deadline_ns = 0;         // the latest its holder knew of
    std::int64_t given_up_ns = never_ns;  // released, or known to be lost

    std::int64_t believed_until_ns() const { return std::min(deadline_ns, given_up_ns); }
};

struct list_entry {
    int process = 0;  // with id: the append that made it
    std::int64_t id = 0;
    std::int64_t token = 0;
    std::int64_t position = 0;
};

struct facts {
    std::map<int, std::vector<holding>> grants;  // by key, in order of granted_ns
    std::map<int, std::vector<step>> appends;
    std::map<int, std::vector<step>> controls;
    std::map<int, std::vector<step>> releases;
    std::map<int, std::vector<step>> forces;
    std::vector<step> acquires;
    std::vector<step> faults;
    std::int64_t drained_from_ns = 0;
    int sessions = 0;

    std::map<int, std::vector<list_entry>> entries;  // by key, in order of position
    std::map<int, std::int64_t> length, counter, value;
};

facts gather(const std::vector<record>& history);

}  // namespace leasehold::soak
