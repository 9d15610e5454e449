-- Words on a hold, requests to let go, and moving it, on PostgreSQL. The rules of lock.sql.

-- $1 key, $2 owner, $3 token, $4 words or null. Waits for proofs of this hold; owner and fence are
-- tested on the version that is changed. Losing it in a crash loses words only.
-- name: set_words
UPDATE {prefix}lock SET metadata = $4::text
 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING 1;

-- $1 key. One snapshot, by the clock. A missing session row counts as alive.
-- name: look
SELECT l.lock_key, l.fence, true, l.owner, l.session_id, l.node_info, l.reentrant_count,
       {held_for}, {remaining}, l.metadata
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND {is_live};

-- $1 key. The same columns. As `force_release` of lock.sql: `locked` waits for proofs, `dead`
-- is the proof of death read after that wait, `told` waits for a heartbeat in flight at most.
-- name: request_revoke
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           l.changed_at, l.expires_at, l.metadata
      FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1 AND l.owner IS NOT NULL
       AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
       AND (s.id IS NULL OR s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
), dead AS MATERIALIZED (
    SELECT s.id
      FROM locked JOIN {prefix}session s ON s.id = locked.session_id
     WHERE s.expires_at <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), asked AS (
    UPDATE {prefix}lock AS l
       SET revocations = l.revocations + 1
      FROM locked
     WHERE l.lock_key = locked.lock_key
       AND (locked.expires_at IS NULL OR locked.expires_at > clock_timestamp())
       AND NOT EXISTS (SELECT FROM dead)
    RETURNING l.lock_key
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
      FROM locked, asked
     WHERE s.id = locked.session_id
)
SELECT l.lock_key, l.fence, true, l.owner, l.session_id, l.node_info, l.reentrant_count,
       {held_for}, {remaining}, l.metadata
  FROM locked l CROSS JOIN asked LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- $1 key, $2 owner, $3 token, $4 term in microseconds. As `reenter` of lock.sql: waits for a
-- proof, then reads the clock. The session is the caller's own.
-- name: give_term
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM {prefix}session s
                    WHERE s.id = l.session_id AND s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
)
UPDATE {prefix}lock AS l
   SET session_id = NULL, expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
  FROM locked
 WHERE l.lock_key = locked.lock_key AND l.owner = $2 AND l.fence = locked.fence
RETURNING 1, {durable};

-- $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info.
--
-- me, live: why the time the statement came in, see `me` of `try_acquire` in lock.sql. A
--           hold that runs out while this waits for a proof is moved nonetheless: nobody else can
--           have been granted the key while owner and fence are the same. A session row that is
--           gone is no sign of life here: what it held is not adopted.
-- locked:   evaluated again on the newest version where it waited for a change, so that of two
--           adopters the second finds the session of the first.
-- name: adopt
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $5 AND expires_at > statement_timestamp()
), live AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $4::bytea AND expires_at > statement_timestamp()
), locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM me)
       AND (l.session_id = $5
            OR (l.session_id = $4::bytea AND EXISTS (SELECT FROM live))
            OR ($4::bytea IS NULL AND l.expires_at > clock_timestamp()))
       FOR NO KEY UPDATE OF l
), reached AS MATERIALIZED (
    SELECT lock_key, fence, clock_timestamp() AS instant FROM locked
), moved AS (
    UPDATE {prefix}lock AS l
       SET session_id = $5, expires_at = NULL, node_info = $6
      FROM reached
     WHERE l.lock_key = reached.lock_key AND l.owner = $2 AND l.fence = reached.fence
       AND (l.expires_at IS NULL OR l.expires_at > reached.instant)
    RETURNING l.fence, {durable}
)
SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM me);
