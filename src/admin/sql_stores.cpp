#include "admin/sql_stores.hpp"

#include "admin/sql_history_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/made_for.hpp"

namespace leasehold {

#include "statements_admin.inc"

// The doctor looks at queues.
const sql_source admin_sql{postgres_admin, mysql_admin, sqlite_admin, &jobs_sql};

std::unique_ptr<health_store> health_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<health_store>(
        how,
        postgres_dialect::make_health_store,
        mysql_dialect::make_health_store,
        sqlite_dialect::make_health_store
    );
}

std::unique_ptr<history_store> history_store::make(const std::shared_ptr<const sql_dialect>& how) {
    if (how->which() == engine::postgres) return postgres_dialect::make_history_store(how);
    if (how->which() != engine::sqlite) return mysql_dialect::make_history_store(how);
    return std::make_unique<sql_history_store>(how);
}

std::unique_ptr<migration_store> migration_store::make(const std::shared_ptr<const sql_dialect>& how
) {
    return made_for<migration_store>(
        how,
        postgres_dialect::make_migration_store,
        mysql_dialect::make_migration_store,
        sqlite_dialect::make_migration_store
    );
}

}  // namespace leasehold
