#pragma once
// Private to the PostgreSQL dialect: the makers of its own stores, and their common parts.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sql/sql_store.hpp"
#include "sql/store.hpp"

namespace leasehold::postgres_dialect {

using shared_dialect = std::shared_ptr<const sql_dialect>;

std::unique_ptr<hold_store> make_hold_store(shared_dialect how);
std::unique_ptr<session_store> make_session_store(shared_dialect how);
std::unique_ptr<schema_store> make_schema_store(shared_dialect how);
std::unique_ptr<table_store> make_table_store();
std::unique_ptr<holder_store> make_holder_store(shared_dialect how);
std::unique_ptr<multi_lock_store> make_multi_lock_store(shared_dialect how);
std::unique_ptr<job_store> make_job_store(shared_dialect how);
std::unique_ptr<job_queue_store> make_job_queue_store(shared_dialect how);
std::unique_ptr<health_store> make_health_store(shared_dialect how);
std::unique_ptr<history_store> make_history_store(shared_dialect how);
// The statements that give {user} the rights of a program.
const std::string& grants_text(const sql_dialect& how);

// "(0, $5::bytea), (1, $6::bytea)": numbers, and the places of keys from `first` on.
std::string numbered_keys(std::size_t count, std::size_t first);

// Implements hold_store::find_row_lock() in row_lock.cpp.
std::optional<row_lock_info> find_row_lock(const sql_dialect& how, connection& on, const key& name);

}  // namespace leasehold::postgres_dialect
