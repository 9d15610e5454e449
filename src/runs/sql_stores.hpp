#pragma once
// Private to the dialects: the statements of run-once tasks, and the stores that an engine has
// for itself.
#include <memory>

#include "columns_runs.hpp"
#include "runs/run_store.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source runs_sql;

namespace mysql_dialect {

std::unique_ptr<run_store> make_run_store(std::shared_ptr<const sql_dialect> how);

}  // namespace mysql_dialect

}  // namespace leasehold
