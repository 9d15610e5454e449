-- The upkeep of queues, and managing jobs, on MySQL and MariaDB. The rules of job.sql; the
-- contract: src/jobs/job_queue_store.hpp. All of it runs on connections of our own.

-- fragment: queue_look
-- gives: has_available next_due_in next_fire_in maintained_ago some_are_needed some_wait
-- gives: some_are_blocked @queue_columns

-- The settings of a queue: see queue_in() in sql_job_queue_store.cpp.
-- fragment: queue_columns
q.is_paused, q.running_max, q.running_per_key_max, q.starts_max, q.starts_per, q.keep_completed,
       q.keep_discarded, q.keep_cancelled

-- $1 queue, $2 number: a part of a UNION ALL. Each part names its queue: otherwise it would read
-- all jobs that are not scheduled to find a scheduled one. Indexes: job_order, job_due,
-- job_schedule_next. Reads: 5 rows for each.
-- name: look
-- gives: number @queue_look
SELECT $2 AS number,
       EXISTS (
           SELECT 1 FROM {prefix}job j FORCE INDEX ({bare}job_order)
           WHERE j.queue = $1 AND j.state = 2),
       (SELECT GREATEST(j.due_at, {now}) - {now} FROM {prefix}job j FORCE INDEX ({bare}job_due)
        WHERE j.queue = $1 AND j.due_at IS NOT NULL
        ORDER BY j.queue, j.due_at, j.id LIMIT 1),
       (SELECT GREATEST(0, s.next_at - {now})
        FROM {prefix}job_schedule s FORCE INDEX ({bare}job_schedule_next)
        WHERE s.queue = $1 AND s.is_paused = 0 ORDER BY s.next_at LIMIT 1),
       {since q.swept_at},
       EXISTS (SELECT 1 FROM {prefix}job_need),
       EXISTS (
           SELECT 1 FROM {prefix}job j FORCE INDEX ({bare}job_due)
           WHERE j.queue = $1 AND j.due_at = {never}),
       EXISTS (
           SELECT 1 FROM {prefix}job j FORCE INDEX ({bare}job_order)
           WHERE j.queue = $1 AND j.state = 5), {queue_columns}
FROM (SELECT 1 AS one) o LEFT JOIN {prefix}queue q ON q.name = $1

-- A row that somebody has inserted by hand may have neither time.
-- fragment: due_since
j.available_at = COALESCE(NULLIF(GREATEST(j.due_at, j.enqueued_at), 0), {utc})

-- $1 queue, $2 how many, $3 how many jobs of a key may run at a time, as the caller believes, and
-- {skipped} one less. A job that waits for an earlier one of its key is blocked. Answers the true
-- $3, and how many jobs were due; 0 if the caller was mistaken. Indexes: job_due,
-- job_ordering. Reads: some rows for each.
-- name: promote
-- gives: per_key due
START TRANSACTION;
SELECT COALESCE(MAX(q.running_per_key_max), 1) INTO @leasehold_per_key
FROM {prefix}queue q WHERE q.name = $1;
SELECT CONCAT('[', GROUP_CONCAT(d.id), ']') INTO @leasehold_ids
FROM (
    SELECT j.id FROM {prefix}job j FORCE INDEX ({bare}job_due)
    WHERE j.queue = $1 AND j.due_at <= {utc} AND @leasehold_per_key = $3
    ORDER BY j.queue, j.due_at, j.id LIMIT $2 FOR UPDATE SKIP LOCKED) d;
SELECT CONCAT('[', GROUP_CONCAT(IF(g.is_blocked, NULL, g.id)), ']'),
       CONCAT('[', GROUP_CONCAT(IF(g.is_blocked, g.id, NULL)), ']')
INTO @leasehold_free, @leasehold_blocked
FROM (
    SELECT j.id, COALESCE({one_behind} < j.id, 0) AS is_blocked FROM {listed}) g;
UPDATE {listed_free} SET {due_since}, j.due_at = NULL, j.state = 2;
UPDATE {listed_blocked} SET {due_since}, j.due_at = NULL, j.state = 5;
SELECT @leasehold_per_key, COALESCE(JSON_LENGTH(@leasehold_ids), 0);
COMMIT;

