-- SQLite: schedules that enqueue jobs. Fire times are dates, so they go by the wall clock. The
-- contract: src/jobs/job_schedule_store.hpp.

-- The columns of a schedule.
-- fragment: schedule_columns
name, queue, is_paused, version, cron, zone, period, misfire, catch_up_max, late_max, next_at,
last_at, last_job, kind, priority, attempts_max, rescues_max, retry_delay, retry_delay_max,
time_limit, unique_until, unique_conflict, unique_key, ordering_key, payload

-- $1 queue, $2 how many, $3 and $4 the fire time and the name behind which they are. Index:
-- job_schedule_next. Reads: 1 row for each, and those of the first and the last one's fire time.
-- name: due
-- gives: now @schedule_columns
SELECT {wall} AS now_at, {schedule_columns} FROM {prefix}job_schedule
 WHERE queue = $1 AND is_paused = 0 AND next_at <= {wall}
   AND next_at >= $3 AND (next_at > $3 OR name > $4)
 ORDER BY next_at, name LIMIT $2;

-- $1 queue, $2 the fire time behind which it is. Index: job_schedule_next. Reads: 1 row.
-- name: next_in
SELECT next_at - {wall} FROM {prefix}job_schedule
 WHERE queue = $1 AND is_paused = 0 AND next_at > $2 ORDER BY next_at LIMIT 1;

-- $1 name, $2 version, $3 next fire time, $4 the latest that has fired or null. Tests the newest
-- version of the row. Reads: 1 row.
-- name: advance
UPDATE {prefix}job_schedule
   SET next_at = $3, last_at = coalesce($4, last_at), version = version + 1
 WHERE name = $1 AND version = $2;

-- $1 name, $2 job.
-- name: note_job
UPDATE {prefix}job_schedule SET last_job = $2 WHERE name = $1;

-- $1 name. The time, also if there is no row. Reads: 1 row.
-- name: find
-- gives: now @schedule_columns
SELECT {wall} AS now_at, {schedule_columns}
  FROM (SELECT 1 AS one) AS always LEFT JOIN {prefix}job_schedule ON name = $1;

-- $1 the name before the first that is listed, $2 how many. Reads: 1 row for each.
-- name: list
-- gives: now @schedule_columns
SELECT {wall} AS now_at, {schedule_columns} FROM {prefix}job_schedule
 WHERE name > $1 ORDER BY name LIMIT $2;

-- The values of the columns in their order. No row if the name exists already. Reads: 1 row.
-- name: insert
INSERT INTO {prefix}job_schedule ({schedule_columns})
VALUES ($1, $2, $3, max($4, {wall}), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17, $18, $19, $20, $21, $22, $23, $24, $25)
ON CONFLICT (name) DO NOTHING;

-- The values of `insert`, for the row of this name and version, whose last fire time stays.
-- Reads: 1 row.
-- name: change
UPDATE {prefix}job_schedule
   SET queue = $2, is_paused = $3, cron = $5, zone = $6, period = $7, misfire = $8,
       catch_up_max = $9, late_max = $10, next_at = $11, kind = $14, priority = $15,
       attempts_max = $16, rescues_max = $17, retry_delay = $18, retry_delay_max = $19,
       time_limit = $20, unique_until = $21, unique_conflict = $22, unique_key = $23,
       ordering_key = $24, payload = $25, version = version + 1
 WHERE name = $1 AND version = $4;

-- $1 name. Reads: 1 row.
-- name: remove
DELETE FROM {prefix}job_schedule WHERE name = $1;
