#pragma once
// Jobs that wait for others: what is enqueued of them, and what becomes of them when those end.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "leasehold/job.hpp"
#include "store/job_need_store.hpp"
#include "store/store.hpp"

namespace leasehold {

class connection;

// Of a list: throws invalid_argument for places that it has not, and for circles, which it names.
void require_no_circle(const std::vector<new_job>& list);

inline bool needs_others(const new_job& what) {
    return !what.needs.empty() || !what.needs_of_list.empty();
}
// As they are sent: due when nobody is.
std::vector<new_job> as_waiting(const std::vector<new_job>& list);

// In the transaction in which they were enqueued: whom they wait for. Throws invalid_argument for
// numbers that were never given.
void add_needs(
    connection& inside,
    store& stores,
    const std::vector<new_job>& list,
    const std::vector<enqueued_job>& made
);

// Told of each queue in which jobs go on, or did a moment ago.
using on_freed = std::function<void(const std::string& queue)>;

// What waits for these jobs, of which some may have ended, goes on or is cancelled: some thousand
// of them at most, the others in turns. How many go on. No transaction is open on `on`.
std::int64_t settle_needs(
    connection& on, store& stores, const std::vector<job_id>& ids, const on_freed& tell
);
// The same by who goes on with it until all is done: of which jobs more is to be settled.
std::vector<job_id> settle_some_needs(
    connection& on, store& stores, const std::vector<job_id>& ids, const on_freed& tell
);

// The same for whatever was left undone, some rows at a time: by who does it for all.
struct need_places {
    need_place over;
    job_id waiting = 0;
};
std::int64_t settle_left_needs(
    connection& on,
    store& stores,
    const std::string& queue,
    need_places& places,
    const on_freed& tell
);

}  // namespace leasehold
