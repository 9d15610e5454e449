-- SQLite: jobs. Times in their tables are of the wall clock, since a due time is a date; sessions
-- expire by the clock since boot. A session without a row is dead here: a claim is only made while
-- the row exists, and a reboot removes all sessions. The contract: src/jobs/job_store.hpp.
--
-- There is one writer at a time, so each claim counts the running jobs, and no limit needs a turn.
-- A statement costs no round trip, so each list is a loop of statements in one write transaction.

-- The columns of a claimed job row. `waited`: microseconds before this claim; null: not known.
-- fragment: claimed_columns
-- gives: id token kind payload attempts rescues ordering_key attempts_max retry_delay
-- gives: retry_delay_max time_limit rescues_max waited traceparent checkpoint
id, token, kind, payload, attempts, rescues, ordering_key, attempts_max, retry_delay,
    retry_delay_max, time_limit, rescues_max,
    CAST(claimed_at - nullif(max(coalesce(available_at, 0), enqueued_at), 0) AS INTEGER),
    traceparent, {checkpoint}

-- ---- enqueuing

-- $1 queue, $2 kind, $3 payload, $4 priority, $5 due time in microseconds since 1970 or -1, $6
-- delay, $7 unique key or '', $8 until 1 started 2 ended, $9 ordering key or '', $10 attempts, $11
-- and $12 delays of retries, $13 time limit or -1, $14 rescues, $15 traceparent or ''. Default
-- values are stored as null. A job is blocked if others of its key stand before it. Indexes:
-- job_unique, job_ordering.
-- name: insert
INSERT INTO {prefix}job
    (queue, kind, state, priority, enqueued_at, due_at, attempts_max, rescues_max, retry_delay,
     retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, traceparent, payload)
SELECT $1, $2,
       CASE WHEN a.due_at IS NOT NULL THEN 1
            WHEN $9 <> '' AND (SELECT count(*) FROM (
                     SELECT 1 FROM {prefix}job p
                      WHERE p.queue = $1 AND p.ordering_key = $9 AND p.state <> 1
                      LIMIT {per_key})) >= {per_key} THEN 5
            ELSE 2 END,
       $4, {wall}, a.due_at, nullif($10, 20), nullif($14, 3), nullif($11, 5000000),
       nullif($12, 3600000000), nullif($13, -1), nullif($8, 2), nullif($7, ''), nullif($9, ''),
       nullif($15, ''), $3
  FROM (SELECT CASE WHEN $5 > {wall} THEN $5
                    WHEN $5 < 0 AND $6 > 0 THEN {wall} + $6 END AS due_at) AS a
 WHERE true
ON CONFLICT (queue, unique_slot) WHERE unique_slot IS NOT NULL DO NOTHING
RETURNING id;

-- Jobs that are due, without keys, and alike in all but {rows}, of which each is a kind, a payload
-- and a priority: $1 queue, $2 attempts, $3 rescues, $4 and $5 delays of retries, $6 time limit or
-- -1, $7 traceparent or ''. AUTOINCREMENT costs a write for each statement, not for each row.
-- name: insert_plain
WITH a (kind, payload, priority) AS (VALUES {rows})
INSERT INTO {prefix}job
    (queue, kind, state, priority, enqueued_at, due_at, attempts_max, rescues_max, retry_delay,
     retry_delay_max, time_limit, traceparent, payload)
SELECT $1, a.kind, 2, a.priority, {wall}, NULL, nullif($2, 20), nullif($3, 3), nullif($4, 5000000),
       nullif($5, 3600000000), nullif($6, -1), nullif($7, ''), a.payload
  FROM a
RETURNING id;

-- $1 queue, $2 unique key. The job, and whether it runs. Index: job_unique. Reads: 1 row.
-- name: find_unique
-- gives: id is_running
SELECT id, state = 3 FROM {prefix}job WHERE queue = $1 AND unique_slot = $2;

