#pragma once
// Enqueues jobs that wait for others; frees or cancels them when those end.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jobs/job_need_store.hpp"
#include "leasehold/job.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class connection;

// Throws invalid_argument for an index beyond the list, and for a circle, which the message names.
void require_no_circle(const std::vector<new_job>& list);

inline bool needs_others(const new_job& what) {
    return !what.depends_on.empty() || !what.depends_on_listed.empty();
}
// The jobs as they are sent: jobs that need other jobs are not due until freed.
std::vector<new_job> as_waiting(const std::vector<new_job>& list);

// Writes the needs of jobs, in the transaction in which they were enqueued. Throws invalid_argument
// for an id that no job has ever had.
void add_needs(
    connection& inside,
    store_set& stores,
    const std::vector<new_job>& list,
    const std::vector<enqueued_job>& made
);

// Called for each queue in which jobs go on, or did a moment ago.
using on_freed = std::function<void(const std::string& queue)>;

// Frees or cancels jobs that wait for jobs among `ids` that have ended: some thousand of them at
// most, later ones in the workers' turns. Returns how many go on. No transaction is open on `on`.
std::int64_t settle_needs(
    connection& on, store_set& stores, const std::vector<job_id>& ids, const on_freed& tell
);
// As settle_needs(), for a caller that repeats it until all is done: returns the ids for the next
// call.
std::vector<job_id> settle_some_needs(
    connection& on, store_set& stores, const std::vector<job_id>& ids, const on_freed& tell
);

// As settle_needs(), for all needs in the queue that were left undone, some rows at a time.
struct need_places {
    need_place over;
    job_id waiting = 0;
};
std::int64_t settle_left_needs(
    connection& on,
    store_set& stores,
    const std::string& queue,
    need_places& places,
    const on_freed& tell
);

}  // namespace leasehold