-- $1 queue, $2 every. Makes the row if it is missing. Waits for a claim in turn. A time ahead of
-- the clock, which was set back, counts as long ago. Reads: 1 row.
-- name: begin_maintenance
INSERT INTO {prefix}queue (name, swept_at) VALUES ($1, {now})
ON DUPLICATE KEY UPDATE
    swept_at = IF(swept_at <= {now} - $2 OR swept_at > {now}, {now}, swept_at);
SELECT 1 FROM DUAL WHERE ROW_COUNT() > 0;

-- $1 queue, $2 how many, $3 and $4 the priority and the id behind which they are. One snapshot: the
-- running jobs whose session is expired or missing. Reads: the running jobs behind that place, and
-- their sessions.
-- name: lost
-- gives: , session is_removed id token priority
SELECT j.session_id, s.id IS NULL, j.id, j.token, j.priority
FROM {prefix}job j FORCE INDEX ({bare}job_order)
LEFT JOIN {prefix}session s ON s.id = j.session_id
WHERE j.queue = $1 AND j.state = 3 AND (s.id IS NULL OR s.expires_at <= {now})
  AND j.priority >= $3 AND (j.priority > $3 OR j.id > $4)
ORDER BY j.queue, j.state, j.priority, j.id LIMIT $2;

-- The state of a job that is taken from a dead session: cancelled if that was requested.
-- fragment: rescued_to
CASE WHEN j.is_cancel_requested = 1 THEN 8
             WHEN j.rescues + 1 >= {rescues_max} THEN 7 ELSE 2 END
-- fragment: rescued_kept
IF({rescued_to} = 7, $4, $5)

-- For one session: $1 id, $2 whether its row was missing, $3 list of ids and tokens that `lost`
-- saw in one snapshot, $4 the microseconds that a discarded job is kept, or -1, $5 the same for
-- cancelled ones.
--
-- 1. The proof for an existing session; skips a row that a heartbeat in flight has locked.
-- 2. Locks the jobs if they are as they were seen, and skips those that a worker is ending at this
--    moment.
-- 3. The counts of the answer, and the next jobs of their keys.
-- 4. As `finish`.
-- name: rescue
-- gives: rescued quarantined
START TRANSACTION;
SELECT CONVERT($3 USING utf8mb4), $1 INTO @leasehold_ends, @leasehold_dead;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}session d
WHERE d.id = $1 AND d.expires_at <= {now} AND $2 = 0 {share_skip_locked};
SELECT CONCAT('[', GROUP_CONCAT(j.id), ']') INTO @leasehold_ids
FROM JSON_TABLE(@leasehold_ends, '$[*]' COLUMNS (
    asked_id BIGINT PATH '$[0]', asked_token BIGINT PATH '$[1]')) a
STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.token = a.asked_token AND j.session_id = $1 AND j.state = 3
  AND (@leasehold_go = 1 OR $2 = 1) {update_listed} SKIP LOCKED;
SELECT COUNT(IF({rescued_to} = 2, 1, NULL)), COUNT(IF({rescued_to} = 7, 1, NULL))
INTO @leasehold_rescued, @leasehold_quarantined
FROM {listed};
WITH RECURSIVE places AS (
    SELECT j.queue, j.ordering_key, COUNT(*) AS places FROM {listed}
    WHERE j.ordering_key IS NOT NULL AND {rescued_to} > 5
    GROUP BY j.queue, j.ordering_key
), {next_of_places}
SELECT {next_ids} INTO @leasehold_next FROM next_of n;
UPDATE {listed} SET j.failures = {failures_with 'its worker died'};
INSERT INTO {prefix}job_history
    (id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
     retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
     progress, traceparent, checkpoint, checkpoint_at, payload, failures, error, state, ended_at,
     prune_at)
SELECT id, queue, kind, priority, attempts, rescues + 1, token, enqueued_at, attempts_max,
       rescues_max, retry_delay, retry_delay_max, time_limit, unique_until, unique_slot,
       ordering_key, node_info, progress, traceparent, checkpoint, checkpoint_at, payload, failures,
       IF({rescued_to} = 7, CONCAT('quarantined: its workers died ', rescues + 1, ' times'), error),
       {rescued_to}, {now}, {now} + {rescued_kept}
