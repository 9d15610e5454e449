-- SQLite: the upkeep of queues, and managing jobs. The rules of job.sql; the contract:
-- src/jobs/job_queue_store.hpp. Before each statement that makes changes the store looks without
-- the write lock.

-- The columns of job row j, or of a row of the history: see info_in() in
-- src/jobs/sql_job_queue_store.cpp. The casts are for values that are no numbers: no trigger
-- refuses those in the columns that each claim writes, and the trigger of the other columns may be
-- gone.
-- fragment: info_columns
j.id, j.queue, j.kind, CAST(j.state AS INTEGER), CAST(j.priority AS INTEGER),
CAST(j.attempts AS INTEGER), CAST({attempts_max} AS INTEGER), CAST(j.rescues AS INTEGER),
CAST(j.token AS INTEGER), j.payload, j.unique_slot, j.ordering_key, j.node_info, j.progress,
j.error, CAST(CASE WHEN j.enqueued_at > 0 THEN {wall} - j.enqueued_at ELSE 0 END AS INTEGER)

-- fragment: queue_look
-- gives: has_available next_due_in next_fire_in maintained_ago some_are_needed some_wait
-- gives: some_are_blocked @queue_columns

-- The settings of a queue: see queue_in() in sql_job_queue_store.cpp.
-- fragment: queue_columns
q.is_paused, q.running_max, q.running_per_key_max, q.starts_max, q.starts_per, q.keep_completed,
       q.keep_discarded, q.keep_cancelled

-- $1 queue. Indexes: job_order, job_due, job_schedule_next. Reads: 5 rows.
-- name: look
-- gives: , @queue_look
SELECT EXISTS (SELECT 1 FROM {prefix}job j WHERE j.queue = $1 AND j.state = 2),
       (SELECT CAST(max(0, j.due_at - {wall}) AS INTEGER)
          FROM {prefix}job j
         WHERE j.queue = $1 AND j.due_at IS NOT NULL ORDER BY j.due_at, j.id LIMIT 1),
       (SELECT max(0, s.next_at - {wall})
          FROM {prefix}job_schedule s
         WHERE s.queue = $1 AND s.is_paused = 0 ORDER BY s.next_at LIMIT 1),
       {wall} - q.swept_at,
       EXISTS (SELECT 1 FROM {prefix}job_need),
       EXISTS (SELECT 1 FROM {prefix}job j WHERE j.queue = $1 AND j.due_at = {never}),
       EXISTS (SELECT 1 FROM {prefix}job j WHERE j.queue = $1 AND j.state = 5),
       {queue_columns}
  FROM (SELECT 1) AS always LEFT JOIN {prefix}queue q ON q.name = $1;

-- $1 queue, $2 how many. Index: job_due. Reads: 1 row for each.
-- name: due
SELECT id FROM {prefix}job
 WHERE queue = $1 AND due_at <= {wall} ORDER BY due_at, id LIMIT $2;

-- $1 queue, $2 id. A job that waits for an earlier one of its key is blocked. Reads: some rows.
-- name: promote
UPDATE {prefix}job AS j
   SET due_at = NULL, available_at = coalesce(nullif(max(due_at, enqueued_at), 0), {wall}),
       state = CASE WHEN j.ordering_key IS NOT NULL AND {before} >= {per_key} THEN 5 ELSE 2 END
 WHERE j.id = $2;

-- $1 queue, $2 every. Makes the row if it is missing. A time ahead of the clock, which was set
-- back, counts as long ago. Reads: 1 row.
-- name: begin_maintenance
INSERT INTO {prefix}queue AS q (name, swept_at) VALUES ($1, {wall})
ON CONFLICT (name) DO UPDATE SET swept_at = {wall}
 WHERE q.swept_at <= {wall} - $2 OR q.swept_at > {wall}
RETURNING name;

