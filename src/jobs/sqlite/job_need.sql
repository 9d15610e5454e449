-- SQLite: jobs that wait for others. The contract: src/jobs/job_need_store.hpp.

-- {rows}: the waiting job, the job that it needs, and the end it waits for. Reads: nothing.
-- name: add
INSERT INTO {prefix}job_need (job_id, needs_id, wants) VALUES {rows};

-- {ids} of jobs, as rows of VALUES, $1 how many. One snapshot: the needs for those of them that
-- have ended, and what became of each, null if nothing is kept of it. CROSS JOIN makes SQLite begin
-- with the ids. Indexes: job_pkey, job_need_needs, job_history_pkey. Reads: 1 row for each id, and
-- 2 for each job that waits for an ended one; none for jobs that wait for one that has not ended.
-- name: over
-- gives: job needs until became
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id)
  FROM (SELECT a.column1 AS id FROM (VALUES {values}) a
         WHERE (SELECT j.id FROM {prefix}job j WHERE j.id = a.column1) IS NULL LIMIT -1) e
 CROSS JOIN {prefix}job_need n INDEXED BY {bare}job_need_needs ON n.needs_id = e.id
 LIMIT $1;

-- $1 needed job and $2 waiting job of the last row that was looked at, $3 how many rows behind it.
-- As `over` for those rows, and whether the needed job has not ended.
-- name: look_behind
-- gives: @over is_there
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id),
       ((SELECT j.id FROM {prefix}job j WHERE j.id = n.needs_id) IS NOT NULL)
  FROM (SELECT job_id, needs_id, wants FROM {prefix}job_need
         WHERE needs_id >= $1 AND (needs_id > $1 OR job_id > $2)
         ORDER BY needs_id, job_id LIMIT $3) n
 ORDER BY n.needs_id, n.job_id;

-- $1 waiting job, {ids} of needed ones: deletes only these, since others may have come. By
-- the primary key. Reads: 1 row for each.
-- name: forget_of
DELETE FROM {prefix}job_need WHERE job_id = $1 AND needs_id IN ({ids});

-- $1 needed job, {ids} of waiting ones. Index: job_need_needs.
-- name: forget_for
DELETE FROM {prefix}job_need WHERE needs_id = $1 AND job_id IN ({ids});

-- {ids} of jobs that waited. Makes those available that need none any more. Indexes: job_pkey,
-- job_need_pkey. Reads: 2 rows for each.
-- name: free
UPDATE {prefix}job AS j SET due_at = NULL, available_at = {wall}, state = 2
 WHERE j.id IN ({ids}) AND j.due_at = {never}
   AND NOT EXISTS (SELECT 1 FROM {prefix}job_need w WHERE w.job_id = j.id);

-- {ids} of jobs. The queues of those that are available.
-- name: queues_of
SELECT DISTINCT j.queue FROM {prefix}job j WHERE j.id IN ({ids}) AND j.state = 2;

-- $1 queue, $2 the job behind which it looks, $3 at how many. Tells of each whether it needs a job.
-- Indexes: job_due, job_need_pkey.
-- name: look_at_waiting
-- gives: id has_needs
SELECT j.id,
       (EXISTS (SELECT 1 FROM {prefix}job_need w WHERE w.job_id = j.id))
  FROM (SELECT id FROM {prefix}job
         WHERE queue = $1 AND due_at = {never} AND id > $2
         ORDER BY due_at, id LIMIT $3) j
 ORDER BY j.id;

-- $1 id. Answers a row if the job waits. Reads: 1 row.
-- name: waits
SELECT 1 FROM {prefix}job j WHERE j.id = $1 AND j.due_at = {never};

-- $1 id of a waiting job, $2 why it is given up. Reads: 1 row.
-- name: note_reason
UPDATE {prefix}job AS j SET error = $2 WHERE j.id = $1 AND j.due_at = {never};

-- $1 id, $2 how many. Index: job_need_pkey.
-- name: needs_of
SELECT needs_id FROM {prefix}job_need WHERE job_id = $1 ORDER BY needs_id LIMIT $2;

-- $1 id, $2 how many. Waiting jobs alone: one that was cancelled keeps its row until the needed one
-- ends. Indexes: job_need_needs, job_pkey. Reads: 2 rows for each.
-- name: needed_by
SELECT n.job_id FROM {prefix}job_need n
 WHERE n.needs_id = $1
   AND (SELECT 1 FROM {prefix}job j WHERE j.id = n.job_id AND j.due_at = {never}) IS NOT NULL
 ORDER BY n.job_id LIMIT $2;

-- $1 id. Index: job_need_needs.
-- name: is_needed
SELECT 1 FROM {prefix}job_need WHERE needs_id = $1 LIMIT 1;
