#pragma once
// Things that several may have at once, or that are no lock at all: shared mutexes, permits, runs
// of tasks, and rows that are claimed by their version. Numbered from 100, beside the keys of
// mutexes.
//
// Threads: plain values, pure functions.
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "soak/facts.hpp"
#include "soak/history.hpp"

namespace leasehold::soak {

enum class share_kind {
    shared = 1,  // mutex: readers weigh one, a writer all
    permits = 2,
    task = 3,
    row = 4,  // claimed by its version, without a lease
};

constexpr int shares_per_kind = 1;  // so that many want the same
constexpr share_kind kind_of(int share) {
    return static_cast<share_kind>(share / 100);
}
constexpr int share_of(share_kind kind, int number) {
    return static_cast<int>(kind) * 100 + number;
}
const char* name_of(share_kind kind) noexcept;

constexpr std::int64_t max_readers = 1000;
// The greatest total weight of all holders at once.
constexpr std::int64_t capacity_of(int share) {
    if (kind_of(share) == share_kind::shared) return max_readers;
    if (kind_of(share) == share_kind::permits) return 3;
    return 1;
}
constexpr bool is_writer(std::int64_t weight) {
    return weight == max_readers;
}

// The number of a commit that claims a row, and changes nothing of it.
constexpr std::int64_t no_change = -1;

// A grant of a share, for as long as its holder believed in it.
struct share_holding : holding {
    std::int64_t weight = 1;
};

// A transaction with a proof, and whether its row was found in the end.
struct proof_step : step {
    std::int64_t weight = 1;
    std::int64_t proved_ns = 0;      // the proof had passed; 0: it never did
    std::int64_t committing_ns = 0;  // its commit was about to be sent
};

struct proof_row {
    int process = 0;  // with id: the transaction that wrote it
    std::int64_t id = 0;
    std::int64_t token = 0;  // of a claimed row: its version
    std::int64_t number = 0;
};

struct share_facts {
    std::vector<share_holding> grants;
    std::vector<proof_step> proofs;
    std::vector<step> releases;
    std::vector<proof_row> rows;  // what is there in the end, in order of tokens
    std::int64_t number = 0, version = 0;
    std::int64_t refused = 0;  // takes that were told no
};
using all_shares = std::map<int, share_facts>;

all_shares gather_shares(const std::vector<record>& history);

}  // namespace leasehold::soak