-- $1 queue, $2 how many. Running jobs of sessions that are expired, or missing. Index: job_order.
-- Reads: what runs in the queue, and a session for each.
-- name: lost
-- gives: , id ordering_key is_cancel_requested was_last
SELECT j.id, j.ordering_key, CAST(j.is_cancel_requested AS INTEGER), j.rescues + 1 >= {rescues_max}
  FROM {prefix}job j
 WHERE j.queue = $1 AND j.state = 3
   AND coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = j.session_id) <= {now}, 1)
 ORDER BY j.priority, j.id LIMIT $2;

-- $1 queue. Jobs whose due time is no number, or is beyond the year 9999. SQLite sorts text and
-- blobs behind all numbers, so one range finds both. Index: job_due. Reads: 1 row for each.
-- name: never_due
-- gives: id due_at ordering_key
SELECT id, quote(due_at), ordering_key FROM {prefix}job
 WHERE queue = $1 AND due_at > 253402300799999999 ORDER BY due_at, id LIMIT 100;

-- $1 id. Counts the last rescue of a lost job before the job is discarded.
-- name: count_rescue
UPDATE {prefix}job SET rescues = rescues + 1 WHERE id = $1 RETURNING rescues;

-- $1 id. Makes a lost job available again; its attempt does not count.
-- name: rescue
UPDATE {prefix}job
   SET state = 2, session_id = NULL, available_at = {wall}, attempts = attempts - 1,
       rescues = rescues + 1
 WHERE id = $1;

-- $1 queue, $2 how many keys are looked at, $3 the last key that was looked at. Answers the ids of
-- the blocked jobs among the first jobs of each key, of which it looks at as many as may run at a
-- time; and the last key if there were $2 keys. Looks at nothing if no job is blocked. Plain reads.
-- Indexes: job_order, job_ordering. Reads: some rows for each key, and what is not due before them.
-- name: look_at_keys
-- gives: id key
WITH RECURSIVE key_of AS (
    SELECT 1 AS number, (
        SELECT o.ordering_key FROM {prefix}job o
        WHERE o.queue = $1 AND o.ordering_key > $3
        ORDER BY o.ordering_key LIMIT 1) AS name
    FROM (SELECT 1 AS one) a WHERE EXISTS (
        SELECT 1 FROM {prefix}job b
        WHERE b.queue = $1 AND b.state = 5)
    UNION ALL
    SELECT k.number + 1, (
        SELECT o.ordering_key FROM {prefix}job o
        WHERE o.queue = $1 AND o.ordering_key > k.name
        ORDER BY o.ordering_key LIMIT 1)
    FROM key_of k WHERE k.number < $2 AND k.name IS NOT NULL
), first_of AS (
    SELECT k.name, 1 AS place, (
        SELECT p.id FROM {prefix}job p
        WHERE p.queue = $1 AND p.ordering_key = k.name AND p.state <> 1
        ORDER BY p.id LIMIT 1) AS id
    FROM key_of k WHERE k.name IS NOT NULL
    UNION ALL
    SELECT f.name, f.place + 1, (
        SELECT p.id FROM {prefix}job p
        WHERE p.queue = $1 AND p.ordering_key = f.name AND p.state <> 1 AND p.id > f.id
        ORDER BY p.id LIMIT 1)
    FROM first_of f
    WHERE f.id IS NOT NULL AND f.place < COALESCE((
        SELECT q.running_per_key_max FROM {prefix}queue q WHERE q.name = $1), 1)
)
SELECT f.id, NULL FROM first_of f
WHERE (SELECT j.state FROM {prefix}job j WHERE j.id = f.id) = 5
UNION ALL
SELECT NULL, k.name FROM key_of k WHERE k.number = $2 AND k.name IS NOT NULL;

-- $1 queue, $2 id.
-- name: unblock
UPDATE {prefix}job AS j SET state = 2 WHERE j.id = $2 AND j.state = 5 AND {before} < {per_key};