FROM {listed} WHERE {rescued_to} > 5 AND {rescued_kept} >= 0;
UPDATE {listed}
SET j.state = 2, j.session_id = NULL, j.available_at = {now}, j.attempts = j.attempts - 1,
    j.rescues = j.rescues + 1
WHERE {rescued_to} = 2;
DELETE j FROM {listed} WHERE j.state = 3;
{free_next}
{touch_dead};
COMMIT;
SELECT @leasehold_rescued, @leasehold_quarantined;

-- $1 queue, $2 the last key that was looked at. Begins a packet of `next_key`s: @leasehold_key is
-- null if no job is blocked, or if there are no more keys. Plain reads. Index: job_order.
-- name: first_key
SELECT $1, IF(EXISTS (
           SELECT 1 FROM {prefix}job b FORCE INDEX ({bare}job_order)
           WHERE b.queue = $1 AND b.state = 5), $2, NULL), NULL
INTO @leasehold_queue, @leasehold_key, @leasehold_ids;

-- {per_key}: how many jobs of a key may run at a time, as the caller believes. Goes on to the next
-- key and finds the blocked ones of as many of its first jobs. Each key needs its statement, since
-- only a constant begins a range: a recursion from key to key would read all entries for each of
-- them. Plain reads. Index: job_ordering. Reads: some rows, and what is not due before them.
-- name: next_key
SELECT (SELECT o.ordering_key FROM {prefix}job o FORCE INDEX ({bare}job_ordering)
        WHERE o.queue = @leasehold_queue AND o.ordering_key > @leasehold_key
        ORDER BY o.queue, o.ordering_key, o.id LIMIT 1)
INTO @leasehold_key;
SELECT NULLIF(CONCAT_WS(',', @leasehold_ids, GROUP_CONCAT(IF(f.state = 5, f.id, NULL))), '')
INTO @leasehold_ids
FROM (
    SELECT p.id, p.state FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
    WHERE p.queue = @leasehold_queue AND p.ordering_key = @leasehold_key AND p.state <> 1
    ORDER BY p.queue, p.ordering_key, p.id LIMIT {per_key}) f;

-- Ends a packet of `next_key`s. Answers what {per_key} is, the last key, and the ids as a list.
-- name: last_key
-- gives: per_key key ids
SELECT COALESCE((SELECT q.running_per_key_max FROM {prefix}queue q
                 WHERE q.name = @leasehold_queue), 1),
       @leasehold_key, @leasehold_ids;

-- $1 list of ids. Answers how many jobs were freed.
-- name: unblock
START TRANSACTION;
SELECT CONVERT($1 USING utf8mb4) INTO @leasehold_next;
{free_next};
COMMIT;
SELECT COALESCE(JSON_LENGTH(@leasehold_free), 0);

-- $1 queue, $2 1: only of kind $3, $4 how many at most. Kinds, and the number of jobs of each.
-- Indexes: job_order, job_kind. Reads: what it counts.
-- name: count_available
-- gives: kind jobs
SELECT a.kind, COUNT(*)
FROM ((SELECT j.kind FROM {prefix}job j FORCE INDEX ({bare}job_order)
       WHERE j.queue = $1 AND j.state = 2 AND $2 = 0
       ORDER BY j.queue, j.state, j.priority, j.id LIMIT $4)
      UNION ALL
      (SELECT j.kind FROM {prefix}job j FORCE INDEX ({bare}job_kind)
       WHERE j.queue = $1 AND j.kind = $3 AND j.state = 2 AND $2 = 1
       ORDER BY j.queue, j.kind, j.state, j.priority, j.id LIMIT $4)) a
GROUP BY a.kind;

-- $1 how many, $2 behind how many. Index: job_history_prune. Reads: 1 row for each, and those
-- before them. A statement of its own, so that the rows are locked by their keys alone.
-- name: prune
SELECT h.id FROM {prefix}job_history h FORCE INDEX ({bare}job_history_prune)
WHERE h.prune_at <= {utc} AND NOT EXISTS (
    SELECT 1 FROM {prefix}job_need n FORCE INDEX ({bare}job_need_needs) WHERE n.needs_id = h.id)
ORDER BY h.prune_at, h.id LIMIT $1 OFFSET $2;

