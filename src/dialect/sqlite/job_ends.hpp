#pragma once
// How a job leaves its table on SQLite: what ending, cancelling and rescuing have in common. The
// statements: job.sql.
#include <chrono>
#include <cstdint>
#include <string>

#include "dialect/sqlite/stores.hpp"
#include "leasehold/job.hpp"

namespace leasehold::sqlite_dialect {

// Where a job stands: the queue, and its ordering key or nothing.
struct job_place {
    value queue;
    value ordering_key;
};

struct job_last_words {
    value error{};   // nothing: the one that it has
    value result{};  // nothing: none
};

// The job's row goes, into the history where it is kept for a while. `kept`: in microseconds; -1:
// not at all. `write` has the statements of job.sql.
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

// Of a row that has something else where a number is wanted: a trigger was dropped, or is of later.
// `why` is kept for a week, whatever its queue keeps.
inline void set_aside(const writing& write, job_id id, const std::string& why) {
    constexpr std::chrono::microseconds kept = std::chrono::hours{24 * 7};
    end_job(write, id, job_state::discarded, kept.count(), {"set aside: " + why, {}});
}

// The job that has waited for one of that place, which is in nobody's way any more.
inline void free_next(const writing& write, const job_place& behind) {
    if (!behind.ordering_key.is_null()) {
        write("free_next", {behind.queue, behind.ordering_key});
    }
}

}  // namespace leasehold::sqlite_dialect
