-- Records of run-once tasks, on PostgreSQL. The rules of hold.sql.

-- Describes record r, with the lock and session that belong to it. See run_store.cpp.
-- fragment: run
-- gives: name tick token owner node_info started_ago took closed_for state exit_status message
-- gives: schedule is_held
r.name, r.tick, r.token, r.owner, r.node_info,
{since r.started_at},
(extract(epoch FROM {finite r.finished_at} - {finite r.started_at}) * 1000000)::bigint,
{until r.opens_at},
r.state, r.exit_status, r.message, r.schedule,
(l.lock_key IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
    AND (s.id IS NULL OR s.expires_at > clock_timestamp()))::int

-- $1 name. One snapshot, by the clock; nothing waits. Indexes: the three primary keys. Reads: 3
-- rows.
-- name: look
-- gives: now @run
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, {run}
  FROM (SELECT 1) AS always
  LEFT JOIN {prefix}run r ON r.name = $1
  LEFT JOIN {prefix}lock l ON l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token
  LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- $1 name, $2 token, $3 owner, $4 node_info, $5 tick, $6 hold_at_least, $7 may_repeat,
-- $8 schedule or null.
--
-- Every condition is on the record itself, so that it is tested again on the newest version where
-- this waited for another claim or for an end that is being committed.
-- made: a process whose lease is gone may insert the same name at this moment. Then nothing is made
--       here, and the next look finds a record with a lower token.
-- The count of rows that are ours already is that of the snapshot: such a row is of an earlier
-- attempt that has been committed, and the answer is {carried}. Reads: 4 rows.
-- name: claim
WITH changed AS (
    UPDATE {prefix}run AS r
       SET tick = $5, token = $2, owner = $3, node_info = $4, started_at = clock_timestamp(),
           opens_at = clock_timestamp() + $6::bigint * interval '1 microsecond',
           finished_at = NULL, state = 1, exit_status = NULL, message = '', schedule = $8::text
     WHERE r.name = $1 AND r.token < $2 AND r.opens_at <= clock_timestamp()
       AND (r.tick < $5 OR (r.tick = $5 AND r.finished_at IS NULL AND $7::bigint = 1))
    RETURNING r.token, {durable}
), made AS (
    INSERT INTO {prefix}run (name, tick, token, owner, node_info, started_at, opens_at, state,
                             message, schedule)
    SELECT $1, $5, $2, $3, $4, clock_timestamp(),
           clock_timestamp() + $6::bigint * interval '1 microsecond', 1, '', $8::text
     WHERE NOT EXISTS (SELECT FROM {prefix}run r WHERE r.name = $1)
    ON CONFLICT (name) DO NOTHING
    RETURNING token, {durable}
)
SELECT (SELECT count(*) FROM changed) + (SELECT count(*) FROM made)
       + (SELECT count(*)
            FROM (SELECT {carried} FROM {prefix}run r
                   WHERE r.name = $1 AND r.token = $2 AND r.owner = $3) AS ours);

-- $1 name, $2 token, $3 owner, $4 state, $5 exit status or null, $6 message. The statement commits
-- as the database is set to: if it runs in the caller's transaction, the caller chooses. Reads: 1
-- row.
-- name: finish
UPDATE {prefix}run
   SET finished_at = clock_timestamp(), state = $4, exit_status = $5, message = $6
 WHERE name = $1 AND token = $2 AND owner = $3;

-- $1 the first name that may be listed, $2 the first after all that have the prefix, $3 limit. The
-- planner does not know the limit: if it did, it would read and sort all runs where it believes
-- them to be few. bytea compares byte by byte, so a prefix is a range of run_pkey, which also gives
-- the order. Lock and session are asked for by LATERAL queries, which cannot become joins that read
-- a table. Reads: 3 rows for each run.
-- name: list
-- gives: now @run
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, {run}
  FROM (SELECT * FROM {prefix}run WHERE name >= $1 AND name < $2 ORDER BY name
         LIMIT (SELECT $3::bigint)) AS r
  LEFT JOIN LATERAL (
    SELECT * FROM {prefix}lock k
     WHERE k.lock_key = r.name AND k.owner = r.owner AND k.fence = r.token LIMIT 1) AS l ON true
  LEFT JOIN LATERAL (
    SELECT * FROM {prefix}session t WHERE t.id = l.session_id LIMIT 1) AS s ON true
 ORDER BY r.name;

-- $1 name. Reads: 1 row.
-- name: forget
DELETE FROM {prefix}run WHERE name = $1;