-- $1 queue, $2 unique key, $3 kind, $4 payload, $5 priority, $6 due time or -1, $7 delay, $8
-- attempts, $9 rescues, $10 and $11 delays of retries, $12 time limit or -1, $13 traceparent or '',
-- $14 until 1 started 2 ended. A running job stays as it is: then no row is answered. Reads: 1 row.
-- name: replace
UPDATE {prefix}job AS j
   SET kind = $3, payload = $4, priority = $5, enqueued_at = {wall}, available_at = NULL,
       attempts = 0, rescues = 0, error = NULL, failures = NULL, progress = NULL,
       checkpoint = NULL, traceparent = nullif($13, ''), attempts_max = nullif($8, 20),
       rescues_max = nullif($9, 3), retry_delay = nullif($10, 5000000),
       retry_delay_max = nullif($11, 3600000000), time_limit = nullif($12, -1),
       unique_until = nullif($14, 2),
       due_at = CASE WHEN j.due_at = {never} THEN j.due_at ELSE n.due_at END,
       state = CASE WHEN j.due_at = {never} OR n.due_at IS NOT NULL THEN 1
                    WHEN j.state = 5 THEN 5 ELSE 2 END
  FROM (SELECT CASE WHEN $6 > {wall} THEN $6
                    WHEN $6 < 0 AND $7 > 0 THEN {wall} + $7 END AS due_at) AS n
 WHERE j.queue = $1 AND j.unique_slot = $2 AND j.state <> 3
RETURNING id;

-- ---- claiming

-- The time until which past starts are paid for. A clock that was set back makes no claim wait for
-- more than one of the queue's periods.
-- fragment: starts_from
max({wall}, min(CAST(q.starts_from AS INTEGER), {wall} + q.starts_per))

-- $1 queue, $2 session, $3 how many are wanted. Says whether the session is live, how many jobs may
-- start now, how many of an ordering key at a time, and whether starts are counted. It is sent
-- without the write lock first. Indexes: job_order. Reads: what runs in the queue, where that
-- is limited.
-- name: room
-- gives: is_live jobs per_key is_paid_for
SELECT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = $2 AND s.expires_at > {now}),
       CASE WHEN coalesce(q.is_paused, 0) = 1 THEN 0 ELSE max(0, min(
           $3,
           CASE WHEN q.running_max IS NULL THEN $3 ELSE q.running_max - (
               SELECT count(*) FROM {prefix}job r WHERE r.queue = $1 AND r.state = 3) END,
           CASE WHEN q.starts_max IS NULL THEN $3 ELSE CAST(
               ({wall} - {starts_from} + q.starts_per) * q.starts_max / q.starts_per
               AS INTEGER) END)) END,
       coalesce(q.running_per_key_max, 1), q.starts_max IS NOT NULL
  FROM (SELECT 1) AS always LEFT JOIN {prefix}queue q ON q.name = $1;

-- $1 queue, $2 how many. The available jobs, in the order of job_order, which is the index.
-- name: available
-- gives: id ordering_key priority
SELECT j.id, j.ordering_key, CAST(j.priority AS INTEGER)
  FROM {prefix}job j
 WHERE j.queue = $1 AND j.state = 2
 ORDER BY j.priority, j.id LIMIT $2;

-- As `available`, for kind $3. Index: job_kind.
-- name: available_of_kind
-- gives: id ordering_key priority
SELECT j.id, j.ordering_key, CAST(j.priority AS INTEGER)
  FROM {prefix}job j INDEXED BY {bare}job_kind
 WHERE j.queue = $1 AND j.state = 2 AND j.kind = $3
 ORDER BY j.priority, j.id LIMIT $2;

-- $1 queue. The ordering keys of running jobs. The plus keeps SQLite from another index, by which
-- it would read all waiting jobs. Index: job_order.
-- name: running_keys
-- gives: ordering_key id
SELECT r.ordering_key, r.id
  FROM {prefix}job r
 WHERE r.queue = $1 AND r.state = 3 AND +r.ordering_key IS NOT NULL;

-- $1 queue, $2 id. Reads: some rows.
-- name: count_before
SELECT {before} FROM {prefix}job j WHERE j.id = $2;

-- $1 session, $2 node_info. The assignments of a claim. They cast the columns to numbers within
-- their range, since somebody may have written other values by hand; a trigger against those would
-- slow each claim.
-- fragment: claim
state = 3, token = min(CAST(token AS INTEGER), 9223372036854775806) + 1,
       attempts = min(CAST(attempts AS INTEGER), 2147483646) + 1,
       rescues = min(CAST(rescues AS INTEGER), 2147483646), session_id = $1, node_info = $2,
       claimed_at = {wall}, is_cancel_requested = 0, progress = NULL,
       unique_slot = CASE WHEN unique_until = 1 THEN NULL ELSE unique_slot END

-- $3 id.
-- name: take
-- gives: @claimed_columns
UPDATE {prefix}job SET {claim} WHERE id = $3 RETURNING {claimed_columns};

-- As `take`, for many jobs. The answer is in no order.
-- name: take_many
-- gives: @claimed_columns
UPDATE {prefix}job SET {claim} WHERE id IN ({ids}) RETURNING {claimed_columns};

