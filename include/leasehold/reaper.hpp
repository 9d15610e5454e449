#pragma once
// Cleaning up after the dead. Nothing's correctness depends on it: it keeps tables small.
//
//   leasehold::reap(db);
//
// Sessions run it in the background by default; `leasehold reap` runs it once.
//
// Promises: works in small batches by primary key, steps around rows that others have locked, and
// never frees a live lease. Fencing tokens go on growing after a row was removed: its fence is
// folded into a high-water mark from which new rows start.
//
// Threads: safe, in any number of processes at once. Errors: what the database says.
#include <chrono>
#include <cstdint>

#include "leasehold/database.hpp"

namespace leasehold {

struct reap_settings {
    // Rows per batch, 1 to 10,000.
    int batch_size = 500;
    // An expired session's row is kept for this long, so that whatever it sent before it died finds
    // it dead rather than missing. 1 minute to 100 years.
    std::chrono::seconds session_retention{3600};
    // A lock row nobody held for so long is removed. 1 minute to 100 years.
    std::chrono::seconds lock_retention{7 * 24 * 3600};
    // Stop after this much time even if there is more; 0: until nothing is left.
    std::chrono::milliseconds time_max{0};
};

struct reap_report {
    std::int64_t sessions_removed = 0;
    std::int64_t locks_freed = 0;    // were held by the dead
    std::int64_t locks_removed = 0;  // were idle for long
};

reap_report reap(const database& db, const reap_settings& settings = {});

}  // namespace leasehold
