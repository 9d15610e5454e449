-- The upkeep of queues, and managing jobs, on PostgreSQL. The rules of hold.sql and job.sql; the
-- contract: src/jobs/job_queue_store.hpp.

-- The columns of job row j, or of a row of the history: see info_in() in job_queue_store.cpp.
-- fragment: info_columns
j.id, j.queue, j.kind, j.state, j.priority, j.attempts, {attempts_max}, j.rescues, j.token,
j.payload, j.unique_slot, j.ordering_key, j.node_info, j.progress, j.error, {since j.enqueued_at}

-- The microseconds until job row j is due. A due time that was written by hand may be infinite:
-- then the job is never due.
-- fragment: due_in
CASE WHEN j.due_at > clock_timestamp() THEN {until j.due_at}
            WHEN j.due_at IS NOT NULL THEN 0 END

-- fragment: queue_look
-- gives: has_available next_due_in next_fire_in maintained_ago some_are_needed some_wait
-- gives: some_are_blocked @queue_columns

-- The settings of a queue: see queue_in() in sql_job_queue_store.cpp.
-- fragment: queue_columns
q.is_paused, q.running_max, q.running_per_key_max, q.starts_max, q.starts_per, q.keep_completed,
       q.keep_discarded, q.keep_cancelled

-- The first table that a worker reads and that may hide rows from this user; the user, and the
-- remedy. A policy for all commands whose condition is true shows all rows, if no other policy
-- restricts it. Reads: no row of ours.
-- name: hidden_table
-- gives: table user remedy
SELECT t.name, current_user::text,
       'as the owner ALTER TABLE ' || t.name || ' DISABLE ROW LEVEL SECURITY, or as a superuser '
           || 'ALTER ROLE ' || quote_ident(current_user) || ' BYPASSRLS'
  FROM (VALUES ('{prefix}job'), ('{prefix}queue'), ('{prefix}session'), ('{prefix}job_schedule'),
               ('{prefix}job_need'), ('{prefix}job_history')) AS t (name)
 WHERE row_security_active(t.name)
   AND (EXISTS (SELECT FROM pg_policy p
                 WHERE p.polrelid = t.name::regclass AND NOT p.polpermissive)
     OR NOT EXISTS (SELECT FROM pg_policy p, unnest(p.polroles) AS r (member)
                     WHERE p.polrelid = t.name::regclass AND p.polpermissive AND p.polcmd = '*'
                       AND pg_get_expr(p.polqual, p.polrelid) = 'true'
                       AND CASE WHEN r.member = 0 THEN true
                                ELSE pg_has_role(r.member, 'usage') END))
 LIMIT 1;