-- $1 queue, $2 1: only of kind $3, $4 how many at most. Kinds, and the number of jobs of each.
-- Indexes: job_order, job_kind. Reads: what it counts.
-- name: count_available
-- gives: kind jobs
SELECT a.kind, count(*)
  FROM (SELECT * FROM (
            SELECT j.kind FROM {prefix}job j
             WHERE j.queue = $1 AND j.state = 2 AND $2 = 0 ORDER BY j.priority, j.id LIMIT $4)
        UNION ALL
        SELECT * FROM (
            SELECT j.kind FROM {prefix}job j INDEXED BY {bare}job_kind
             WHERE j.queue = $1 AND j.state = 2 AND $2 = 1 AND j.kind = $3
             ORDER BY j.priority, j.id LIMIT $4)) AS a
 GROUP BY a.kind;

-- name: find_over
SELECT 1 FROM {prefix}job_history WHERE prune_at <= {wall} LIMIT 1;

-- $1 how many, $2 behind how many. Index: job_history_prune. Reads: 2 rows for each, and those
-- before them; all of the history, if the statistics of SQLite are of a table of one row.
-- name: prune
DELETE FROM {prefix}job_history WHERE id IN (
    SELECT h.id FROM {prefix}job_history h INDEXED BY {bare}job_history_prune
     WHERE h.prune_at <= {wall}
       AND NOT EXISTS (SELECT 1 FROM {prefix}job_need n INDEXED BY {bare}job_need_needs
                        WHERE n.needs_id = h.id)
     ORDER BY h.prune_at, h.id LIMIT $1 OFFSET $2);

-- ---- managing

-- $1 id. Indexes: job_history's primary key, job_need_needs. Reads: 2 rows.
-- name: remove
DELETE FROM {prefix}job_history
 WHERE id = $1
   AND NOT EXISTS (SELECT 1 FROM {prefix}job_need n INDEXED BY {bare}job_need_needs
                    WHERE n.needs_id = $1)
RETURNING id;

-- $1 id.
-- name: find_job
-- gives: queue ordering_key state is_cancel_requested
SELECT queue, ordering_key, CAST(state AS INTEGER), CAST(is_cancel_requested AS INTEGER)
  FROM {prefix}job WHERE id = $1
UNION ALL
SELECT CAST(queue AS TEXT), CAST(ordering_key AS TEXT), CAST(state AS INTEGER), 0
  FROM {prefix}job_history WHERE id = $1;

-- $1 id.
-- name: ask_to_cancel
UPDATE {prefix}job SET is_cancel_requested = 1 WHERE id = $1;

-- $1 id; $2 kind, $3 payload, $4 priority, null: it stays; $5 0, 1 if it must not wait for others,
-- or 2 if it is due then, too: at the later of $6 and $7 from now. Not if it runs. Reads: 1 row.
-- name: change
UPDATE {prefix}job
   SET kind = coalesce($2, kind), payload = coalesce($3, payload),
       priority = coalesce($4, priority),
       checkpoint = CASE WHEN $2 IS NULL AND $3 IS NULL THEN checkpoint END,
       due_at = CASE WHEN $5 < 2 THEN due_at ELSE max($6, {wall} + $7) END,
       available_at = CASE WHEN $5 < 2 THEN available_at END,
       state = CASE WHEN $5 = 2 AND state IN (2, 5) THEN 1 ELSE state END
 WHERE id = $1 AND state <> 3 AND ($5 = 0 OR due_at IS NULL OR due_at <> {never})
RETURNING id;

-- $1 id. Makes a job due that waits for its time. Reads: some rows.
-- name: hurry
UPDATE {prefix}job AS j
   SET due_at = NULL, available_at = {wall},
       state = CASE WHEN j.ordering_key IS NOT NULL AND EXISTS (
                        SELECT 1 FROM {prefix}job p
                         WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key
                           AND p.id < j.id AND p.state <> 1)
                    THEN 5 ELSE 2 END
 WHERE j.id = $1 AND j.due_at IS NOT NULL
