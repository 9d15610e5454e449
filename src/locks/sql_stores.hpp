#pragma once
// Private to the dialects: the statements of locks, their columns, and the stores that an engine
// has for itself.
#include <memory>

#include "columns_locks.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source locks_sql;

namespace postgres_dialect {

std::unique_ptr<hold_store> make_hold_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<holder_store> make_holder_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<multi_lock_store> make_multi_lock_store(std::shared_ptr<const sql_dialect> how);
// Implements hold_store::find_row_lock() in row_lock.cpp.
std::optional<row_lock_info> find_row_lock(const sql_dialect& how, connection& on, const key& name);

}  // namespace postgres_dialect
namespace mysql_dialect {

std::unique_ptr<hold_store> make_hold_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<holder_store> make_holder_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<multi_lock_store> make_multi_lock_store(std::shared_ptr<const sql_dialect> how);
// Implement hold_store::find_row_lock() and why_row_lock_is_unknown() in row_lock.cpp.
std::optional<row_lock_info> find_row_lock(const sql_dialect& how, connection& on, const key& name);
std::optional<error> why_row_lock_is_unknown(
    const sql_dialect& how, connection& on, const key& name
);

}  // namespace mysql_dialect
namespace sqlite_dialect {

class dialect;

std::unique_ptr<hold_store> make_hold_store(std::shared_ptr<const dialect> how);
std::unique_ptr<holder_store> make_holder_store(std::shared_ptr<const dialect> how);
std::unique_ptr<multi_lock_store> make_multi_lock_store(std::shared_ptr<const dialect> how);
std::unique_ptr<waiter_store> make_waiter_store(std::shared_ptr<const dialect> how);
// Implements hold_store::find_row_lock() in row_lock.cpp.
std::optional<row_lock_info> find_file_lock(
    const sql_dialect& how, connection& on, const key& name
);

}  // namespace sqlite_dialect

}  // namespace leasehold
