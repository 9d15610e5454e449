#pragma once
// Private to the dialects: the statements of sessions, and the stores that an engine has
// for itself.
#include <memory>

#include "columns_session.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source session_sql;

namespace postgres_dialect {

std::unique_ptr<session_store> make_session_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<upkeep_store> make_upkeep_store(std::shared_ptr<const sql_dialect> how);

}  // namespace postgres_dialect
namespace mysql_dialect {

std::unique_ptr<session_store> make_session_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<upkeep_store> make_upkeep_store(std::shared_ptr<const sql_dialect> how);

}  // namespace mysql_dialect
namespace sqlite_dialect {

class dialect;

std::unique_ptr<session_store> make_session_store(std::shared_ptr<const dialect> how);
std::unique_ptr<upkeep_store> make_upkeep_store(std::shared_ptr<const dialect> how);

}  // namespace sqlite_dialect

}  // namespace leasehold
