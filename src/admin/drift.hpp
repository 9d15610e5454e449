#pragma once
// Finds the differences between our tables and those that the migrations have made.
#include <vector>

#include "admin/health_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "leasehold/doctor.hpp"

namespace leasehold {

// The doctor's findings: missing and changed things, additional things, and those that the server
// does not show to this user. Tables of the same prefix that are not ours are left out.
std::vector<finding> find_drift(connection& on, health_store& health, const table_names& names);

}  // namespace leasehold