-- $1 list of queues. One snapshot, by the clock. Indexes: job_order, job_due, job_schedule_next,
-- queue_pkey. Reads: 5 rows for each.
-- name: look
-- gives: number @queue_look
SELECT a.number,
       ((SELECT j.id FROM {prefix}job j
          WHERE j.queue = a.name AND j.state = 2
          ORDER BY j.priority, j.id LIMIT 1) IS NOT NULL)::int,
       (SELECT {due_in}
          FROM {prefix}job j
         WHERE j.queue = a.name AND j.due_at IS NOT NULL
         ORDER BY j.queue, j.due_at, j.id LIMIT 1),
       (SELECT greatest(0, s.next_at - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
          FROM {prefix}job_schedule s
         WHERE s.queue = a.name AND s.is_paused = 0
         ORDER BY s.queue, s.is_paused, s.next_at LIMIT 1),
       CASE WHEN isfinite(q.swept_at)
            THEN {since q.swept_at} END,
       (EXISTS (SELECT FROM {prefix}job_need))::int,
       ((SELECT j.id FROM {prefix}job j
          WHERE j.queue = a.name AND j.due_at BETWEEN {never} AND {never}
          ORDER BY j.due_at, j.id LIMIT 1) IS NOT NULL)::int,
       ((SELECT j.id FROM {prefix}job j
          WHERE j.queue = a.name AND j.state = 5
          ORDER BY j.priority, j.id LIMIT 1) IS NOT NULL)::int, {queue_columns}
  FROM unnest($1::text::text[]) WITH ORDINALITY AS a (name, number)
  LEFT JOIN LATERAL (SELECT * FROM {prefix}queue o WHERE o.name = a.name LIMIT 1) AS q ON true
 ORDER BY a.number;

-- $1 queue, $2 how many. A subquery reads the clock: a bare call may change from row to row, so it
-- cannot bound a range of an index. A job that waits for an earlier one of its key is blocked.
-- Indexes: job_due, job_ordering. Reads: some rows for each.
-- name: promote
WITH due AS MATERIALIZED (
    SELECT j.id
      FROM {prefix}job j
     WHERE j.queue = $1 AND j.due_at <= (SELECT clock_timestamp())
     ORDER BY j.queue, j.due_at, j.id
     LIMIT (SELECT $2::bigint)
       FOR NO KEY UPDATE OF j SKIP LOCKED
)
UPDATE {prefix}job AS j
   SET due_at = NULL, available_at = greatest(j.due_at, j.enqueued_at),
       state = CASE WHEN j.ordering_key IS NOT NULL AND {before} >= {per_key} THEN 5 ELSE 2 END
 WHERE j.id = ANY (ARRAY(SELECT id FROM due)) AND j.state + 0 IN (1, 4);

-- $1 queue, $2 every. Makes the row if it is missing. Waits for a claim in turn. Reads: 1 row.
-- name: begin_maintenance
INSERT INTO {prefix}queue AS q (name, swept_at) VALUES ($1, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET swept_at = clock_timestamp()
 WHERE q.swept_at <= clock_timestamp() - $2::bigint * interval '1 microsecond'
    OR q.swept_at > clock_timestamp()
RETURNING q.name;

-- $1 queue, $2 how many, $3 the microseconds that a discarded job is kept, or -1, $4 the same for
-- cancelled ones.
--
-- seen: one snapshot: the running jobs whose session is expired or missing. Each session is read by
--       a subquery of one value, which only its primary key serves: a join would read all sessions.
--       OFFSET makes the planner read it once. Reads: what runs, and a session for each.
-- dead: the proof for sessions with a row. A row that a heartbeat in flight has locked is skipped.
-- lost: skips jobs that a worker is ending, and tests that token and session are those that were
--       seen. The limit counts only jobs that nobody has locked.
-- A job with a request to cancel it ends as cancelled.
-- name: rescue
-- gives: rescued quarantined
WITH seen AS MATERIALIZED (
    SELECT r.id, r.token, r.session_id, r.expires_at IS NULL AS is_removed
      FROM (SELECT j.id, j.token, j.session_id,
                   (SELECT s.expires_at FROM {prefix}session s WHERE s.id = j.session_id)
                       AS expires_at
              FROM {prefix}job j
             WHERE j.queue = $1 AND j.state = 3
             ORDER BY j.priority, j.id
            OFFSET 0) AS r
     WHERE r.expires_at IS NULL OR r.expires_at <= clock_timestamp()
), dead AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}session s
     WHERE s.id = ANY (ARRAY(SELECT session_id FROM seen WHERE NOT is_removed))
       AND s.expires_at <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), lost AS MATERIALIZED (
    SELECT j.id, j.queue, j.ordering_key,
           CASE WHEN j.is_cancel_requested = 1 THEN 8
                WHEN j.rescues + 1 >= {rescues_max} THEN 7 ELSE 2 END AS to_state
      FROM seen
     CROSS JOIN LATERAL (
        SELECT * FROM {prefix}job o
         WHERE o.id = seen.id AND o.token = seen.token AND o.session_id = seen.session_id
           AND o.state + 0 = 3
           FOR UPDATE OF o SKIP LOCKED) AS j
     WHERE seen.is_removed OR (seen.session_id IN (SELECT id FROM dead)) IS TRUE
     LIMIT (SELECT $2::bigint)
), gone AS (
    DELETE FROM {prefix}job AS j
     USING lost l
     WHERE j.id = l.id AND l.to_state > 5
    RETURNING j.*, l.to_state, {durable}
), kept AS (
    INSERT INTO {prefix}job_history
        ({job_columns}, failures, error, state, ended_at, prune_at)
    SELECT j.id, j.queue, j.kind, j.priority, j.attempts, j.rescues + 1, j.token, j.enqueued_at,
           j.attempts_max, j.rescues_max, j.retry_delay, j.retry_delay_max, j.time_limit,
           j.unique_until, j.unique_slot, j.ordering_key, j.node_info, j.progress, j.traceparent,
           j.checkpoint, j.checkpoint_at, j.payload, {failures_with 'its worker died'},
           CASE WHEN j.to_state = 7
                THEN 'quarantined: its workers died ' || j.rescues + 1 || ' times' ELSE j.error END,
           j.to_state, clock_timestamp(),
           clock_timestamp() + CASE WHEN j.to_state = 7 THEN $3::bigint ELSE $4::bigint END
                               * interval '1 microsecond'
      FROM gone j
     WHERE CASE WHEN j.to_state = 7 THEN $3::bigint ELSE $4::bigint END >= 0
), back AS (
    UPDATE {prefix}job AS j
       SET state = 2, session_id = NULL, available_at = clock_timestamp(),
           failures = {failures_with 'its worker died'}, attempts = j.attempts - 1,
           rescues = j.rescues + 1
     WHERE j.id = ANY (ARRAY(SELECT id FROM lost WHERE to_state = 2))
    RETURNING j.id, {durable}
), next AS MATERIALIZED (
    SELECT n.id
      FROM (SELECT queue, ordering_key, count(*) AS places
              FROM lost
             WHERE ordering_key IS NOT NULL AND to_state > 5
             GROUP BY queue, ordering_key) AS m
     CROSS JOIN LATERAL (
        SELECT b.id FROM {prefix}job b
         WHERE b.queue = m.queue AND {behind_m}
         ORDER BY b.ordering_key, b.id
         LIMIT m.places
           FOR NO KEY UPDATE OF b SKIP LOCKED) AS n
), {freed}
SELECT (SELECT count(*) FROM lost WHERE to_state = 2),
       (SELECT count(*) FROM lost WHERE to_state = 7);