RETURNING id;

-- $1 id. Enqueues an ended job again, without the checkpoint of one that completed: its row of the
-- history is deleted if the job exists again.
-- name: redrive
INSERT INTO {prefix}job ({job_columns}, failures, state, due_at, available_at)
SELECT id, queue, kind, priority, 0, 0, token, enqueued_at, attempts_max, rescues_max,
       retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key,
       node_info, NULL, traceparent, CASE WHEN state <> 6 THEN checkpoint END, checkpoint_at,
       payload, failures, 2, NULL, {wall}
  FROM {prefix}job_history WHERE id = $1
ON CONFLICT DO NOTHING;
DELETE FROM {prefix}job_history WHERE id = $1 AND changes() > 0;
SELECT 1 WHERE changes() > 0;

-- $1 id.
-- name: state_of
SELECT state FROM {prefix}job WHERE id = $1
UNION ALL
SELECT CAST(state AS INTEGER) FROM {prefix}job_history WHERE id = $1;

-- The state of job row j as people see it: a job that waits for others is due in the year 9999.
-- fragment: shown_state
CASE WHEN j.due_at = {never} THEN 5 ELSE j.state END

-- fragment: info_of_job
-- gives: id queue kind state priority attempts attempts_max rescues token payload unique_key
-- gives: ordering_key node_info progress error enqueued_ago due_in running_for is_cancel_requested
-- gives: ended_ago result
SELECT {info_columns}, CAST(j.due_at - {wall} AS INTEGER) AS due_in,
       CAST({wall} - j.claimed_at AS INTEGER) AS running_for,
       CAST(j.is_cancel_requested AS INTEGER) AS is_cancel_requested, NULL AS ended_ago,
       NULL AS result

-- fragment: info_of_ended
SELECT {info_columns}, NULL, NULL, 0, CAST({wall} - j.ended_at AS INTEGER),
       CAST(j.result AS TEXT)

-- $1 id. Reads: 2 rows.
-- name: describe
-- gives: @info_of_job failures traceparent checkpoint
{info_of_job}, {read_failures}, j.traceparent, {checkpoint}
  FROM {prefix}job j WHERE j.id = $1
UNION ALL
{info_of_ended}, {read_failures}, j.traceparent, j.checkpoint
  FROM {prefix}job_history j WHERE j.id = $1;

-- $1 the first id, $2 the last, $3 queue or '', $4 state or 0, $5 how many, $6 kind or '',
-- $7 ordering key or '', $8 a part of the error or '', $9 within how many microseconds or null.
-- The first two parts walk a primary key, past rows that were not asked for; from its first row on,
-- if the statistics of SQLite are of a table of one row.
-- fragment: is_asked_for
j.id BETWEEN $1 AND $2 AND ($3 = '' OR j.queue = $3) AND ($6 = '' OR j.kind = $6)
       AND ($7 = '' OR j.ordering_key = $7) AND ($8 = '' OR instr(j.error, $8) > 0)
       AND ($9 IS NULL OR {it} >= {wall} - $9)

-- fragment: jobs_asked_for
{info_of_job} FROM {prefix}job j
 WHERE $4 < 6 AND {is_asked_for j.enqueued_at} AND ($4 = 0 OR {shown_state} = $4)

-- fragment: ended_asked_for
{info_of_ended} FROM {prefix}job_history j
 WHERE ($4 = 0 OR ($4 > 5 AND $3 = '')) AND {is_asked_for j.ended_at}
   AND ($4 = 0 OR j.state = $4)

-- fragment: ended_of_state
{info_of_ended} FROM {prefix}job_history j INDEXED BY {bare}job_history_queue
 WHERE $3 <> '' AND $4 > 5 AND j.queue = $3 AND j.state = $4 AND {is_asked_for j.ended_at}

