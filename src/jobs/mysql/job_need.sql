-- Jobs that wait for others, on MySQL and MariaDB. The rules of hold.sql; the contract:
-- src/jobs/job_need_store.hpp.

-- {rows}: the waiting job, the job that it needs, and the end it waits for. Reads: nothing.
-- name: add
INSERT INTO {prefix}job_need (job_id, needs_id, wants) VALUES {rows};

-- {ids} of jobs, $1 how many. One snapshot: the needs for those of them that have ended, and what
-- became of each, null if nothing is kept of it. The limit of the derived table keeps the planner
-- from merging it, so that it decides before the row of a need is read. Indexes: job_pkey,
-- job_need_needs, job_history_pkey. Reads: 1 row for each id, and 2 for each job that waits for an
-- ended one; none for jobs that wait for one that has not ended.
-- name: over
-- gives: job needs until became
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id)
  FROM (SELECT a.id FROM JSON_TABLE('[{ids}]', '$[*]' COLUMNS (id BIGINT PATH '$')) a
         WHERE (SELECT j.id FROM {prefix}job j WHERE j.id = a.id) IS NULL
         LIMIT 18446744073709551615) e
  STRAIGHT_JOIN {prefix}job_need n FORCE INDEX ({bare}job_need_needs) ON n.needs_id = e.id
 LIMIT $1;

-- $1 and $2: the needed and the waiting job of the last row that was read; $3: how many rows to
-- read after that. Answers as the statement `over` does, and whether the needed job has not ended.
-- name: look_behind
-- gives: @over is_there
SELECT n.job_id, n.needs_id, n.wants,
       (SELECT h.state FROM {prefix}job_history h WHERE h.id = n.needs_id),
       ((SELECT j.id FROM {prefix}job j WHERE j.id = n.needs_id) IS NOT NULL)
  FROM (SELECT job_id, needs_id, wants FROM {prefix}job_need FORCE INDEX ({bare}job_need_needs)
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

-- {ids} of jobs. Locks those that wait, around locked ones. Reads: 1 row for each.
-- name: lock_unlocked
SELECT j.id FROM JSON_TABLE('[{ids}]', '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.due_at = {never} {update_listed} SKIP LOCKED;

-- {ids} of jobs that waited. Makes those available that need none any more. Indexes: job_pkey,
-- job_need_pkey. Reads: 2 rows for each.
-- name: free
UPDATE {prefix}job j SET j.due_at = NULL, j.available_at = {utc}, j.state = 2
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
  FROM (SELECT id FROM {prefix}job FORCE INDEX ({bare}job_due)
         WHERE queue = $1 AND due_at = {never} AND id > $2
         ORDER BY queue, due_at, id LIMIT $3) j
 ORDER BY j.id;

-- $1 id. Answers a row if the job waits. Reads: 1 row.
-- name: waits
SELECT 1 FROM {prefix}job j WHERE j.id = $1 AND j.due_at = {never};

-- $1 id of a waiting job, $2 why it is given up. Reads: 1 row.
-- name: note_reason
UPDATE {prefix}job j SET j.error = $2 WHERE j.id = $1 AND j.due_at = {never};

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
