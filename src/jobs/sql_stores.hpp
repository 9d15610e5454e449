#pragma once
// Private to the dialects: the statements of jobs, and the stores that an engine has for itself.
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>

#include "columns_jobs.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_store.hpp"
#include "sql/statements.hpp"

namespace leasehold {

extern const sql_source jobs_sql;

// The time the row of a job is kept, in microseconds; -1: not at all.
std::int64_t kept_for(std::chrono::microseconds retention);
// The ids of a list of numbers with commas between.
std::set<job_id> ids_in(std::string_view list);
// The settings of a job that are null in its row if they are the usual ones: attempts, rescues, the
// least and greatest delay of a retry, time limit, until when it is unique.
parameters values_unless_usual(const new_job& what);

namespace postgres_dialect {

std::unique_ptr<job_store> make_job_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<job_queue_store> make_job_queue_store(std::shared_ptr<const sql_dialect> how);

}  // namespace postgres_dialect
namespace mysql_dialect {

std::unique_ptr<job_store> make_job_store(std::shared_ptr<const sql_dialect> how);
std::unique_ptr<job_queue_store> make_job_queue_store(std::shared_ptr<const sql_dialect> how);

}  // namespace mysql_dialect
namespace sqlite_dialect {

class dialect;

std::unique_ptr<job_store> make_job_store(std::shared_ptr<const dialect> how);
std::unique_ptr<job_queue_store> make_job_queue_store(std::shared_ptr<const dialect> how);

}  // namespace sqlite_dialect

}  // namespace leasehold
