// SQLite: the stores put together, and what happens on the first write after a reboot.
#include "dialect/dialects.hpp"
#include "dialect/sqlite/stores.hpp"
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
namespace sqlite_dialect {
namespace {

constexpr std::string_view read_sql = "SELECT boot_id FROM {prefix}fence_mark WHERE id = 1";

// Times of another boot mean nothing on this clock, and nobody of that boot is alive.
constexpr std::string_view free_locks_sql = R"sql(
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1,
       last_ticket = 0
)sql";

constexpr std::string_view end_queues_sql = "DELETE FROM {prefix}waiter";
constexpr std::string_view remove_holders_sql = "DELETE FROM {prefix}holder";

constexpr std::string_view end_sessions_sql = "DELETE FROM {prefix}session";

constexpr std::string_view begin_upkeep_sql =
    "UPDATE {prefix}upkeep SET turned_at = 0, place = x'', sweeps_to = 0, swept_to = 0";

constexpr std::string_view enter_sql = "UPDATE {prefix}fence_mark SET boot_id = ?1 WHERE id = 1";

}  // namespace

boot_check::boot_check(const table_names& names)
    : read_(fill_in(read_sql, names)),
      free_locks_(fill_in(free_locks_sql, names)),
      end_queues_(fill_in(end_queues_sql, names)),
      remove_holders_(fill_in(remove_holders_sql, names)),
      end_sessions_(fill_in(end_sessions_sql, names)),
      begin_upkeep_(fill_in(begin_upkeep_sql, names)),
      enter_(fill_in(enter_sql, names)),
      boot_id_(boot_clock::boot_id()) {}

bool boot_check::is_ours(connection& on) {
    return on.execute(read_).rows.at(0).text(0) == boot_id_;
}

void boot_check::enter(connection& on) {
    if (has_entered_) return;
    if (!is_ours(on)) {
        write_transaction writing{on};
        enter_inside(on);
        writing.commit();
    }
    note_entered();
}

void boot_check::enter_inside(connection& transaction) {
    if (is_ours(transaction)) return;  // or somebody was faster
    transaction.execute(free_locks_, {boot_clock::now_microseconds()});
    transaction.execute(end_queues_);
    transaction.execute(remove_holders_);
    transaction.execute(end_sessions_);
    transaction.execute(begin_upkeep_);
    transaction.execute(enter_, {boot_id_});
}

}  // namespace sqlite_dialect

store make_sqlite_store(const table_names& names) {
    using namespace sqlite_dialect;
    const auto boot = std::make_shared<boot_check>(names);
    store made;
    made.locks = make_lock_store(names, boot);
    made.sessions = make_session_store(names, boot);
    made.upkeep = make_upkeep_store(names, boot);
    made.schema = make_schema_store(names);
    made.custody = make_custody_store(names, boot);
    made.runs = make_run_store(names, boot);
    made.waiters = make_waiter_store(names, boot);
    made.holders = make_holder_store(names, boot);
    made.pending = make_pending_store(names);
    made.multi_locks = make_multi_lock_store(names, boot);
    made.fences = make_fence_store(names);
    made.claims = make_claim_store();
    return made;
}

}  // namespace leasehold
