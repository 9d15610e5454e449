#pragma once
// Private to the dialects: the statements of administration, and the stores that an engine has
// for itself.
#include <memory>

#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "admin/migration_store.hpp"
#include "columns_admin.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source admin_sql;

namespace postgres_dialect {

std::unique_ptr<health_store> make_health_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<history_store> make_history_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<migration_store> make_migration_store(std::shared_ptr<const sql_dialect> how);

}  // namespace postgres_dialect
namespace mysql_dialect {

std::unique_ptr<health_store> make_health_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<history_store> make_history_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<migration_store> make_migration_store(std::shared_ptr<const sql_dialect> how);

}  // namespace mysql_dialect
namespace sqlite_dialect {

class dialect;

std::unique_ptr<health_store> make_health_store(std::shared_ptr<const dialect> how);
std::unique_ptr<migration_store> make_migration_store(std::shared_ptr<const dialect> how);

}  // namespace sqlite_dialect

}  // namespace leasehold
