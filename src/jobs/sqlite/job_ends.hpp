#pragma once
// The common parts of ending, cancelling and rescuing jobs on SQLite. The statements: job.sql.
#include <chrono>
#include <cstdint>
#include <string>

#include "leasehold/job.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {

// The queue of a job, and its ordering key or null.
struct job_place {
    value queue;
    value ordering_key;
};

struct job_last_words {
    value error{};   // null: the error that the job has already
    value result{};  // null: no result
};

// Removes the job's row, and keeps it in the history for `kept` microseconds; -1: not at all.
// `write` has the statements of job.sql.
inline void end_job(
    const writing& write,
    job_id id,
    job_state as,
    std::int64_t kept,
    const job_last_words& words = {}
) {
    if (kept >= 0) write("keep", {id, static_cast<int>(as), kept, words.error, words.result});
    write("remove", {id});
}

// Discards a job whose row has something else in a column of numbers, because a trigger was dropped
// or was made later than the row. `why` is kept for a week, whatever the queue keeps.
inline void set_aside(const writing& write, job_id id, const std::string& why) {
    constexpr std::chrono::microseconds kept = std::chrono::hours{24 * 7};
    end_job(write, id, job_state::discarded, kept.count(), {"set aside: " + why, {}});
}

// Frees the next job of that queue and ordering key, after the job before it has ended.
inline void free_next(const writing& write, const job_place& behind) {
    if (!behind.ordering_key.is_null()) {
        write("free_next", {behind.queue, behind.ordering_key});
    }
}

}  // namespace leasehold::sqlite_dialect
