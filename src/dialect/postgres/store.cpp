#include "dialect/dialects.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold {

store make_postgres_store(const table_names& names) {
    require_valid(names);
    store made;
    made.locks = postgres_dialect::make_lock_store(names);
    made.sessions = postgres_dialect::make_session_store(names);
    made.upkeep = postgres_dialect::make_upkeep_store(names);
    made.schema = postgres_dialect::make_schema_store(names);
    made.custody = postgres_dialect::make_custody_store(names);
    made.runs = postgres_dialect::make_run_store(names);
    made.claims = postgres_dialect::make_claim_store();
    return made;
}

}  // namespace leasehold
