-- SQLite: sessions.

-- $1 id, $2 node_info, $3 ttl. Sent again after a lost answer: the row exists, and its life
-- starts now. A first attempt that arrives after its session has ended revives nothing.
-- name: start
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES ($1, $2, {now}, {now}, {now} + $3, 0)
ON CONFLICT (id) DO UPDATE SET heartbeat_at = {now}, expires_at = {now} + $3
 WHERE expires_at > {now};

-- As `start`, but an error if a row of this id exists.
-- name: start_anew
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES ($1, $2, {now}, {now}, {now} + $3, 0);

-- $1 key, and the other values of `take` and `make` of hold.sql, which follow if this has a row.
-- name: is_takeable
SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM {prefix}lock l WHERE l.lock_key = $1 AND (l.kind <> 1 OR {closed}));

-- $1 id, $2 ttl, $3 notices, $4 incarnation. Never revives: the row must not have expired by a
-- clock read after any wait for the write lock.
-- name: heartbeat
UPDATE {prefix}session SET heartbeat_at = {now}, expires_at = {now} + $2
 WHERE id = $1 AND expires_at > {now} AND notices = $3
   AND $4 IN ('', (SELECT CAST(schema_version AS TEXT) FROM pragma_schema_version));

-- $1 id, $2 node_info, $3 ttl, $4 the node_info that it has. The caller has entered this boot
-- before, so a session of another boot has ended.
-- name: take_over
UPDATE {prefix}session
   SET node_info = $2, notices = notices + 1, heartbeat_at = {now}, expires_at = {now} + $3
 WHERE id = $1 AND expires_at > {now} AND node_info = $4;

-- $1 id. SQLite has no server that could start anew, so the incarnation is the number of the file's
-- schema. If a user puts other contents into the open file, as the backup interface does, that
-- number changes. A migration changes it, too, which only costs a look. A session ends with its
-- boot.
-- name: news
-- gives: notices incarnation
SELECT notices, (SELECT CAST(schema_version AS TEXT) FROM pragma_schema_version)
  FROM {prefix}session WHERE id = $1 AND expires_at > {now};

-- $1 id.
-- name: end
UPDATE {prefix}session SET expires_at = {now} WHERE id = $1 AND expires_at > {now};

-- One of these rows names the session: $1 id, $2 key, $3 owner, $4 ticket. Reads: 3 rows.
-- name: refers
SELECT 1 FROM {prefix}lock WHERE lock_key = $2 AND session_id = $1
UNION ALL SELECT 1 FROM {prefix}holder WHERE lock_key = $2 AND owner = $3 AND session_id = $1
UNION ALL SELECT 1 FROM {prefix}waiter WHERE lock_key = $2 AND ticket = $4 AND session_id = $1
LIMIT 1;

-- $1 id.
-- name: remove
DELETE FROM {prefix}session WHERE id = $1 AND expires_at > {now};

-- There is a row for each session, so the table is read whole and sorted. Reads: 1 row for each.
-- name: list
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT CAST(s.id AS BLOB), node_info, expires_at > {now}, CAST({now} - started_at AS INTEGER),
       CAST({now} - heartbeat_at AS INTEGER), CAST(expires_at - {now} AS INTEGER)
  FROM {prefix}session s
 WHERE {of_this_boot}
 ORDER BY started_at, id;
