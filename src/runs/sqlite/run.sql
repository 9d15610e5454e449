-- SQLite: records of run-once tasks. Fire times are dates, so they are of the wall clock. The test
-- whether a run is still held uses the clock since boot, as all other statements do.

-- Describes record r: see sql_run_store.cpp. The casts are for values that are no numbers, which
-- somebody has written by hand: such a record hides no other one.
-- fragment: run
-- gives: name tick token owner node_info started_ago took closed_for state exit_status message
-- gives: schedule is_held
r.name, CAST(r.tick AS INTEGER), CAST(r.token AS INTEGER),
CAST(r.owner AS BLOB), r.node_info,
CAST({wall} - r.started_at AS INTEGER), CAST(r.finished_at - r.started_at AS INTEGER),
CAST(r.opens_at - {wall} AS INTEGER), CAST(r.state AS INTEGER), CAST(r.exit_status AS INTEGER),
r.message, r.schedule,
EXISTS (SELECT 1 FROM {prefix}lock l
         WHERE l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token AND {live_hold})
    AND {of_this_boot}

-- $1 name. Reads: 4 rows, by primary keys.
-- name: look
-- gives: now @run
SELECT {wall}, {run}
  FROM (SELECT 1) AS always LEFT JOIN {prefix}run r ON r.name = $1;

-- $1 name, $2 token, $3 owner, $4 node_info, $5 tick, $6 hold_at_least, $7 may_repeat, $8 schedule
-- or null. Each of the three, and of those that follow except `list`, reads 1 row. The record is
-- this claim's own if one of the first two statements has made it so, or an earlier attempt has.
-- name: claim
UPDATE {prefix}run
   SET tick = $5, token = $2, owner = $3, node_info = $4, started_at = {wall},
       opens_at = {wall} + $6, finished_at = NULL, state = 1, exit_status = NULL, message = '',
       schedule = $8
 WHERE name = $1 AND token < $2 AND opens_at <= {wall}
   AND (tick < $5 OR (tick = $5 AND finished_at IS NULL AND $7 = 1));
INSERT INTO {prefix}run (name, tick, token, owner, node_info, started_at, opens_at, state, message,
                         schedule)
SELECT $1, $5, $2, $3, $4, {wall}, {wall} + $6, 1, '', $8 WHERE changes() = 0
ON CONFLICT (name) DO NOTHING;
SELECT count(*) FROM {prefix}run WHERE name = $1 AND token = $2 AND owner = $3;

-- $1 name, $2 token, $3 owner, $4 state, $5 exit status or null, $6 message. One statement, so that
-- it can be in the caller's transaction or commit by itself.
-- name: finish
UPDATE {prefix}run SET finished_at = {wall}, state = $4, exit_status = $5, message = $6
 WHERE name = $1 AND token = $2 AND owner = $3;

-- $1 the first name that may be listed, $2 the first after all that have the prefix, $3 limit: see
-- `list` of hold.sql. Reads: 3 rows for each run.
-- name: list
-- gives: now @run
SELECT {wall}, {run} FROM {prefix}run r
 WHERE r.name >= $1 AND r.name < $2 ORDER BY r.name LIMIT $3;

-- $1 name.
-- name: forget
DELETE FROM {prefix}run WHERE name = $1;
