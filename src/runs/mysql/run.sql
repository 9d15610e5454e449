-- Records of run-once tasks, on MySQL and MariaDB. The rules of these statements: hold.sql.

-- Describes record r, with the lock and session that belong to it. See run_store.cpp.
-- fragment: run
-- gives: name tick token owner node_info started_ago took closed_for state exit_status message
-- gives: schedule is_held
r.name, r.tick, r.token, r.owner, r.node_info, {since r.started_at},
       {finite r.finished_at} - {finite r.started_at}, {until r.opens_at},
       r.state, r.exit_status, r.message,
       r.schedule, l.lock_key IS NOT NULL AND {unexpired}

-- $1 name. By primary keys. Reads: 4 rows, one of which is derived.
-- name: look
-- gives: now @run
SELECT {now}, {run}
FROM (SELECT 1 AS one) o LEFT JOIN {prefix}run r ON r.name = $1
LEFT JOIN {prefix}lock l ON l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token
LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- $1 name, $2 token, $3 owner, $4 node_info, $5 tick, $6 hold_at_least, $7 may_repeat,
-- $8 schedule or null: in this and in `insert`.
--
-- The UPDATE takes X on the record, by primary key, and tests it then. ROW_COUNT says whether it
-- changed anything, which a start always does. A record that is ours already is of an earlier
-- attempt. Reads: 4 rows, and as many again if `insert` met the record of another process.
-- name: claim
-- gives: , is_claimed has_record
UPDATE {prefix}run r
SET r.tick = $5, r.token = $2, r.owner = $3, r.node_info = $4, r.started_at = {now},
    r.opens_at = {now} + $6, r.finished_at = NULL, r.state = 1, r.exit_status = NULL,
    r.message = '', r.schedule = $8
WHERE r.name = $1 AND r.token < $2 AND r.opens_at <= {now}
  AND (r.tick < $5 OR (r.tick = $5 AND r.finished_at IS NULL AND $7 = 1));
SELECT (ROW_COUNT() = 1) + EXISTS (
           SELECT 1 FROM {prefix}run r WHERE r.name = $1 AND r.token = $2 AND r.owner = $3),
       EXISTS (SELECT 1 FROM {prefix}run r WHERE r.name = $1);

-- A statement of its own, so that it commits by itself: see {insert_key} of fragments.sql.
-- name: insert
INSERT INTO {prefix}run
    (name, tick, token, owner, node_info, started_at, opens_at, finished_at, state, exit_status,
     message, schedule)
VALUES ($1, $5, $2, $3, $4, {now}, {now} + $6, NULL, 1, NULL, '', $8);

-- $1 name, $2 token, $3 owner, $4 state, $5 exit status or null, $6 message. It uses UTC_TIMESTAMP
-- instead of {now}, since a borrowed connection has the time zone of its owner. Reads: 1 row.
-- name: finish
UPDATE {prefix}run
SET finished_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), state = $4,
    exit_status = $5, message = $6
WHERE name = $1 AND token = $2 AND owner = $3;

-- $1 the first name that may be listed, $2 the first after all that have the prefix, $3 limit: a
-- range of the primary key, which also gives the order; the rest by primary keys. Reads: 3 rows for
-- each run.
-- name: list
-- gives: now @run
SELECT {now}, {run} FROM {prefix}run r FORCE INDEX (PRIMARY)
LEFT JOIN {prefix}lock l ON l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE r.name >= $1 AND r.name < $2 ORDER BY r.name LIMIT $3;

-- $1 name. Reads: 1 row.
-- name: forget
DELETE FROM {prefix}run WHERE name = $1;
