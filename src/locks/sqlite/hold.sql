-- SQLite: holds.

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term in microseconds or null, $6 delay, $7
-- metadata or null: in this statement, in `take` and in `make`.
-- name: session_is_live
SELECT 1 FROM {prefix}session WHERE id = $3 AND expires_at > {now};

-- name: take
UPDATE {prefix}lock AS l
   SET fence = fence + 1, owner = $2, session_id = CASE WHEN $5 IS NULL THEN $3 END,
       node_info = $4, reentrant_count = 1, changed_at = {now},
       expires_at = {now} + $5, lock_delay = $6, metadata = $7, revocations = 0
 WHERE l.lock_key = $1 AND l.kind = 1 AND NOT {closed}
RETURNING fence;

-- A key never seen starts above every fence that was ever removed. The write lock excludes the
-- reaper, which raises the mark.
-- name: make
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at, lock_delay, metadata)
SELECT $1, mark.fence + 1, $2, CASE WHEN $5 IS NULL THEN $3 END, $4, 1, {now}, {now} + $5, $6, $7
  FROM {prefix}fence_mark mark WHERE id = 1
ON CONFLICT (lock_key) DO NOTHING
RETURNING fence;

-- $1 key, $2 owner.
-- name: find_grant
SELECT fence FROM {prefix}lock WHERE lock_key = $1 AND owner = $2;

-- $1 key, $2 owner, $3 token: in these three and in `prove`.
-- name: reenter
UPDATE {prefix}lock AS l SET reentrant_count = reentrant_count + 1
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND {live_hold}
RETURNING reentrant_count;

-- Every right-hand side sees the row as it was.
-- name: release
UPDATE {prefix}lock
   SET owner = CASE WHEN reentrant_count > 1 THEN owner END,
       session_id = CASE WHEN reentrant_count > 1 THEN session_id END,
       expires_at = CASE WHEN reentrant_count > 1 THEN expires_at END,
       changed_at = CASE WHEN reentrant_count > 1 THEN changed_at ELSE {now} END,
       reentrant_count = reentrant_count - 1
 WHERE lock_key = $1 AND owner = $2 AND fence = $3 AND (last_ticket = 0 OR reentrant_count > 1)
RETURNING reentrant_count;

-- name: release_owner
UPDATE {prefix}lock SET {free} WHERE lock_key = $1 AND owner = $2;

-- Inside the caller's transaction. If the transaction has written already, it has the write lock,
-- and nobody can take over. If it writes later, SQLite refuses that write if anything was committed
-- after this read (SQLITE_BUSY_SNAPSHOT; in rollback-journal mode the shared lock blocks the other
-- commit).
-- name: prove
SELECT 1 FROM {prefix}lock WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- A list of holds: key, owner, token. It is no join: SQLite may read the whole other table for a
-- Bloom filter before a join. The limit keeps SQLite from running the subquery twice.
-- name: standings
-- gives: number is_asked
WITH asked (number, lock_key, owner, fence) AS ({asked})
SELECT * FROM (
    SELECT asked.number, (
               SELECT l.revocations > 0 FROM {prefix}lock l
                WHERE l.lock_key = asked.lock_key AND l.owner = asked.owner
                  AND l.fence = asked.fence AND {live_hold}) AS is_asked
      FROM asked LIMIT -1) WHERE is_asked IS NOT NULL;

-- $1 key, $2 whether to count the waiters. The last columns: the kind of the row, and whether it
-- keeps others out.
-- name: describe
-- gives: @hold waiters, kind is_closed
SELECT {hold}, CASE WHEN $2 = 0 THEN 0 ELSE {waiters} END, l.kind, {closed}
  FROM {prefix}lock l WHERE l.lock_key = $1;

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit: a
-- range of the primary key. It has one bound at each end: of two bounds SQLite would use only one.
-- name: list
-- gives: @hold waiters
SELECT * FROM (
    SELECT {hold}, {waiters} FROM {prefix}lock l
     WHERE l.lock_key >= $1 AND l.lock_key < $2 ORDER BY l.lock_key) WHERE is_held LIMIT $3;

-- $1 key: in these four, $2 kind.
-- name: force
UPDATE {prefix}lock SET fence = fence + 1, {free} WHERE lock_key = $1;

-- name: kind
SELECT kind FROM {prefix}lock WHERE lock_key = $1;

-- The condition on holders is for the kinds whose holds do not show in the owner and the mark of
-- the lock row.
-- name: change_kind
UPDATE {prefix}lock SET kind = $2
 WHERE lock_key = $1 AND owner IS NULL AND last_ticket = 0
   AND arrived = 0 AND NOT EXISTS (
       SELECT 1 FROM {prefix}holder WHERE lock_key = $1 AND (mode <> 0 OR fence > 0));

-- $1 session.
-- name: notify_session
UPDATE {prefix}session SET notices = notices + 1 WHERE id = $1;

-- $1 key, $2 owner, $3 token, $4 metadata or null.
-- name: set_metadata
UPDATE {prefix}lock SET metadata = $4 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING 1;

-- $1 key.
-- name: ask
UPDATE {prefix}lock SET revocations = revocations + 1 WHERE lock_key = $1;

-- $1 key, $2 owner, $3 token, $4 term in microseconds.
-- name: give_term
UPDATE {prefix}lock AS l SET session_id = NULL, expires_at = {now} + $4
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
   AND l.session_id IS NOT NULL AND {live_hold}
RETURNING 1;

-- As `give_term` for a hold with a fixed term.
-- name: extend_term
UPDATE {prefix}lock AS l SET expires_at = {now} + $4
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
   AND l.session_id IS NULL AND {live_hold}
RETURNING 1;

-- $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info: in both. A session without a
-- row does not count as alive here.
-- name: heir_is_live
SELECT 1 FROM {prefix}session WHERE id = $5 AND expires_at > {now};

-- name: adopt
UPDATE {prefix}lock AS l SET session_id = $5, expires_at = NULL, node_info = $6
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
   AND (l.session_id = $5
        OR (l.session_id = $4
            AND EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = $4 AND s.expires_at > {now}))
        OR ($4 IS NULL AND l.expires_at > {now}));

-- Sent in the caller's transaction. A write that changes no row takes the write lock before
-- anything is read, and so every later read is of the newest version.
-- name: enter
DELETE FROM {prefix}lock WHERE 0;

-- $1 key, $2 owner, $3 token, $4 the other owner; in the caller's transaction. Reads: 1 row, by
-- primary key.
-- name: move
UPDATE {prefix}lock SET owner = $4 WHERE lock_key = $1 AND owner = $2 AND fence = $3;
