#pragma once
// The doctor's findings about queues: jobs that nobody takes, and those that were given up.
#include <vector>

#include "admin/health_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/doctor.hpp"

namespace leasehold {

// If there are many, names only some, in order; the last of each kind says how many more there are.
std::vector<finding> find_in_queues(
    connection& on, health_store& health, const diagnosis_settings& settings
);
std::vector<finding> find_discarded(connection& on, health_store& health);

}  // namespace leasehold
