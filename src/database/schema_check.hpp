#pragma once
// Compares the records of the database with the migrations that this program knows.
#include <vector>

#include "database/schema_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold {

// Every migration known or recorded, oldest first, each with a text of its problem. `records` is
// nullopt if the migration table does not exist.
std::vector<migration_step> compare(
    std::span<const migration> known, const std::optional<std::vector<migration_record>>& records
);

// Throws schema_mismatch with the first problem found.
void require_sound(const std::vector<migration_step>& steps);

// Throws schema_mismatch if a newer migration is half applied, also if this program may go on
// with it: it must be finished before anything else is done to the schema.
void require_finished(const std::vector<migration_step>& steps);

// Describes newer migrations with which this program may go on; empty if there are none.
std::string describe_newer(const std::vector<migration_step>& steps);

// Throws schema_missing or schema_mismatch unless all known migrations are applied, and this
// program may go on with any others that are. Answers with describe_newer().
std::string require_schema(connection& on, schema_store& schema);

}  // namespace leasehold