-- $1 queue, $2 how many keys are looked at, $3 the last key that was looked at. Frees the blocked
-- jobs among the first jobs of each key, of which it looks at as many as may run at a time. If no
-- job is blocked, it looks at nothing. The answer is the last key if there were $2 keys, else null,
-- and how many jobs were freed. Indexes: job_order, job_ordering. Reads: some rows for each key,
-- and what is not due before them.
-- name: unblock
-- gives: key freed
WITH RECURSIVE keys AS (
    SELECT 1::bigint AS number,
           (SELECT o.ordering_key FROM {prefix}job o
             WHERE o.queue = $1 AND o.ordering_key > $3::text
             ORDER BY o.ordering_key LIMIT 1) AS name
     WHERE (SELECT b.id FROM {prefix}job b
             WHERE b.queue = $1 AND b.state = 5
             ORDER BY b.priority, b.id LIMIT 1) IS NOT NULL
    UNION ALL
    SELECT k.number + 1,
           (SELECT o.ordering_key FROM {prefix}job o
             WHERE o.queue = $1 AND o.ordering_key > k.name
             ORDER BY o.ordering_key LIMIT 1)
      FROM keys k WHERE k.number < $2::bigint AND k.name IS NOT NULL
), looked AS MATERIALIZED (
    SELECT n.id
      FROM keys k
     CROSS JOIN LATERAL (
        SELECT p.id, p.state FROM {prefix}job p
         WHERE p.queue = $1 AND p.ordering_key BETWEEN k.name AND k.name AND p.state + 0 <> 1
         ORDER BY p.ordering_key, p.id
         LIMIT {per_key}) AS n
     WHERE n.state = 5
), freed AS (
    UPDATE {prefix}job AS j SET state = 2
     WHERE j.id = ANY (ARRAY(
            SELECT b.id FROM {prefix}job b
             WHERE b.id = ANY (ARRAY(SELECT id FROM looked)) AND b.state + 0 = 5
               FOR NO KEY UPDATE OF b SKIP LOCKED)) AND j.state + 0 = 5
    RETURNING j.id
)
SELECT (SELECT k.name FROM keys k WHERE k.number = $2::bigint), (SELECT count(*) FROM freed);

-- $1 queue, $2 1: only of kind $3, $4 how many at most. Kinds, and the number of jobs of each.
-- Indexes: job_order, job_kind. Reads: what it counts.
-- name: count_available
-- gives: kind jobs
SELECT a.kind, count(*)
  FROM ((SELECT j.kind FROM {prefix}job j
          WHERE j.queue = $1 AND j.state = 2 AND $2::integer = 0
          ORDER BY j.priority, j.id LIMIT (SELECT $4::bigint))
        UNION ALL
        (SELECT j.kind FROM {prefix}job j
          WHERE j.queue = $1 AND j.state = 2 AND $2::integer = 1 AND j.kind BETWEEN $3 AND $3
          ORDER BY j.kind, j.priority, j.id LIMIT (SELECT $4::bigint))) AS a
 GROUP BY a.kind;

