#pragma once
// One maker per dialect. They hold all SQL and know no client library.
#include <memory>

#include "leasehold/database.hpp"
#include "sql/store.hpp"
#include "sql/written_nodes.hpp"

namespace leasehold {

store make_postgres_store(const table_names& names, written_nodes written);
// The store of both engines; `which` and `written` choose the statements that differ.
store make_mysql_store(const table_names& names, engine which, written_nodes written);
store make_sqlite_store(const table_names& names);

}  // namespace leasehold
