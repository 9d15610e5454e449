#pragma once
// `leasehold locks --watch`: the table of locks, in its place on a terminal; elsewhere a line for
// each thing that has changed from one look to the next.
#include <chrono>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

// A change from one look to the next, as far as people are told.
struct lock_change {
    // held: at the first look; granted; ended: that grant has; waiting: as many wait now as
    // `lock.waiters` says, for a key that had the same holder before.
    enum class kind { held, granted, ended, waiting };
    kind what = kind::held;
    lock_info lock;  // a grant that has ended: as it was seen last
};

// The changes of the second look, in the order of keys: ended grants of a key before new ones.
std::vector<lock_change> changes_between(
    const std::vector<lock_info>& before, const std::vector<lock_info>& after
);

// Watches until SIGINT or SIGTERM: then 0. Throws the errors of the first look; later looks wait
// for a database that is away, and say so on standard error.
int watch_locks(
    const database& db, const std::string& prefix, std::chrono::milliseconds every, bool is_json
);

}  // namespace leasehold::cli
