// SQLite: the stores put together, and the first write after a reboot: boot.sql.
#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "admin/schema_store.hpp"
#include "claims/table_store.hpp"
#include "jobs/job_bell_store.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_store.hpp"
#include "jobs/sql_job_bell_store.hpp"
#include "jobs/sql_job_need_store.hpp"
#include "jobs/sql_job_schedule_store.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"
#include "runs/sql_run_store.hpp"
#include "session/session_store.hpp"
#include "sql/dialects.hpp"
#include "sql/sqlite/stores.hpp"

namespace leasehold {
namespace sqlite_dialect {
namespace {

std::int64_t wall_clock_microseconds() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace

boot_check::boot_check(const table_names& names)
    : texts_(engine::sqlite, "boot", names), boot_id_(boot_clock::boot_id()) {}

bool boot_check::is_ours(connection& on) {
    return on.execute(texts_["read"].text()).rows.at(0).text(0) == boot_id_;
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
    for (const std::string_view each :
         {"leave",
          "free_locks",
          "end_queues",
          "remove_holders",
          "end_sessions",
          "begin_upkeep",
          "enter"}) {
        const statement& what = texts_[each];
        const auto outside = [&](int which) {
            return which == statement::boot ? value{boot_id_}
                                            : value{boot_clock::now_microseconds()};
        };
        transaction.execute(what.text(), what.placed({}, outside));
    }
}

result dialect::run(
    connection& on, const statement& what, const parameters& values, std::int64_t now
) const {
    std::optional<std::int64_t> wall;  // one reading for all of a statement
    const auto outside = [&](int which) -> value {
        if (which == statement::boot) return boot_->boot_id();
        if (which != statement::wall) return now;
        if (!wall) wall = wall_clock_microseconds();
        return *wall;
    };
    if (what.what() != statement::form::single) {
        return on.execute_script(what.text(), what.placed(values, outside));
    }
    if (what.takes_as_given(values.size())) return on.execute(what.text(), values);
    return on.execute(what.text(), what.placed(values, outside));
}

result dialect::read(connection& on, const statement& what, const parameters& values) const {
    return run(on, what, values, boot_clock::now_microseconds());
}

// Rolls the transaction back if nothing has changed: a commit makes other processes look.
result dialect::write(connection& on, const statement& what, const parameters& values) const {
    boot_->enter(on);
    write_transaction writing{on};
    result done = run(on, what, values, writing.now());
    const bool is_one = what.what() == statement::form::single;
    if (!is_one || done.affected_rows > 0 || !done.rows.empty()) writing.commit();
    return done;
}

}  // namespace sqlite_dialect

store make_sqlite_store(const table_names& names) {
    using namespace sqlite_dialect;
    const auto how = std::make_shared<const dialect>(names);
    store made;
    made.holds = make_hold_store(how);
    made.sessions = make_session_store(how);
    made.schema = make_schema_store(how);
    made.runs = std::make_unique<sql_run_store>(how);
    made.waiters = make_waiter_store(how);
    made.holders = make_holder_store(how);
    made.multi_locks = make_multi_lock_store(how);
    made.jobs = make_job_store(how);
    made.job_queues = make_job_queue_store(how);
    made.job_schedules = std::make_unique<sql_job_schedule_store>(how);
    made.job_bells = std::make_unique<sql_job_bell_store>(how);
    made.job_needs = std::make_unique<sql_job_need_store>(how);
    made.health = make_health_store(how);
    made.history = make_history_store(how);
    made.tables = make_table_store();
    return made;
}

}  // namespace leasehold
