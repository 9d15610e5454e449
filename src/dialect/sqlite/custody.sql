-- SQLite: words on a hold, requests to let go, and moving it.

-- $1 key, $2 owner, $3 token, $4 words or null.
-- name: set_words
UPDATE {prefix}lock SET metadata = $4 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING 1;

-- $1 key.
-- name: look
SELECT {hold} FROM {prefix}lock l WHERE l.lock_key = $1 AND {live_hold} AND {of_this_boot};

-- name: ask
UPDATE {prefix}lock SET revocations = revocations + 1 WHERE lock_key = $1;

-- $1 session.
-- name: notify_session
UPDATE {prefix}session SET notices = notices + 1 WHERE id = $1;

-- $1 key, $2 owner, $3 token, $4 term in microseconds.
-- name: give_term
UPDATE {prefix}lock AS l SET session_id = NULL, expires_at = {now} + $4
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
   AND l.session_id IS NOT NULL AND {live_hold}
RETURNING 1;

-- $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info: of both. A session row that is
-- gone is no sign of life here.
-- name: session_is_live
SELECT 1 FROM {prefix}session WHERE id = $5 AND expires_at > {now};

-- name: adopt
UPDATE {prefix}lock AS l SET session_id = $5, expires_at = NULL, node_info = $6
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
   AND (l.session_id = $5
        OR (l.session_id = $4
            AND EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = $4 AND s.expires_at > {now}))
        OR ($4 IS NULL AND l.expires_at > {now}));
