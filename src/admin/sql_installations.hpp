#pragma once
// Finds the tables of leasehold in a database, whatever they are called. It asks the catalogue, and
// no store: a store knows its own names alone.
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold {

// In the order of their names. `ours` are the names of the tables that are marked as ours.
std::vector<installation> installations_in(connection& on, const table_names& ours);

}  // namespace leasehold