-- $1 how many, $2 behind how many. By primary key. Index: job_history_prune. Reads: 2 rows for
-- each, and those before them.
-- name: prune
WITH over AS MATERIALIZED (
    SELECT h.id FROM {prefix}job_history h
     WHERE h.prune_at <= (SELECT clock_timestamp())
       AND (SELECT n.needs_id FROM {prefix}job_need n
             WHERE n.needs_id BETWEEN h.id AND h.id
             ORDER BY n.needs_id, n.job_id LIMIT 1) IS NULL
     ORDER BY h.prune_at, h.id LIMIT (SELECT $1::bigint) OFFSET (SELECT $2::bigint)
       FOR UPDATE OF h SKIP LOCKED
)
DELETE FROM {prefix}job_history WHERE id = ANY (ARRAY(SELECT id FROM over));

-- ---- managing

-- $1 id. Indexes: job_history_pkey, job_need_needs. Reads: 2 rows.
-- name: remove
DELETE FROM {prefix}job_history AS h
 WHERE h.id = $1
   AND (SELECT n.needs_id FROM {prefix}job_need n
         WHERE n.needs_id BETWEEN $1 AND $1
         ORDER BY n.needs_id, n.job_id LIMIT 1) IS NULL
RETURNING h.id, {durable};

-- $1 id, $2 the microseconds that the job is kept, or -1. If a claim comes between the two changes,
-- neither is made and the caller sends the statement again. Reads: some rows.
-- name: cancel
-- gives: , cancelled requested in_history in_jobs
WITH gone AS (
    DELETE FROM {prefix}job AS j WHERE j.id = $1 AND j.state <> 3
    RETURNING {job_columns}, failures, error, state, {durable}
), kept AS (
    INSERT INTO {prefix}job_history
        ({job_columns}, failures, error, state, ended_at, prune_at)
    SELECT {job_columns}, failures, error, 8, clock_timestamp(),
           clock_timestamp() + $2::bigint * interval '1 microsecond'
      FROM gone WHERE $2::bigint >= 0
), asked AS (
    UPDATE {prefix}job AS j SET is_cancel_requested = 1 WHERE j.id = $1 AND j.state + 0 = 3
    RETURNING j.id, {durable}
), next AS MATERIALIZED (
    SELECT n.id
      FROM gone m
     CROSS JOIN LATERAL (
        SELECT b.id FROM {prefix}job b
         WHERE b.queue = m.queue AND {behind_m} AND b.id <> m.id
         ORDER BY b.ordering_key, b.id
         LIMIT 1
           FOR NO KEY UPDATE OF b SKIP LOCKED) AS n
     WHERE m.ordering_key IS NOT NULL AND m.state <> 5
), {freed}
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM asked),
       (SELECT count(*) FROM {prefix}job_history h WHERE h.id = $1),
       (SELECT count(*) FROM {prefix}job h WHERE h.id = $1);

-- $1 id; $2 kind, $3 payload, $4 priority, null: it stays; $5 0, 1 if it must not wait for others,
-- or 2 if it is due then, too: at the later of $6 and $7 from now. Not if it runs. Reads: 1 row.
-- name: change
UPDATE {prefix}job AS j
   SET kind = coalesce($2::text, j.kind), payload = coalesce($3::text, j.payload),
       priority = coalesce($4::smallint, j.priority),
       checkpoint = CASE WHEN $2::text IS NULL AND $3::text IS NULL THEN j.checkpoint END,
       due_at = CASE WHEN $5::integer < 2 THEN j.due_at
                     ELSE greatest('epoch'::timestamptz + $6::bigint * interval '1 microsecond',
                                   clock_timestamp() + $7::bigint * interval '1 microsecond') END,
       available_at = CASE WHEN $5::integer < 2 THEN j.available_at END,
       state = CASE WHEN $5::integer = 2 AND j.state IN (2, 5) THEN 1 ELSE j.state END
 WHERE j.id = $1 AND j.state + 0 <> 3 AND ($5::integer = 0 OR j.due_at IS DISTINCT FROM {never})
