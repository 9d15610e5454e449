#pragma once
// One maker per dialect. They know no client library and none of the stores.
#include <memory>

#include "leasehold/database.hpp"
#include "sql/written_nodes.hpp"

namespace leasehold {

class sql_dialect;

std::shared_ptr<const sql_dialect> make_postgres_dialect(
    const table_names& names, written_nodes written
);
// The dialect of both engines; `which` and `written` choose the statements that differ.
std::shared_ptr<const sql_dialect> make_mysql_dialect(
    const table_names& names, engine which, written_nodes written
);
std::shared_ptr<const sql_dialect> make_sqlite_dialect(const table_names& names);

}  // namespace leasehold
