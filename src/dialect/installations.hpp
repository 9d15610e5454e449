#pragma once
// Which tables of leasehold stand in a database, whatever they are called. Asked of the catalogue,
// and of no store: a store knows its own names alone.
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold {

// In the order of their names. `ours`: which of them are the tables of these names.
std::vector<installation> installations_in(connection& on, const table_names& ours);

}  // namespace leasehold
