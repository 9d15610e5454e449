#pragma once
// What the doctor says of tasks that `once` runs, and of schedules of jobs: of each the first 1,000
// by name are looked at.
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/doctor.hpp"
#include "store/job_schedule_store.hpp"
#include "store/run_store.hpp"

namespace leasehold {

std::vector<finding> find_in_runs(connection& on, run_store& runs);
std::vector<finding> find_in_schedules(connection& on, job_schedule_store& schedules);

}  // namespace leasehold
