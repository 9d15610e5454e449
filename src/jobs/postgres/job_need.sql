-- Jobs that wait for others, on PostgreSQL. The rules of hold.sql; the contract:
-- src/jobs/job_need_store.hpp.
--
-- A range of one value finds each row, in the order of one index: see the head of job.sql. If most
-- rows are of one job, as when 100,000 jobs wait for it, the planner believes that any order soon
-- meets a row of that job. It then reads all rows if there is none.

-- True if job row j waits. No index has this expression, so that no statement walks job_due for it:
-- see the head of job.sql.
-- fragment: is_waiting
coalesce(j.due_at, 'epoch') = {never}

-- {rows}: the waiting job, the job that it needs, and the end it waits for. Reads: nothing.
-- name: add
INSERT INTO {prefix}job_need (job_id, needs_id, wants) VALUES {rows};

-- $1 list of ids of jobs, $2 how many. One snapshot: the needs for those of them that have ended,
-- and what became of each, null if nothing is kept of it. Each id is looked for by a subquery of
-- one value, which only its primary key serves. Indexes: job_pkey, job_need_needs,
-- job_history_pkey. Reads: 1 row for each id, and 2 for each job that waits for an ended one; none
-- for jobs that wait for one that has not ended.
-- name: over
-- gives: job needs until became
WITH ended AS MATERIALIZED (
    SELECT a.id FROM unnest($1::text::bigint[]) AS a (id)
     WHERE (SELECT j.id FROM {prefix}job j WHERE j.id = a.id) IS NULL
)
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id)
  FROM ended e
 CROSS JOIN LATERAL (
    SELECT w.job_id, w.needs_id, w.wants FROM {prefix}job_need w
     WHERE w.needs_id BETWEEN e.id AND e.id
     ORDER BY w.needs_id, w.job_id LIMIT (SELECT $2::bigint)) n
 LIMIT (SELECT $2::bigint);

-- $1 needed job and $2 waiting job of the last row that was looked at, $3 how many rows behind it.
-- As `over` for those rows, and whether the needed job has not ended.
-- name: look_behind
-- gives: @over is_there
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id),
       ((SELECT j.id FROM {prefix}job j WHERE j.id = n.needs_id) IS NOT NULL)::int
  FROM (SELECT job_id, needs_id, wants FROM {prefix}job_need
         WHERE needs_id >= $1 AND (needs_id > $1 OR job_id > $2)
         ORDER BY needs_id, job_id LIMIT (SELECT $3::bigint)) n
 ORDER BY n.needs_id, n.job_id;

-- Lists: $1 waiting jobs, $2 needed jobs. Deletes these rows alone, since others may have come, and
-- finds each by the primary key. No statement changes a row of this table, so a row keeps its place
-- (ctid). Reads: 1 row for each.
-- name: forget
DELETE FROM {prefix}job_need
 WHERE ctid = ANY (ARRAY(
        SELECT n.at
          FROM unnest($1::text::bigint[], $2::text::bigint[]) AS a (job_id, needs_id)
         CROSS JOIN LATERAL (
            SELECT w.ctid AS at FROM {prefix}job_need w
             WHERE w.job_id = a.job_id AND w.needs_id = a.needs_id LIMIT 1) AS n));

-- $1 list of ids of jobs. Locks those that wait, around locked ones. Reads: 1 row for each.
-- name: lock_unlocked
SELECT j.id FROM {prefix}job j
 WHERE j.id = ANY ($1::text::bigint[]) AND {is_waiting}
   FOR NO KEY UPDATE OF j SKIP LOCKED;

-- $1 list of ids of jobs that waited. Makes those available that need none any more. Indexes:
-- job_pkey, job_need_pkey. Reads: 2 rows for each.
-- name: free
UPDATE {prefix}job AS j SET due_at = NULL, available_at = clock_timestamp(), state = 2
 WHERE j.id = ANY ($1::text::bigint[]) AND {is_waiting}
   AND (SELECT w.job_id FROM {prefix}job_need w
         WHERE w.job_id BETWEEN j.id AND j.id
         ORDER BY w.job_id, w.needs_id LIMIT 1) IS NULL
RETURNING j.queue, {durable};

-- $1 list of ids. The queues of those jobs that are available.
-- name: queues_of
SELECT DISTINCT j.queue FROM {prefix}job j
 WHERE j.id = ANY ($1::text::bigint[]) AND j.state + 0 = 2;

-- $1 queue, $2 the job behind which it looks, $3 at how many. Tells of each whether it needs a job.
-- Indexes: job_due, job_need_pkey.
-- name: look_at_waiting
-- gives: id has_needs
SELECT j.id,
       ((SELECT w.job_id FROM {prefix}job_need w
          WHERE w.job_id BETWEEN j.id AND j.id
         ORDER BY w.job_id, w.needs_id LIMIT 1) IS NOT NULL)::int
  FROM (SELECT id FROM {prefix}job
         WHERE queue = $1 AND due_at <= {never} AND (due_at, id) > ({never}, $2)
         ORDER BY due_at, id LIMIT (SELECT $3::bigint)) j
 ORDER BY j.id;

-- $1 id. Answers a row if the job waits. Reads: 1 row.
-- name: waits
SELECT 1 FROM {prefix}job j WHERE j.id = $1 AND {is_waiting};

-- $1 id of a waiting job, $2 why it is given up. Reads: 1 row.
-- name: note_reason
UPDATE {prefix}job AS j SET error = $2 WHERE j.id = $1 AND {is_waiting};

-- $1 id, $2 how many. Index: job_need_pkey.
-- name: needs_of
SELECT needs_id FROM {prefix}job_need
 WHERE job_id BETWEEN $1 AND $1 ORDER BY job_id, needs_id LIMIT $2;

-- $1 id, $2 how many. Waiting jobs alone: one that was cancelled keeps its row until the needed one
-- ends. Indexes: job_need_needs, job_pkey. Reads: 2 rows for each.
-- name: needed_by
SELECT n.job_id FROM {prefix}job_need n
 WHERE n.needs_id BETWEEN $1 AND $1
   AND (SELECT 1 FROM {prefix}job j WHERE j.id = n.job_id AND {is_waiting}) IS NOT NULL
 ORDER BY n.needs_id, n.job_id LIMIT $2;

-- $1 id. Index: job_need_needs.
-- name: is_needed
SELECT 1 FROM {prefix}job_need
 WHERE needs_id BETWEEN $1 AND $1 ORDER BY needs_id, job_id LIMIT 1;
