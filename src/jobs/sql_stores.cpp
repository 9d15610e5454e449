#include "jobs/sql_stores.hpp"

#include "jobs/job_need_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "jobs/sql_job_need_store.hpp"
#include "jobs/sql_job_schedule_store.hpp"
#include "jobs/sql_job_subscriber_store.hpp"
#include "sql/made_for.hpp"

namespace leasehold {

#include "statements_jobs.inc"

const sql_source jobs_sql{postgres_jobs, mysql_jobs, sqlite_jobs};

std::unique_ptr<job_store> job_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<job_store>(
        how,
        postgres_dialect::make_job_store,
        mysql_dialect::make_job_store,
        sqlite_dialect::make_job_store
    );
}

std::unique_ptr<job_subscriber_store> job_subscriber_store::make(
    const std::shared_ptr<const sql_dialect>& how
) {
    return std::make_unique<sql_job_subscriber_store>(how);
}

std::unique_ptr<job_need_store> job_need_store::make(const std::shared_ptr<const sql_dialect>& how
) {
    return std::make_unique<sql_job_need_store>(how);
}

std::unique_ptr<job_queue_store> job_queue_store::make(const std::shared_ptr<const sql_dialect>& how
) {
    return made_for<job_queue_store>(
        how,
        postgres_dialect::make_job_queue_store,
        mysql_dialect::make_job_queue_store,
        sqlite_dialect::make_job_queue_store
    );
}

std::unique_ptr<job_schedule_store> job_schedule_store::make(
    const std::shared_ptr<const sql_dialect>& how
) {
    return std::make_unique<sql_job_schedule_store>(how);
}

}  // namespace leasehold
