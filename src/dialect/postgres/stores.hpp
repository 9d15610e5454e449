#pragma once
// Private to the PostgreSQL dialect: the makers of its own stores.
#include <memory>

#include "dialect/sql_store.hpp"
#include "store/store.hpp"

namespace leasehold::postgres_dialect {

using shared_dialect = std::shared_ptr<const sql_dialect>;

std::unique_ptr<lock_store> make_lock_store(shared_dialect how);
std::unique_ptr<session_store> make_session_store(shared_dialect how);
std::unique_ptr<upkeep_store> make_upkeep_store(shared_dialect how);
std::unique_ptr<schema_store> make_schema_store(shared_dialect how);
std::unique_ptr<pending_store> make_pending_store(shared_dialect how);
std::unique_ptr<claim_store> make_claim_store();
std::unique_ptr<holder_store> make_holder_store(shared_dialect how);
std::unique_ptr<multi_lock_store> make_multi_lock_store(shared_dialect how);

}  // namespace leasehold::postgres_dialect
