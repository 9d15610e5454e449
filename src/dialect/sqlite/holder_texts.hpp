#pragma once
// SQLite: keys that several can hold. One writer at a time: what is read inside a write transaction
// is true until it commits, so the gate is locked with everything else. ?1 is the clock, read after
// the write lock was taken.
#include <string_view>

namespace leasehold::sqlite_dialect::holder_texts {

// Not proved dead: a session row that is missing counts as alive.
#define LIVE                                                                                     \
    "NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = h.session_id AND s.expires_at <= " \
    "?1)"

// The statuses of holder_status, tested in the order of holder_store.hpp. ?2 key, ?3 owner,
// ?4 session, ?5 kind, ?6 permits, ?7 capacity, ?8 gives way to, ?9 token of the hold in place or
// null. Indexes: the primary keys.
inline constexpr std::string_view verdict_sql = R"sql(
WITH others AS (
    SELECT h.mode, h.permits, h.fence FROM {prefix}holder h
     WHERE h.lock_key = ?2 AND h.owner <> ?3 AND )sql" LIVE R"sql(
), gate AS (
    SELECT l.kind, l.capacity, l.arrived,
           l.owner IS NOT NULL OR l.arrived > 0 OR (l.kind <> ?5 AND l.last_ticket <> 0)
               OR EXISTS (SELECT 1 FROM others WHERE fence > 0) AS is_in_use
      FROM {prefix}lock l WHERE l.lock_key = ?2
)
SELECT CASE
           WHEN NOT EXISTS (SELECT 1 FROM {prefix}session WHERE id = ?4 AND expires_at > ?1) THEN 3
           WHEN gate.is_in_use AND gate.kind <> ?5 THEN 4
           WHEN gate.is_in_use AND gate.capacity <> ?7 THEN 5
           WHEN ?9 IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM {prefix}holder
                WHERE lock_key = ?2 AND owner = ?3 AND fence = ?9) THEN 6
           WHEN (SELECT coalesce(sum(permits), 0) FROM others) + coalesce(gate.arrived, 0) + ?6 > ?7
               OR EXISTS (SELECT 1 FROM others WHERE mode & ?8 <> 0) THEN 2
           ELSE 1
       END, gate.kind, gate.capacity
  FROM (SELECT 1) LEFT JOIN gate)sql";

#define HOLDER_COLUMNS                                                                            \
    "h.lock_key, h.fence, h.owner, h.session_id, h.node_info, ?1 - h.granted_at, "                \
    "coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = h.session_id), ?1) - ?1, " \
    "coalesce((SELECT l.kind FROM {prefix}lock l WHERE l.lock_key = h.lock_key), 1), "            \
    "h.mode, h.permits"

// ?2 this boot: rows of another boot are of nobody.
#define OF_THIS_BOOT "(SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?2"

// ?4: an owner whose own row does not count, or null. No equality holds with null.
inline constexpr std::string_view holders_sql =
    "SELECT " HOLDER_COLUMNS
    " FROM {prefix}holder h WHERE h.lock_key = ?3 AND h.fence > 0 "
    "AND (?4 IS NULL OR h.owner <> ?4) AND " LIVE " AND " OF_THIS_BOOT " ORDER BY h.fence, h.owner";

// ?3 and ?4 what all that may be listed are greater than, ?5 the first key after all that have the
// prefix: see list_sql of lock_store.cpp.
inline constexpr std::string_view list_sql =
    "SELECT " HOLDER_COLUMNS
    " FROM {prefix}holder h WHERE (h.lock_key, h.owner) > (?3, ?4) "
    "AND h.lock_key < ?5 AND h.fence > 0 "
    "AND " LIVE " AND " OF_THIS_BOOT " ORDER BY h.lock_key, h.owner LIMIT ?6";

inline constexpr std::string_view bury_sql =
    "DELETE FROM {prefix}holder AS h WHERE h.lock_key = ?2 AND NOT " LIVE;

inline constexpr std::string_view take_sql = R"sql(
UPDATE {prefix}lock
   SET fence = fence + 1, kind = ?3, capacity = ?4, node_info = ?5, changed_at = ?1
 WHERE lock_key = ?2
RETURNING fence)sql";