-- $1 list of ids. Skips locked rows. Answers how many rows were removed.
-- name: prune_of
START TRANSACTION;
SELECT CONCAT('[', GROUP_CONCAT(j.id), ']'), COUNT(*) INTO @leasehold_ids, @leasehold_count
FROM JSON_TABLE(CONVERT($1 USING utf8mb4), '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job_history j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.prune_at <= {utc} {update_listed} SKIP LOCKED;
DELETE h
FROM JSON_TABLE(@leasehold_ids, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job_history h FORCE INDEX (PRIMARY) ON h.id = a.asked_id;
COMMIT;
SELECT @leasehold_count;

-- ---- managing

-- $1 id. A plain read looks for jobs that need this one, since a DELETE would lock the rows that
-- its subquery reads. Index: job_need_needs. Reads: 2 rows.
-- name: remove
SELECT COUNT(*) INTO @leasehold_needed FROM (
    SELECT 1 FROM {prefix}job_need n FORCE INDEX ({bare}job_need_needs)
    WHERE n.needs_id = $1 LIMIT 1) needed;
DELETE FROM {prefix}job_history WHERE id = $1 AND @leasehold_needed = 0;
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- $1 id, $2 the microseconds that the job is kept, or -1. Waits for a lock on the row. Answers
-- whether the job existed, whether it did not run, and how many rows of the history and of the jobs
-- have this id now. Reads: some rows.
-- name: cancel
-- gives: , found idle in_history in_jobs
START TRANSACTION;
SELECT COUNT(*), COALESCE(MAX(j.state <> 3), 0), IF(MAX(j.state) NOT IN (3, 5), $1, NULL)
INTO @leasehold_go, @leasehold_idle, @leasehold_id
FROM {prefix}job j WHERE j.id = $1 FOR UPDATE;
SELECT {next_ids} INTO @leasehold_next
FROM (
    SELECT (SELECT b.id FROM {prefix}job b FORCE INDEX ({bare}job_ordering)
            WHERE b.queue = j.queue AND b.ordering_key = j.ordering_key AND b.state = 5
            ORDER BY b.queue, b.ordering_key, b.id LIMIT 1) AS id
    FROM {prefix}job j WHERE j.id = @leasehold_id AND j.ordering_key IS NOT NULL) n;
INSERT INTO {prefix}job_history ({job_columns}, failures, error, state, ended_at, prune_at)
SELECT {job_columns}, failures, error, 8, {now}, {now} + $2
FROM {prefix}job WHERE id = $1 AND @leasehold_idle = 1 AND $2 >= 0;
DELETE FROM {prefix}job WHERE id = $1 AND @leasehold_idle = 1;
UPDATE {prefix}job SET is_cancel_requested = 1
WHERE id = $1 AND @leasehold_go = 1 AND @leasehold_idle = 0;
{free_next};
COMMIT;
SELECT @leasehold_go, @leasehold_idle,
       (SELECT COUNT(*) FROM {prefix}job_history h WHERE h.id = $1),
       (SELECT COUNT(*) FROM {prefix}job h WHERE h.id = $1);

-- $1 id; $2 kind, $3 payload, $4 priority, null: it stays; $5 0, 1 if it must not wait for others,
-- or 2 if it is due then, too: at the later of $6 and $7 from now. Not if it runs. Assignments run
-- from left to right. The row is locked first: the number of changed rows leaves out a row that has
-- these values already. Reads: 1 row.
-- name: change
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}job
WHERE id = $1 AND state <> 3 AND ($5 = 0 OR due_at IS NULL OR due_at <> {never}) FOR UPDATE;
UPDATE {prefix}job
SET kind = COALESCE($2, kind), payload = COALESCE($3, payload), priority = COALESCE($4, priority),
    checkpoint = IF($2 IS NULL AND $3 IS NULL, checkpoint, NULL),
    state = IF($5 = 2 AND state IN (2, 5), 1, state),
    available_at = IF($5 < 2, available_at, NULL),
    due_at = IF($5 < 2, due_at, GREATEST($6, {utc} + $7))
WHERE id = $1 AND @leasehold_go = 1;
COMMIT;
SELECT 1 FROM DUAL WHERE @leasehold_go = 1;

-- $1 id. Makes a job due that waits for its time. Reads: 2 rows, and what is not due before it.
-- name: hurry
START TRANSACTION;
SELECT COALESCE(MAX((
    SELECT p.id FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
    WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key
      AND (p.state <> 1 OR p.id >= j.id)
    ORDER BY p.queue, p.ordering_key, p.id LIMIT 1) < j.id), 0)
INTO @leasehold_blocked
FROM {prefix}job j WHERE j.id = $1;
UPDATE {prefix}job SET due_at = NULL, available_at = {now}, state = IF(@leasehold_blocked = 1, 5, 2)
WHERE id = $1 AND due_at IS NOT NULL;
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;
COMMIT;

-- $1 id. Enqueues an ended job again, without the checkpoint of one that completed: its row of the
-- history is deleted if the job exists again. 1062 if there is another job of its unique key.
-- name: redrive
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}job_history WHERE id = $1 FOR UPDATE;
INSERT INTO {prefix}job ({job_columns}, failures, state, due_at, available_at)
SELECT id, queue, kind, priority, 0, 0, token, enqueued_at, attempts_max, rescues_max, retry_delay,
       retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info, NULL,
       traceparent, IF(state = 6, NULL, checkpoint), checkpoint_at, payload, failures, 2, NULL,
       {now}
