#include "claims/sql_stores.hpp"

namespace leasehold {

std::unique_ptr<table_store> table_store::make(engine which) {
    if (which == engine::postgres) return postgres_dialect::make_table_store();
    if (which == engine::sqlite) return sqlite_dialect::make_table_store();
    return mysql_dialect::make_table_store(which);
}

}  // namespace leasehold
