#include "store/store.hpp"

#include "store/health_store.hpp"
#include "store/history_store.hpp"
#include "store/hold_store.hpp"
#include "store/holder_store.hpp"
#include "store/job_bell_store.hpp"
#include "store/job_need_store.hpp"
#include "store/job_queue_store.hpp"
#include "store/job_schedule_store.hpp"
#include "store/job_store.hpp"
#include "store/multi_lock_store.hpp"
#include "store/run_store.hpp"
#include "store/schema_store.hpp"
#include "store/session_store.hpp"
#include "store/table_store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {

store::store() noexcept = default;
store::store(store&&) noexcept = default;
store& store::operator=(store&&) noexcept = default;
store::~store() = default;

}  // namespace leasehold