FROM {prefix}job_history WHERE id = $1 AND @leasehold_go = 1;
DELETE FROM {prefix}job_history WHERE id = $1 AND @leasehold_go = 1;
COMMIT;
SELECT 1 FROM DUAL WHERE @leasehold_go = 1;

-- $1 id.
-- name: state_of
SELECT state FROM {prefix}job WHERE id = $1
UNION ALL
SELECT state FROM {prefix}job_history WHERE id = $1;

-- The columns of job row j, or of a row of the history: see info_in() in job_queue_store.cpp.
-- fragment: info_columns
j.id, j.queue, j.kind, j.state, j.priority, j.attempts, {attempts_max} AS attempts_max, j.rescues,
       j.token, j.payload, j.unique_slot, j.ordering_key, j.node_info, j.progress, j.error,
       IF(j.enqueued_at <= 0, 0, {now} - j.enqueued_at) AS enqueued_ago

-- The state of job row j as people see it: a job that waits for others is due in the year 9999.
-- fragment: shown_state
CASE WHEN j.due_at = {never} THEN 5 ELSE j.state END

-- fragment: info_of_job
-- gives: id queue kind state priority attempts attempts_max rescues token payload unique_key
-- gives: ordering_key node_info progress error enqueued_ago due_in running_for is_cancel_requested
-- gives: ended_ago result
SELECT {info_columns}, GREATEST(j.due_at, {now}) - {now} AS due_in,
       {since j.claimed_at} AS running_for, j.is_cancel_requested, NULL AS ended_ago, NULL AS result

-- fragment: info_of_ended
SELECT {info_columns}, NULL, NULL, 0, {since j.ended_at}, j.result

-- $1 id. Reads: 2 rows.
-- name: describe
-- gives: @info_of_job failures traceparent checkpoint
({info_of_job}, {read_failures}, j.traceparent, {checkpoint}
 FROM {prefix}job j WHERE j.id = $1)
UNION ALL
({info_of_ended}, {read_failures}, j.traceparent, j.checkpoint
 FROM {prefix}job_history j WHERE j.id = $1);

-- $1 the first id, $2 the last, $3 queue or '', $4 state or 0, $5 how many, $6 kind or '',
-- $7 ordering key or '', $8 a part of the error or '', $9 within how many microseconds or null.
-- The first two parts walk a primary key, past rows that were not asked for.
-- fragment: is_asked_for
j.id BETWEEN $1 AND $2 AND ($3 = '' OR j.queue = $3) AND ($6 = '' OR j.kind = $6)
       AND ($7 = '' OR j.ordering_key = $7) AND ($8 = '' OR LOCATE($8, j.error) > 0)
       AND ($9 IS NULL OR {it} >= {now} - $9)

-- fragment: jobs_asked_for
{info_of_job} FROM {prefix}job j FORCE INDEX (PRIMARY)
 WHERE $4 < 6 AND {is_asked_for j.enqueued_at} AND ($4 = 0 OR {shown_state} = $4)

-- fragment: ended_asked_for
{info_of_ended} FROM {prefix}job_history j FORCE INDEX (PRIMARY)
 WHERE ($4 = 0 OR ($4 > 5 AND $3 = '')) AND {is_asked_for j.ended_at}
   AND ($4 = 0 OR j.state = $4)

