#include "session/sql_stores.hpp"

#include "sql/made_for.hpp"

namespace leasehold {

#include "statements_session.inc"

const sql_source session_sql{postgres_session, mysql_session, sqlite_session};

std::unique_ptr<session_store> session_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<session_store>(
        how,
        postgres_dialect::make_session_store,
        mysql_dialect::make_session_store,
        sqlite_dialect::make_session_store
    );
}

std::unique_ptr<upkeep_store> upkeep_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<upkeep_store>(
        how,
        postgres_dialect::make_upkeep_store,
        mysql_dialect::make_upkeep_store,
        sqlite_dialect::make_upkeep_store
    );
}

}  // namespace leasehold