-- $1 id. Blocks a job that must wait for an earlier one of its key: later claims pass over it.
-- name: hold_back
UPDATE {prefix}job SET state = 5 WHERE id = $1;

-- $1 queue, $2 how many jobs have started. Rounds up: otherwise a start would cost nothing if more
-- than one may be made in each microsecond.
-- name: pay
UPDATE {prefix}queue AS q
   SET starts_from = {starts_from} + ($2 * q.starts_per + q.starts_max - 1) / q.starts_max
 WHERE q.name = $1;

-- ---- ends of running jobs

-- $1 session, $2 id, $3 token. Completes a job of which nothing is kept. Reads: 1 row.
-- name: complete
-- gives: queue ordering_key id token
DELETE FROM {prefix}job WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3
RETURNING queue, ordering_key, id, token;

-- As `complete`, for many jobs: $1 session; {rows} are ids and tokens. The plus keeps the planner
-- from finding the rows by this list: it finds them by {ids}.
-- name: complete_many
-- gives: queue ordering_key id token
DELETE FROM {prefix}job
 WHERE id IN ({ids}) AND session_id = $1 AND state = 3 AND (+id, token) IN (VALUES {rows})
RETURNING queue, ordering_key, id, token;

-- $1 session, $2 id, $3 token. Reads: 1 row.
-- name: find_running
-- gives: queue ordering_key is_cancel_requested
SELECT j.queue, j.ordering_key, CAST(j.is_cancel_requested AS INTEGER)
  FROM {prefix}job j
 WHERE j.id = $2 AND j.token = $3 AND j.session_id = $1 AND j.state = 3;

-- $1 id, $2 state, $3 the microseconds that the row is kept, $4 the error or null: the one that the
-- job has, $5 the result or null. Comes before `remove`. Reads: 1 row.
-- name: keep
INSERT INTO {prefix}job_history ({job_columns}, failures, error, result, state, ended_at, prune_at)
SELECT {job_columns}, failures, coalesce($4, error), $5, $2, {wall}, {wall} + $3
  FROM {prefix}job WHERE id = $1;

-- $1 id.
-- name: remove
DELETE FROM {prefix}job WHERE id = $1;

-- $1 queue, $2 ordering key. Frees the first blocked job of the key when the job before it has left
-- its place. A claim decides later whether the freed job may start. Index: job_ordering.
-- name: free_next
UPDATE {prefix}job SET state = 2 WHERE id = (
    SELECT b.id FROM {prefix}job b
     WHERE b.queue = $1 AND b.ordering_key = $2 AND b.state = 5
     ORDER BY b.id LIMIT 1);

-- $1 id, $2 the error of an attempt that failed. Comes before `keep` or `put_back`.
-- name: note_failure
UPDATE {prefix}job AS j SET failures = {failures_with $2} WHERE id = $1;

-- $1 id, $2 state, $3 delay, $4 the error of an attempt that failed, or null: then the attempt is
-- not counted.
-- name: put_back
UPDATE {prefix}job
   SET state = $2, session_id = NULL, due_at = CASE WHEN $2 IN (1, 4) THEN {wall} + $3 END,
       available_at = CASE WHEN $2 = 2 THEN {wall} END,
       attempts = CASE WHEN $4 IS NULL THEN attempts - 1 ELSE attempts END,
       error = coalesce($4, error)
 WHERE id = $1;

-- A list of claims: id, token, session. A plain read. Reads: 1 row for each.
-- name: standings
-- gives: , number is_asked
WITH asked (number, id, token, session_id) AS ({asked})
SELECT * FROM (
    SELECT asked.number, (
               SELECT CAST(j.is_cancel_requested AS INTEGER) FROM {prefix}job j
                WHERE j.id = asked.id AND j.token = asked.token
                  AND j.session_id = asked.session_id AND j.state = 3) AS is_asked
      FROM asked LIMIT -1) WHERE is_asked IS NOT NULL;

-- $1 queue, $2 session. Index: job_order. Reads: what runs in the queue. `+id` keeps SQLite from
-- walking the whole table by its primary key, which has the wanted order.
-- name: find_claims
-- gives: priority @claimed_columns
SELECT priority, {claimed_columns}
  FROM {prefix}job WHERE queue = $1 AND state = 3 AND session_id = $2 ORDER BY +id;

-- $1 session, $2 id, $3 token, $4 text.
-- name: note_progress
UPDATE {prefix}job SET progress = $4
 WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3;

-- As `note_progress`; also a part of the caller's transaction.
-- name: save_checkpoint
UPDATE {prefix}job SET checkpoint = $4, checkpoint_at = max({wall}, enqueued_at)
 WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3;
