#pragma once
// Any number of jobs, in statements that the server takes.
#include <string_view>
#include <vector>

#include "leasehold/job.hpp"
#include "store/store.hpp"

namespace leasehold {

class connection;

// In the transaction that is open: 1,000 jobs or 1 MiB of them in each statement, and whom they
// need. In the order of the list. They were checked before.
std::vector<enqueued_job> enqueue_list(
    connection& on, store& stores, std::string_view queue, const std::vector<new_job>& what
);

}  // namespace leasehold
