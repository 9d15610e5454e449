#include "sql/store.hpp"

#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "admin/schema_store.hpp"
#include "claims/table_store.hpp"
#include "jobs/job_bell_store.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_store.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"
#include "runs/run_store.hpp"
#include "session/session_store.hpp"

namespace leasehold {

store::store() noexcept = default;
store::store(store&&) noexcept = default;
store& store::operator=(store&&) noexcept = default;
store::~store() = default;

}  // namespace leasehold
