#include "dialect/dialects.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/claim_store.hpp"
#include "store/custody_store.hpp"
#include "store/fence_store.hpp"
#include "store/holder_store.hpp"
#include "store/lock_store.hpp"
#include "store/multi_lock_store.hpp"
#include "store/pending_store.hpp"
#include "store/run_store.hpp"
#include "store/schema_store.hpp"
#include "store/session_store.hpp"
#include "store/upkeep_store.hpp"
#include "store/waiter_store.hpp"

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
    made.pending = postgres_dialect::make_pending_store(names);
    made.claims = postgres_dialect::make_claim_store();
    made.waiters = postgres_dialect::make_waiter_store(names);
    made.holders = postgres_dialect::make_holder_store(names);
    made.multi_locks = postgres_dialect::make_multi_lock_store(names);
    made.fences = postgres_dialect::make_fence_store(names);
    return made;
}

}  // namespace leasehold
