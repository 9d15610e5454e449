#include "runs/sql_stores.hpp"

#include "runs/sql_run_store.hpp"

namespace leasehold {

#include "statements_runs.inc"

const sql_source runs_sql{postgres_runs, mysql_runs, sqlite_runs};

std::unique_ptr<run_store> run_store::make(const std::shared_ptr<const sql_dialect>& how) {
    const bool is_mysql = how->which() == engine::mysql || how->which() == engine::mariadb;
    if (is_mysql) return mysql_dialect::make_run_store(how);
    return std::make_unique<sql_run_store>(how);
}

}  // namespace leasehold