-- name: list
-- gives: @info_of_job
SELECT * FROM (
    SELECT * FROM ({jobs_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    SELECT * FROM ({ended_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    SELECT * FROM ({ended_of_state} ORDER BY j.id LIMIT $5))
 ORDER BY id LIMIT $5;

-- name: list_newest
-- gives: @info_of_job
SELECT * FROM (
    SELECT * FROM ({jobs_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    SELECT * FROM ({ended_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    SELECT * FROM ({ended_of_state} ORDER BY j.id DESC LIMIT $5))
 ORDER BY id DESC LIMIT $5;

-- $1 the first id, $2 the last, $3 how many jobs are passed over in each table. Reads: $3 rows of
-- each.
-- name: nth_job
SELECT min(nth.id) FROM (
    SELECT * FROM (SELECT j.id FROM {prefix}job j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)
    UNION ALL
    SELECT * FROM (SELECT j.id FROM {prefix}job_history j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)) AS nth;

-- name: nth_job_newest
SELECT max(nth.id) FROM (
    SELECT * FROM (SELECT j.id FROM {prefix}job j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)
    UNION ALL
    SELECT * FROM (SELECT j.id FROM {prefix}job_history j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)) AS nth;

-- $1 name. Reads: 1 row.
-- name: find_queue
-- gives: @queue_columns
SELECT {queue_columns} FROM {prefix}queue q WHERE q.name = $1;

-- $1 name, $2 to $8 the limits, times in microseconds. If the rate changes, past starts no longer
-- count.
-- name: set_limits
INSERT INTO {prefix}queue
    (name, running_max, running_per_key_max, starts_max, starts_per, keep_completed, keep_discarded,
     keep_cancelled)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO UPDATE
   SET running_max = $2, running_per_key_max = $3, starts_max = $4, starts_per = $5,
       starts_from = CASE WHEN starts_max IS $4 AND starts_per = $5 THEN starts_from ELSE 0 END,
       keep_completed = $6, keep_discarded = $7, keep_cancelled = $8;

-- $1 name, $2 whether the queue is paused.
-- name: set_paused
INSERT INTO {prefix}queue (name, is_paused) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET is_paused = $2;

-- The queues with a row, and those with jobs alone: a walk from name to name along job_order.
-- Reads: some rows for each queue.
-- name: queue_names
WITH RECURSIVE in_order (queue) AS (
    SELECT min(j.queue) FROM {prefix}job j
    UNION ALL
    SELECT (SELECT min(j.queue) FROM {prefix}job j WHERE j.queue > o.queue)
      FROM in_order o WHERE o.queue IS NOT NULL
)
SELECT queue FROM in_order WHERE queue IS NOT NULL
UNION
SELECT name FROM {prefix}queue
ORDER BY 1;

-- $1 name. Reads all jobs of the queue.
-- name: count_jobs
-- gives: state jobs oldest_ago
SELECT CAST({shown_state} AS INTEGER), count(*),
       CAST({wall} - min(max(coalesce(available_at, 0), enqueued_at)) AS INTEGER)
  FROM {prefix}job j WHERE j.queue = $1 GROUP BY {shown_state}
UNION ALL
SELECT CAST(state AS INTEGER), count(*), NULL
  FROM {prefix}job_history WHERE queue = $1 GROUP BY 1;

-- The settings of the queues that have a row.
-- name: queue_rows
-- gives: name @queue_columns
SELECT q.name, {queue_columns} FROM {prefix}queue q;

-- As count_jobs, for all queues. Reads all jobs.
-- name: count_all_jobs
-- gives: queue @count_jobs
SELECT j.queue, CAST({shown_state} AS INTEGER), count(*),
       CAST({wall} - min(max(coalesce(available_at, 0), enqueued_at)) AS INTEGER)
  FROM {prefix}job j GROUP BY j.queue, {shown_state}
UNION ALL
SELECT CAST(queue AS TEXT), CAST(state AS INTEGER), count(*), NULL
  FROM {prefix}job_history GROUP BY queue, state;
