// Cleaning up on PostgreSQL. The rules these statements follow: lock_store.cpp.
//
// Candidates come from materialised queries: a LIMIT with SKIP LOCKED in a plain subquery can be
// evaluated more than once and then change more rows than it says.
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 limit, of all three kinds together.
//
// dead, passed: the proofs of try_acquire_sql; what somebody has locked is skipped.
// orphaned:     one snapshot that has the hold and not its session is proof for that very hold.
// abandoned:    locks it only if it still is that hold. Re-evaluated on a newer hold, "no session"
//               would be read in the old snapshot and take a younger session for a gone one.
// The UPDATE waits for nobody: all its rows are locked. Asynchronous: losing it loses nothing.
// Indexes: none can serve this without making every heartbeat and grant dearer; the table is read.
constexpr std::string_view free_locks_of_the_dead_sql = R"sql(
WITH dead AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE s.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
     LIMIT $1::bigint
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), passed AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
     LIMIT $1::bigint - (SELECT count(*) FROM dead)
       FOR NO KEY UPDATE OF l SKIP LOCKED
), orphaned AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner
      FROM {prefix}lock l
     WHERE l.session_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM {prefix}session s WHERE s.id = l.session_id)
     LIMIT $1::bigint - (SELECT count(*) FROM dead) - (SELECT count(*) FROM passed)
), abandoned AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM orphaned o
      JOIN {prefix}lock l ON l.lock_key = o.lock_key AND l.fence = o.fence AND l.owner = o.owner
       FOR NO KEY UPDATE OF l SKIP LOCKED
), found AS MATERIALIZED (
    SELECT lock_key, fence FROM dead
    UNION ALL SELECT lock_key, fence FROM passed
    UNION ALL SELECT lock_key, fence FROM abandoned
)
UPDATE {prefix}lock AS l
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0,
       changed_at = clock_timestamp()
  FROM found
 WHERE l.lock_key = found.lock_key AND l.fence = found.fence AND l.owner IS NOT NULL
RETURNING l.fence, set_config('synchronous_commit', 'off', true))sql";

// $1 retention, $2 limit. No grant can be under way for a session that expired so long ago: a grant
// needs one that is live when its statement comes in.
constexpr std::string_view remove_sessions_sql = R"sql(
WITH old AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}session s
     WHERE s.expires_at <= clock_timestamp() - $1::bigint * interval '1 microsecond'
       AND NOT EXISTS (SELECT FROM {prefix}lock l WHERE l.session_id = s.id)
       AND NOT EXISTS (SELECT FROM {prefix}holder h WHERE h.session_id = s.id)
     LIMIT $2::bigint
       FOR UPDATE OF s SKIP LOCKED
), left_queue AS (
    DELETE FROM {prefix}waiter AS w USING old WHERE w.session_id = old.id
)
DELETE FROM {prefix}session AS s
 USING old
 WHERE s.id = old.id
   AND s.expires_at <= clock_timestamp() - $1::bigint * interval '1 microsecond'
   AND NOT EXISTS (SELECT FROM {prefix}lock l WHERE l.session_id = s.id)
   AND NOT EXISTS (SELECT FROM {prefix}holder h WHERE h.session_id = s.id))sql";

// $1 retention, $2 limit.
//
// mark:   locked only where there is something to remove. Waits for inserts of new keys that are
//         under way, and for another reaper, holding nothing meanwhile.
// idle:   joins the mark, so no row of it exists, let alone is deleted, before the mark is locked.
// raised: the newest version of the mark, which is ours; by what is locked, which is all that is
//         deleted or more.
// A gate with holders stays: a snapshot that lacks one of them is older than its grant, which has
// made the gate too young.
constexpr std::string_view remove_idle_locks_sql = R"sql(
WITH mark AS MATERIALIZED (
    SELECT m.id
      FROM {prefix}fence_mark m
     WHERE m.id = 1
       AND EXISTS (SELECT FROM {prefix}lock l
                    WHERE l.owner IS NULL AND l.last_ticket = 0
                      AND l.changed_at
                          <= clock_timestamp() - $1::bigint * interval '1 microsecond'
                      AND NOT EXISTS (SELECT FROM {prefix}holder h
                                       WHERE h.lock_key = l.lock_key))
       FOR NO KEY UPDATE OF m
), idle AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM mark CROSS JOIN {prefix}lock l
     WHERE l.owner IS NULL AND l.last_ticket = 0
       AND l.changed_at <= clock_timestamp() - $1::bigint * interval '1 microsecond'
       AND NOT EXISTS (SELECT FROM {prefix}holder h WHERE h.lock_key = l.lock_key)
     LIMIT $2::bigint
       FOR UPDATE OF l SKIP LOCKED
), raised AS (
    UPDATE {prefix}fence_mark AS m
       SET fence = greatest(m.fence, (SELECT max(fence) FROM idle))
     WHERE m.id = 1 AND EXISTS (SELECT FROM idle)
)
DELETE FROM {prefix}lock AS l
 USING idle
 WHERE l.lock_key = idle.lock_key AND l.owner IS NULL AND l.last_ticket = 0
   AND l.changed_at <= clock_timestamp() - $1::bigint * interval '1 microsecond')sql";

class postgres_upkeep_store final : public upkeep_store {
public:
    explicit postgres_upkeep_store(const table_names& names)
        : free_locks_of_the_dead_(fill_in(free_locks_of_the_dead_sql, names)),
          remove_sessions_(fill_in(remove_sessions_sql, names)),
          remove_idle_locks_(fill_in(remove_idle_locks_sql, names)) {}

    std::int64_t free_locks_of_the_dead(connection& on, int limit) override {
        return on.execute(free_locks_of_the_dead_, {value{std::max(limit, 0)}}).affected_rows;
    }

    std::int64_t remove_sessions(connection& on, std::chrono::microseconds retention, int limit)
        override {
        const parameters values{microseconds_of(retention), value{std::max(limit, 0)}};
        return on.execute(remove_sessions_, values).affected_rows;
    }

    std::int64_t remove_idle_locks(connection& on, std::chrono::microseconds retention, int limit)
        override {
        const parameters values{microseconds_of(retention), value{std::max(limit, 0)}};
        return on.execute(remove_idle_locks_, values).affected_rows;
    }

private:
    const std::string free_locks_of_the_dead_;
    const std::string remove_sessions_;
    const std::string remove_idle_locks_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names) {
    return std::make_unique<postgres_upkeep_store>(names);
}

}  // namespace leasehold::postgres_dialect
