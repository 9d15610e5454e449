// SQLite: cleaning up. ?1 is always the clock, read after the write lock was taken. A look without
// the write lock comes first: a clean-up that finds nothing must not make writers wait.
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// Held by a session proved dead, past its fixed term, or held by a session whose row is gone: it
// was there when the hold was granted, so somebody has removed it since.
#define DEAD_HOLD                                                                               \
    "(l.owner IS NOT NULL AND (l.expires_at + l.lock_delay <= ?1 OR (l.session_id IS NOT NULL " \
    "AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id "                \
    "AND s.expires_at + l.lock_delay > ?1))))"

// A scan of the lock table: an index on session_id would be rewritten by every grant and release.
constexpr std::string_view find_dead_holds_sql =
    "SELECT 1 FROM {prefix}lock l WHERE " DEAD_HOLD " LIMIT 1";

constexpr std::string_view free_dead_holds_sql = R"sql(
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1
 WHERE lock_key IN (SELECT l.lock_key FROM {prefix}lock l WHERE )sql" DEAD_HOLD " LIMIT ?2)";

#define LONG_DEAD_SESSION                                                        \
    "FROM {prefix}session WHERE expires_at <= ?1 AND NOT EXISTS (SELECT 1 FROM " \
    "{prefix}lock l WHERE l.session_id = {prefix}session.id) AND NOT EXISTS ("   \
    "SELECT 1 FROM {prefix}holder h WHERE h.session_id = {prefix}session.id) LIMIT ?2"

constexpr std::string_view find_sessions_sql = "SELECT id " LONG_DEAD_SESSION;
constexpr std::string_view remove_sessions_sql =
    "DELETE FROM {prefix}session WHERE id IN (SELECT id " LONG_DEAD_SESSION ")";

// What is left of them in queues.
constexpr std::string_view remove_waiters_sql =
    "DELETE FROM {prefix}waiter WHERE session_id IN (SELECT id " LONG_DEAD_SESSION ")";

#define IDLE_LOCK                                                         \
    "SELECT l.lock_key FROM {prefix}lock l "                              \
    "WHERE l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= ?1 " \
    "AND NOT EXISTS (SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key) LIMIT ?2"

constexpr std::string_view find_idle_locks_sql = IDLE_LOCK;

constexpr std::string_view remove_idle_locks_sql =
    "DELETE FROM {prefix}lock WHERE lock_key IN (" IDLE_LOCK ") RETURNING fence";

constexpr std::string_view raise_mark_sql =
    "UPDATE {prefix}fence_mark SET fence = max(fence, ?1) WHERE id = 1";

class sqlite_upkeep_store final : public upkeep_store {
public:
    sqlite_upkeep_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          find_dead_holds_(fill_in(find_dead_holds_sql, names)),
          free_dead_holds_(fill_in(free_dead_holds_sql, names)),
          find_sessions_(fill_in(find_sessions_sql, names)),
          remove_sessions_(fill_in(remove_sessions_sql, names)),
          remove_waiters_(fill_in(remove_waiters_sql, names)),
          find_idle_locks_(fill_in(find_idle_locks_sql, names)),
          remove_idle_locks_(fill_in(remove_idle_locks_sql, names)),
          raise_mark_(fill_in(raise_mark_sql, names)) {}

    std::int64_t free_locks_of_the_dead(connection& on, int limit) override {
        boot_->enter(on);
        if (on.execute(find_dead_holds_, {boot_clock::now_microseconds()}).rows.empty()) return 0;
        write_transaction writing{on};
        const auto freed =
            on.execute(free_dead_holds_, {boot_clock::now_microseconds(), limit}).affected_rows;
        writing.commit();
        return freed;
    }

    std::int64_t remove_sessions(connection& on, microseconds retention, int limit) override {
        boot_->enter(on);
        const parameters which{boot_clock::now_microseconds() - retention.count(), limit};
        if (on.execute(find_sessions_, which).rows.empty()) return 0;
        write_transaction writing{on};
        on.execute(remove_waiters_, which);
        const auto removed = on.execute(remove_sessions_, which).affected_rows;
        writing.commit();
        return removed;
    }

    std::int64_t remove_idle_locks(connection& on, microseconds retention, int limit) override {
        boot_->enter(on);
        const parameters which{boot_clock::now_microseconds() - retention.count(), limit};
        if (on.execute(find_idle_locks_, which).rows.empty()) return 0;
        write_transaction writing{on};
        const auto removed = on.execute(remove_idle_locks_, which);
        std::int64_t highest = 0;
        for (const row& each : removed.rows) highest = std::max(highest, each.integer(0));
        on.execute(raise_mark_, {highest});
        writing.commit();
        return static_cast<std::int64_t>(removed.rows.size());
    }

private:
    const std::shared_ptr<boot_check> boot_;
    const std::string find_dead_holds_;
    const std::string free_dead_holds_;
    const std::string find_sessions_;
    const std::string remove_sessions_;
    const std::string remove_waiters_;
    const std::string find_idle_locks_;
    const std::string remove_idle_locks_;
    const std::string raise_mark_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_upkeep_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
