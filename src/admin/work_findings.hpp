#pragma once
// The doctor's findings about tasks that `once` runs, and about schedules of jobs. They cover the
// first 1,000 of each by name.
#include <vector>

#include "jobs/job_schedule_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/doctor.hpp"
#include "runs/run_store.hpp"

namespace leasehold {

std::vector<finding> find_in_runs(connection& on, run_store& runs);
std::vector<finding> find_in_schedules(connection& on, job_schedule_store& schedules);

}  // namespace leasehold