RETURNING j.id, {durable};

-- $1 id. Makes a job due that waits for its time. Reads: 1 row.
-- name: hurry
UPDATE {prefix}job AS j
   SET due_at = NULL, available_at = clock_timestamp(),
       state = CASE WHEN j.ordering_key IS NOT NULL AND (
                        SELECT p.id FROM {prefix}job p
                         WHERE p.queue = j.queue AND {first_of_j}
                         ORDER BY p.ordering_key, p.id LIMIT 1) < j.id
                    THEN 5 ELSE 2 END
 WHERE j.id = $1 AND j.state + 0 IN (1, 4)
RETURNING j.id, {durable};

-- $1 id. Enqueues an ended job again, without the checkpoint of one that completed: its row of the
-- history is deleted if the job exists again.
-- name: redrive
WITH again AS MATERIALIZED (
    SELECT {job_columns}, failures, state FROM {prefix}job_history WHERE id = $1 FOR UPDATE
), made AS (
    INSERT INTO {prefix}job AS j ({job_columns}, failures, state, due_at, available_at)
    SELECT id, queue, kind, priority, 0, 0, token, enqueued_at, attempts_max, rescues_max,
           retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key,
           node_info, NULL, traceparent, CASE WHEN state <> 6 THEN checkpoint END, checkpoint_at,
           payload, failures, 2, NULL, clock_timestamp()
      FROM again
    ON CONFLICT DO NOTHING
    RETURNING j.id, {durable}
)
DELETE FROM {prefix}job_history WHERE id IN (SELECT id FROM made);

-- $1 id.
-- name: state_of
SELECT state FROM {prefix}job WHERE id = $1
UNION ALL
SELECT state FROM {prefix}job_history WHERE id = $1;

-- The state of job row j as people see it: a job that waits for others is due in the year 9999.
-- fragment: shown_state
CASE WHEN j.due_at = {never} THEN 5 ELSE j.state END

-- fragment: info_of_job
-- gives: id queue kind state priority attempts attempts_max rescues token payload unique_key
-- gives: ordering_key node_info progress error enqueued_ago due_in running_for is_cancel_requested
-- gives: ended_ago result
SELECT {info_columns}, {due_in} AS due_in, {since j.claimed_at} AS running_for,
            j.is_cancel_requested, NULL::bigint AS ended_ago, NULL::text AS result

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
-- $7 ordering key or '', $8 a part of the error or '', $9 within how many microseconds or null. The
-- first two parts walk a primary key, past rows that were not asked for. The planner takes a CASE
-- for true in half of the rows: if it believed that few rows are asked for, it would read and sort
-- them all. The third part reads no rows of other states, by job_history_queue, where both queue
-- and state are given.
-- fragment: is_asked_for
($6 = '' OR j.kind = $6) AND ($7 = '' OR j.ordering_key = $7)
             AND ($8 = '' OR position($8 IN j.error) > 0)
             AND ($9::bigint IS NULL
                  OR {it} >= clock_timestamp() - $9::bigint * interval '1 microsecond')

-- fragment: jobs_asked_for
{info_of_job} FROM {prefix}job j
      WHERE $4::bigint < 6 AND j.id BETWEEN $1 AND $2
        AND CASE WHEN ($3 = '' OR j.queue = $3) AND ($4::bigint = 0 OR {shown_state} = $4::bigint)
                 THEN {is_asked_for j.enqueued_at} END

-- fragment: ended_asked_for
{info_of_ended} FROM {prefix}job_history j
      WHERE ($4::bigint = 0 OR ($4::bigint > 5 AND $3 = '')) AND j.id BETWEEN $1 AND $2
        AND CASE WHEN ($3 = '' OR j.queue = $3) AND ($4::bigint = 0 OR j.state = $4::bigint)
                 THEN {is_asked_for j.ended_at} END

-- fragment: ended_of_state
{info_of_ended} FROM {prefix}job_history j
      WHERE $3 <> '' AND $4::bigint > 5
        AND j.queue = $3 AND j.state = $4::bigint AND j.id BETWEEN $1 AND $2
        AND CASE WHEN $5 > 0 THEN {is_asked_for j.ended_at} END

