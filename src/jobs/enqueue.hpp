#pragma once
// Enqueues any number of jobs, in statements that the server takes.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/job.hpp"
#include "leasehold/observer.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class connection;

// Enqueues jobs and their needs in the open transaction: 1,000 jobs or 1 MiB of them in each
// statement. The result has the order of the list. The caller has checked the jobs.
std::vector<enqueued_job> enqueue_list(
    connection& on, store_set& stores, std::string_view queue, const std::vector<new_job>& what
);

// Tells of those of the list that are new. `told` may be null.
void tell_of_new(
    observer* told,
    const std::string& queue,
    std::span<const new_job> what,
    std::span<const enqueued_job> made
) noexcept;

}  // namespace leasehold