// A key never seen starts above every fence that was ever removed.
inline constexpr std::string_view make_sql = R"sql(
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at, kind, capacity)
SELECT ?2, mark.fence + 1, ?5, 0, ?1, ?3, ?4 FROM {prefix}fence_mark mark WHERE id = 1
RETURNING fence)sql";

inline constexpr std::string_view grant_sql = R"sql(
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?1)
ON CONFLICT (lock_key, owner)
DO UPDATE SET mode = ?5, permits = ?6, fence = ?7, granted_at = ?1)sql";

inline constexpr std::string_view look_sql =
    "SELECT mode, fence FROM {prefix}holder WHERE lock_key = ?1 AND owner = ?2";

inline constexpr std::string_view release_sql =
    "DELETE FROM {prefix}holder WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

inline constexpr std::string_view release_owner_sql =
    "DELETE FROM {prefix}holder WHERE lock_key = ?1 AND owner = ?2";

// Why a plain read proves it: prove_sql of lock_store.cpp.
inline constexpr std::string_view prove_sql =
    "SELECT 1 FROM {prefix}holder WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

inline constexpr std::string_view is_held_sql =
    "SELECT 1 FROM {prefix}holder h WHERE h.lock_key = ?2 AND h.owner = ?3 AND h.fence = ?4 "
    "AND " LIVE;

inline constexpr std::string_view announce_sql = R"sql(
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT ?2, ?3, ?4, 8, 0, 0, ?5, ?1 FROM {prefix}session WHERE id = ?4 AND expires_at > ?1
ON CONFLICT (lock_key, owner) DO UPDATE SET mode = mode | 8)sql";

inline constexpr std::string_view withdraw_wish_sql =
    "DELETE FROM {prefix}holder WHERE lock_key = ?1 AND owner = ?2 AND fence = 0";
inline constexpr std::string_view withdraw_bit_sql =
    "UPDATE {prefix}holder SET mode = mode & ~8 WHERE lock_key = ?1 AND owner = ?2";

inline constexpr std::string_view reduce_sql =
    "UPDATE {prefix}holder SET mode = ?4, permits = ?5 "
    "WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

inline constexpr std::string_view arrive_sql =
    "UPDATE {prefix}lock SET arrived = arrived + 1, changed_at = ?1 WHERE lock_key = ?2 "
    "RETURNING arrived";

inline constexpr std::string_view tally_sql =
    "SELECT l.kind, l.capacity, l.arrived, (l.owner IS NOT NULL) + "
    "(SELECT count(*) FROM {prefix}holder h "
    "WHERE h.lock_key = l.lock_key AND h.fence > 0 AND " LIVE " AND " OF_THIS_BOOT
    ") "
    "FROM {prefix}lock l WHERE l.lock_key = ?3";

#define IS_COMPLETE                                                                               \
    "lock_key = ?2 AND capacity > 0 AND capacity = (SELECT sum(h.permits) FROM {prefix}holder h " \
    "WHERE h.lock_key = ?2 AND " LIVE ")"

inline constexpr std::string_view is_complete_sql = "SELECT 1 FROM {prefix}lock WHERE " IS_COMPLETE;
inline constexpr std::string_view next_phase_sql =
    "UPDATE {prefix}lock SET fence = fence + 1, changed_at = ?1 WHERE " IS_COMPLETE
    " RETURNING fence";
inline constexpr std::string_view pass_sql =
    "UPDATE {prefix}holder AS h SET mode = 16, permits = 0, fence = ?3 "
    "WHERE h.lock_key = ?2 AND h.permits > 0 AND " LIVE;

inline constexpr std::string_view is_used_sql = R"sql(
SELECT 1 FROM {prefix}lock l
 WHERE l.lock_key = ?1 AND l.owner IS NULL
   AND (l.arrived > 0 OR EXISTS (SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key))
)sql";
inline constexpr std::string_view force_gate_sql =
    "UPDATE {prefix}lock SET fence = fence + 1, arrived = 0, changed_at = ?1 WHERE lock_key = ?2";
inline constexpr std::string_view notify_sessions_sql =
    "UPDATE {prefix}session SET notices = notices + 1 "
    "WHERE id IN (SELECT session_id FROM {prefix}holder WHERE lock_key = ?1)";
inline constexpr std::string_view remove_all_sql = "DELETE FROM {prefix}holder WHERE lock_key = ?1";

}  // namespace leasehold::sqlite_dialect::holder_texts
