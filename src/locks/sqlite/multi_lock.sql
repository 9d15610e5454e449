-- SQLite: several keys at once. One write transaction for all of them.

-- $1 owner, $2 session, $3 node_info, $4 term in microseconds or null, $5 key: in this, in `take`
-- and in `make`.
-- name: session_is_live
SELECT 1 FROM {prefix}session WHERE id = $2 AND expires_at > {now};

-- $1 key.
-- name: look
-- gives: , @hold kind is_closed
SELECT {hold}, l.kind, {closed} AND {of_this_boot} FROM {prefix}lock l WHERE l.lock_key = $1;

-- name: take
UPDATE {prefix}lock AS l
   SET fence = fence + 1, owner = $1, session_id = CASE WHEN $4 IS NULL THEN $2 END,
       node_info = $3, reentrant_count = 1, changed_at = {now},
       expires_at = {now} + $4, lock_delay = 0, revocations = 0, metadata = NULL
 WHERE l.lock_key = $5 AND l.kind = 1 AND NOT {closed}
RETURNING fence;

-- A key never seen starts above every fence that was ever removed.
-- name: make
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at)
SELECT $5, mark.fence + 1, $1, CASE WHEN $4 IS NULL THEN $2 END, $3, 1, {now}, {now} + $4
  FROM {prefix}fence_mark mark WHERE id = 1
ON CONFLICT (lock_key) DO NOTHING
RETURNING fence;

-- {keys}: key and token from $2 on; $1 owner. Each by primary key: IN a list of pairs reads the
-- whole table. Steps: 60 for each key.
-- name: prove_all
WITH asked (lock_key, fence) AS (VALUES {keys})
SELECT count(*) FROM asked
 WHERE (SELECT l.fence FROM {prefix}lock l WHERE l.lock_key = asked.lock_key AND l.owner = $1)
       = asked.fence;

-- $1 key, $2 owner, $3 token.
-- name: release
UPDATE {prefix}lock
   SET {free}
 WHERE lock_key = $1 AND owner = $2 AND fence = $3 AND last_ticket = 0;
