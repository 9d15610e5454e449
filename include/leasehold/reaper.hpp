#pragma once
// Cleans up after the dead. No promise depends on it: it keeps tables small.
//
//   leasehold::reap(db);
//
// Sessions run it in the background by default; `leasehold reap` runs it once, to the end.
//
// Promises: never frees a live lease, and steps around rows that others have locked. No statement
// looks at more rows than a step may, however large the tables are; the database remembers where
// the last step ended, and the next one goes on there. One session of a database at a time cleans
// up, so that the cost for the server does not grow with the number of sessions; when that session
// dies another session goes on. If a step takes longer than it may, the next one is half as long,
// and meanwhile the steps turn to the other tables. Fencing tokens go on growing after a row was
// removed: its fence is folded into a high-water mark from which new rows start.
//
// Threads: safe, in any number of processes at once. Errors: those of the database.
#include <chrono>
#include <cstdint>
#include <optional>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// The reaper removes rows when they are as old as these settings say.
struct reap_settings {
    // Rows that a step looks at, 1 to 10,000.
    int max_rows_per_step = 1000;
    // An expired session's row is kept for this long, and until every table was looked through
    // after that, so that a statement it sent before it died finds it dead rather than missing. 1
    // minute to 100 years.
    std::chrono::seconds session_retention{3600};
    // A lock row that nobody held for this time is removed. 1 minute to 100 years.
    std::chrono::seconds lock_retention{7 * 24 * 3600};
    // Stop after this much time even if there is more; the next call goes on there. Unset: look
    // through all tables to the end.
    std::optional<std::chrono::milliseconds> timeout{};
};

// The reaper says by this what it has removed.
struct reap_report {
    std::int64_t sessions_removed = 0;
    std::int64_t locks_freed = 0;     // were held by the dead, or had a queue nobody served
    std::int64_t locks_removed = 0;   // were idle for long
    std::int64_t grants_removed = 0;  // of the history, kept for long enough
    // rows_left counts the rows that are left because somebody has them locked. is_complete is
    // false when some rows were not looked at: because timeout had passed, or because what is left
    // is a row that says how far the clean-up is.
    std::int64_t rows_left = 0;
    bool is_complete = true;
};

LEASEHOLD_EXPORT reap_report reap(const database& db, const reap_settings& settings = {});

}  // namespace leasehold
