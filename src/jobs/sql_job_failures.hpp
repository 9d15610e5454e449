#pragma once
// The failures of a job as its row has them: for each the attempt, the microseconds of its claim
// and of its end, its worker and its error, between tabs, and a record separator between two of
// them. The fragment failures_with in src/jobs/<engine>/fragments.sql writes them.
#include <string_view>
#include <vector>

#include "leasehold/job.hpp"

namespace leasehold {

// Reads what the fragment read_failures gives: the instant, a record separator and the failures.
// A record that is none, because somebody has written it by hand, is left out.
std::vector<job_failure> failures_in(std::string_view text);

}  // namespace leasehold
