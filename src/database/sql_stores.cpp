#include "database/sql_stores.hpp"

#include "database/sql_schema_store.hpp"

namespace leasehold {

#include "statements_database.inc"

const sql_source database_sql{postgres_database, mysql_database, sqlite_database};

std::unique_ptr<schema_store> schema_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return std::make_unique<sql_schema_store>(how);
}

}  // namespace leasehold
