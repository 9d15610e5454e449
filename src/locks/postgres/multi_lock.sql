-- Several keys at once on PostgreSQL. The rules of hold.sql, and one more:
-- 4. A statement that may wait for several lock rows locks them in the order of their keys, by a
--    separate locking read that sorts before it locks. A statement that holds some of them waits
--    only for greater keys, so no two of these statements can wait for each other in a circle.
--
-- `add_keys` first makes free rows for keys never seen. It is a separate statement, since a
-- statement cannot undo its own inserts when another key turns out to be busy.

-- {keys}: a list of rows (number, key); {list}: the keys alone; {size}: how many. $1 owner,
-- $2 session, $3 node_info, $4 term in microseconds or null, the keys from $5 on.
--
-- me, dead, passed: as in `try_acquire` of hold.sql.
-- seen:   the snapshot: the known keys, their kinds, and their holders.
-- go:     one row if every key is known, is a mutex, and is free or has a holder that looks dead.
--         Without that row nothing below locks or writes. The proofs come later.
-- free:   locks the free ones in order. Waits only for somebody who is taking or reaping the same
--         free row at this moment, and then tests the newest version.
-- dead, passed: run only once `free` has all keys that looked free, so that nothing waits while it
--         holds a session row. They skip locked rows.
-- taken:  takes all keys or none: the rows are locked by now, so none can change any more. The
--         fence is counted on the version that is changed.
-- name: try_acquire_all
-- gives: token is_live kind looks_dead @hold
WITH asked (number, lock_key) AS MATERIALIZED (
    VALUES {keys}
), me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $2 AND expires_at > statement_timestamp()
), seen AS MATERIALIZED (
    SELECT asked.number, l.lock_key, l.fence, l.owner, l.session_id, l.node_info,
           l.reentrant_count, l.metadata, l.kind,
           {held_for} AS held_for, {remaining} AS remaining,
           l.owner IS NULL AS is_free,
           coalesce({closed_until coalesce(l.expires_at, s.expires_at)} <= clock_timestamp(),
                    false) AS looks_dead
      FROM asked
      LEFT JOIN {prefix}lock l ON l.lock_key = asked.lock_key
      LEFT JOIN {prefix}session s ON s.id = l.session_id
), go AS MATERIALIZED (
    SELECT 1 FROM me
     WHERE NOT EXISTS (SELECT FROM seen
                        WHERE lock_key IS NULL OR kind <> 1 OR NOT (is_free OR looks_dead))
), free AS MATERIALIZED (
    SELECT l.lock_key
      FROM {prefix}lock l
     WHERE l.lock_key IN ({list}) AND l.owner IS NULL AND l.kind = 1 AND EXISTS (SELECT FROM go)
     ORDER BY l.lock_key
       FOR NO KEY UPDATE OF l
), enough AS MATERIALIZED (
    SELECT 1 FROM go
     WHERE (SELECT count(*) FROM free) = (SELECT count(*) FROM seen WHERE is_free)
), dead AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key IN ({list})
       AND {closed_until s.expires_at} <= clock_timestamp()
       AND EXISTS (SELECT FROM enough)
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), passed AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key IN ({list})
       AND {closed_until l.expires_at} <= clock_timestamp()
       AND EXISTS (SELECT FROM enough)
       FOR NO KEY UPDATE OF l SKIP LOCKED
), taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = $1,
           session_id = CASE WHEN $4::bigint IS NULL THEN $2::bytea END,
           node_info = $3, reentrant_count = 1, changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond',
           lock_delay = 0, revocations = 0, metadata = NULL
     WHERE l.lock_key IN ({list}) AND l.kind = 1
       AND (SELECT count(*) FROM enough) = 1
       AND (SELECT count(*) FROM free) + (SELECT count(*) FROM dead)
               + (SELECT count(*) FROM passed) = {size}
    RETURNING l.lock_key, l.fence, {durable}
)
SELECT taken.fence, (SELECT count(*) FROM me), seen.kind, seen.looks_dead,
       seen.lock_key, seen.fence, coalesce(seen.remaining > 0, true), seen.owner, seen.session_id,
       seen.node_info, seen.reentrant_count, seen.held_for, seen.remaining,
       seen.metadata
  FROM seen LEFT JOIN taken ON taken.lock_key = seen.lock_key
 ORDER BY seen.number;

-- {keys}: the keys from $1 on. Adds free rows for keys never seen, in order, above the mark; see
-- `mark` and `made` of `try_acquire` in hold.sql. If another session makes the same row at this
-- moment, the statement waits for that commit and does not make the row.
-- name: add_keys
WITH asked (number, lock_key) AS MATERIALIZED (
    VALUES {keys}
), mark AS MATERIALIZED (
    SELECT m.fence FROM {prefix}fence_mark m WHERE m.id = 1 FOR SHARE
)
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at)
SELECT asked.lock_key, mark.fence + 1, NULL, NULL, '', 0, clock_timestamp(), NULL
  FROM asked CROSS JOIN mark
 WHERE NOT EXISTS (SELECT FROM {prefix}lock l WHERE l.lock_key = asked.lock_key)
 ORDER BY asked.lock_key
ON CONFLICT (lock_key) DO NOTHING;

-- {keys}: key and token from $2 on; $1 owner. The locks of `prove` in hold.sql.
-- name: prove_all
SELECT l.fence
  FROM {prefix}lock l
 WHERE l.owner = $1 AND (l.lock_key, l.fence) IN (VALUES {keys})
 ORDER BY l.lock_key
   FOR SHARE OF l;

-- The same list. Waits for proofs in the order of the keys; after any wait owner, fence and queue
-- are tested on the version that is changed. Asynchronous, as `release` of hold.sql.
-- name: release_all
-- gives: , key token is_freed
WITH ours AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.owner = $1 AND (l.lock_key, l.fence) IN (VALUES {keys})
     ORDER BY l.lock_key
       FOR NO KEY UPDATE OF l
), freed AS (
    UPDATE {prefix}lock AS l
       SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
           changed_at = clock_timestamp()
      FROM ours
     WHERE l.lock_key = ours.lock_key AND l.owner = $1 AND l.fence = ours.fence
       AND l.last_ticket = 0
    RETURNING l.lock_key, {asynchronous}
)
SELECT ours.lock_key, ours.fence, freed.lock_key IS NOT NULL
  FROM ours LEFT JOIN freed ON freed.lock_key = ours.lock_key;