-- name: list
-- gives: @info_of_job
SELECT * FROM (
    ({jobs_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    ({ended_asked_for} ORDER BY j.id LIMIT $5)
    UNION ALL
    ({ended_of_state}
      ORDER BY j.queue, j.state, j.id LIMIT (SELECT $5::bigint))) AS all_of_them
 ORDER BY id LIMIT $5;

-- name: list_newest
-- gives: @info_of_job
SELECT * FROM (
    ({jobs_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    ({ended_asked_for} ORDER BY j.id DESC LIMIT $5)
    UNION ALL
    ({ended_of_state}
      ORDER BY j.queue DESC, j.state DESC, j.id DESC LIMIT (SELECT $5::bigint))) AS all_of_them
 ORDER BY id DESC LIMIT $5;

-- $1 the first id, $2 the last, $3 how many jobs are passed over in each table. Reads: $3 rows of
-- each.
-- name: nth_job
SELECT min(nth.id) FROM (
    (SELECT j.id FROM {prefix}job j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)
    UNION ALL
    (SELECT j.id FROM {prefix}job_history j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id LIMIT 1 OFFSET $3)) AS nth;

-- name: nth_job_newest
SELECT max(nth.id) FROM (
    (SELECT j.id FROM {prefix}job j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)
    UNION ALL
    (SELECT j.id FROM {prefix}job_history j WHERE j.id BETWEEN $1 AND $2
      ORDER BY j.id DESC LIMIT 1 OFFSET $3)) AS nth;

-- $1 name. Reads: 1 row.
-- name: find_queue
-- gives: @queue_columns
SELECT {queue_columns} FROM {prefix}queue q WHERE q.name = $1;

-- $1 name, $2 to $8 the limits, times in microseconds. The new turn refuses claims under way that
-- use the former limits. If the rate changes, past starts no longer count.
-- name: set_limits
INSERT INTO {prefix}queue AS q
    (name, running_max, running_per_key_max, starts_max, starts_per, keep_completed, keep_discarded,
     keep_cancelled)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO UPDATE
   SET running_max = $2, running_per_key_max = $3, starts_max = $4, starts_per = $5,
       starts_from = CASE WHEN q.starts_max IS NOT DISTINCT FROM $4 AND q.starts_per = $5
                          THEN q.starts_from ELSE 'epoch' END,
       keep_completed = $6, keep_discarded = $7, keep_cancelled = $8, turn = q.turn + 1
RETURNING {durable};

-- $1 name, $2 whether the queue is paused.
-- name: set_paused
INSERT INTO {prefix}queue AS q (name, is_paused) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET is_paused = $2, turn = q.turn + 1
RETURNING {durable};

-- The queues with a row, and those with jobs alone: a walk from name to name along the indexes.
-- Reads: some rows for each queue.
-- name: queue_names
WITH RECURSIVE {queues_in_order}, waiting AS (
    (SELECT j.queue FROM {prefix}job j WHERE j.due_at IS NOT NULL ORDER BY j.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM {prefix}job j
             WHERE j.due_at IS NOT NULL AND j.queue > o.queue ORDER BY j.queue LIMIT 1)
      FROM waiting o WHERE o.queue IS NOT NULL
)
SELECT queue FROM in_order WHERE queue IS NOT NULL
UNION
SELECT queue FROM waiting WHERE queue IS NOT NULL
UNION
SELECT name FROM {prefix}queue
ORDER BY 1;

-- $1 name. Reads all jobs of the queue.
-- name: count_jobs
-- gives: state jobs oldest_ago
SELECT {shown_state}, count(*),
       {since min(greatest(j.available_at, j.enqueued_at))}
  FROM {prefix}job j WHERE j.queue = $1 GROUP BY {shown_state}
UNION ALL
SELECT state, count(*), NULL FROM {prefix}job_history WHERE queue = $1 GROUP BY state;

-- The settings of the queues that have a row.
-- name: queue_rows
-- gives: name @queue_columns
SELECT q.name, {queue_columns} FROM {prefix}queue q;

-- As count_jobs, for all queues. Reads all jobs.
-- name: count_all_jobs
-- gives: queue @count_jobs
SELECT j.queue, {shown_state}, count(*),
       {since min(greatest(j.available_at, j.enqueued_at))}
  FROM {prefix}job j GROUP BY j.queue, {shown_state}
UNION ALL
SELECT queue, state, count(*), NULL FROM {prefix}job_history GROUP BY queue, state;
