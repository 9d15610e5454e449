#pragma once
// The report of `leasehold work`, for programs and for people.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "leasehold/worker.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const worker_report& report);
std::string summary_of(const worker_report& report);
// The first jobs that were left, for one line of text; --json has all of them.
std::string shown_left(const std::vector<left_jobs>& left);

}  // namespace leasehold::cli
