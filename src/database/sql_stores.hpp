#pragma once
// Private to the dialects: the statements of the check of the schema.
#include "columns_database.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source database_sql;

}  // namespace leasehold