-- fragment: ended_of_state
{info_of_ended} FROM {prefix}job_history j FORCE INDEX ({bare}job_history_queue)
 WHERE $3 <> '' AND $4 > 5 AND j.queue = $3 AND j.state = $4 AND {is_asked_for j.ended_at}

-- name: list
-- gives: @info_of_job
SELECT * FROM (
    ({jobs_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    ({ended_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    ({ended_of_state} ORDER BY j.id LIMIT $5)) all_of_them
ORDER BY id LIMIT $5;

-- name: list_newest
-- gives: @info_of_job
SELECT * FROM (
    ({jobs_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    ({ended_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    ({ended_of_state} ORDER BY j.id DESC LIMIT $5)) all_of_them
ORDER BY id DESC LIMIT $5;

-- $1 the first id, $2 the last, $3 how many jobs are passed over in each table. Reads: $3 rows of
-- each.
-- name: nth_job
SELECT min(nth.id) FROM (
    (SELECT j.id FROM {prefix}job j FORCE INDEX (PRIMARY) WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)
    UNION ALL
    (SELECT j.id FROM {prefix}job_history j FORCE INDEX (PRIMARY) WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)) AS nth;

-- name: nth_job_newest
SELECT max(nth.id) FROM (
    (SELECT j.id FROM {prefix}job j FORCE INDEX (PRIMARY) WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)
    UNION ALL
    (SELECT j.id FROM {prefix}job_history j FORCE INDEX (PRIMARY) WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)) AS nth;

-- $1 name. Reads: 1 row.
-- name: find_queue
-- gives: @queue_columns
SELECT {queue_columns} FROM {prefix}queue q WHERE q.name = $1;

-- $1 name, $2 to $8 the limits, times in microseconds. The new turn changes the row, which refuses
-- claims by the former limits if several nodes are written to. If the rate changes, past starts no
-- longer count. That is assigned first, while the columns still have the former rate.
-- name: set_limits
INSERT INTO {prefix}queue
    (name, running_max, running_per_key_max, starts_max, starts_per, keep_completed, keep_discarded,
     keep_cancelled)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON DUPLICATE KEY UPDATE
    starts_from = IF(starts_max <=> $4 AND starts_per = $5, starts_from, 0), running_max = $2,
    running_per_key_max = $3, starts_max = $4, starts_per = $5, keep_completed = $6,
    keep_discarded = $7, keep_cancelled = $8, turn = turn + 1;

-- $1 name, $2 whether the queue is paused.
-- name: set_paused
INSERT INTO {prefix}queue (name, is_paused) VALUES ($1, $2)
ON DUPLICATE KEY UPDATE is_paused = $2, turn = turn + 1;

-- The queues with a row, and those with jobs alone: a walk from name to name along the index.
-- Reads: some rows for each queue.
-- name: queue_names
SELECT queue FROM (
    SELECT DISTINCT j.queue FROM {prefix}job j FORCE INDEX ({bare}job_order)
    UNION
    SELECT q.name FROM {prefix}queue q) named
ORDER BY queue;

-- fragment: oldest_ago
{now} - MIN(NULLIF(GREATEST(COALESCE(j.available_at, 0), j.enqueued_at), 0))

-- $1 name. Reads all jobs of the queue.
-- name: count_jobs
-- gives: state jobs oldest_ago
SELECT {shown_state}, COUNT(*), {oldest_ago}
FROM {prefix}job j WHERE j.queue = $1 GROUP BY {shown_state}
UNION ALL
SELECT state, COUNT(*), NULL FROM {prefix}job_history WHERE queue = $1 GROUP BY state;

-- The settings of the queues that have a row.
-- name: queue_rows
-- gives: name @queue_columns
SELECT q.name, {queue_columns} FROM {prefix}queue q;

-- As count_jobs, for all queues. Reads all jobs.
-- name: count_all_jobs
-- gives: queue @count_jobs
SELECT j.queue, {shown_state}, COUNT(*), {oldest_ago}
FROM {prefix}job j GROUP BY j.queue, {shown_state}
UNION ALL
SELECT queue, state, COUNT(*), NULL FROM {prefix}job_history GROUP BY queue, state;
