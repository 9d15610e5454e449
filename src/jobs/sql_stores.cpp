#include "jobs/sql_stores.hpp"

#include <algorithm>
#include <charconv>

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

std::int64_t kept_for(std::chrono::microseconds retention) {
    return retention > retention.zero() ? retention.count() : -1;
}

std::set<job_id> ids_in(std::string_view list) {
    std::set<job_id> ids;
    job_id each = 0;
    for (std::size_t at = 0; at < list.size();) {
        const auto [end, failure] =
            std::from_chars(list.data() + at, list.data() + list.size(), each);
        if (failure == std::errc{}) ids.insert(each);
        at = std::max(at + 1, static_cast<std::size_t>(end - list.data()));
    }
    return ids;
}

parameters values_unless_usual(const new_job& what) {
    const new_job usual;
    const auto unless = [](std::int64_t given, std::int64_t otherwise) {
        return given == otherwise ? value{} : value{given};
    };
    const auto micros = [](std::chrono::microseconds length) { return length.count(); };
    const bool is_until_started = what.unique == unique_until::started;
    return {
        unless(what.retry.max_attempts, usual.retry.max_attempts),
        unless(what.max_rescues, usual.max_rescues),
        unless(micros(what.retry.delay), micros(usual.retry.delay)),
        unless(micros(what.retry.max_delay), micros(usual.retry.max_delay)),
        what.attempt_timeout ? value{micros(*what.attempt_timeout)} : value{},
        is_until_started ? value{static_cast<int>(what.unique)} : value{}};
}

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
