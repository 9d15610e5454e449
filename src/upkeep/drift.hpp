#pragma once
// Where our tables are others than the migrations have made.
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "leasehold/doctor.hpp"
#include "store/health_store.hpp"

namespace leasehold {

// Findings, for the doctor: what is missing or another, what is there besides, and what the server
// does not show to this user. Tables of the same prefix that are not ours are nobody's business.
std::vector<finding> find_drift(connection& on, health_store& health, const table_names& names);

}  // namespace leasehold
