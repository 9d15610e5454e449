#pragma once
// Checks jobs, and names of queues, kinds and keys of jobs.
#include <string>
#include <string_view>

#include "leasehold/job.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {

// Throws invalid_argument.
[[noreturn]] void refuse_input(const std::string& what);

// Throws invalid_argument unless it is 1 to 255 bytes of UTF-8 without NUL. `what`: for the
// message.
void require_name(std::string_view name, const char* what);
// As require_name(), but empty is allowed.
void require_key(std::string_view key, const char* what);

// Throws invalid_argument unless a running job may save it.
void require_checkpoint(std::string_view state);

// Throws invalid_argument, which says why the job cannot be enqueued.
void require_valid(const new_job& what, std::size_t max_payload_bytes);
// Throws invalid_argument, which says why a worker cannot work by these settings.
void require_valid(const worker_settings& settings);

}  // namespace leasehold
