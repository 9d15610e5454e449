-- SQLite: fragments of the statements of jobs.

-- The columns that a job's row and its row of the history have in common; the end of a job copies
-- them.
-- fragment: job_columns
id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
    retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
    progress, payload

-- Job row j has null for a default value: the defaults of new_job and retry_policy in
-- leasehold/job.hpp.
-- fragment: attempts_max
coalesce(j.attempts_max, 20)
-- fragment: rescues_max
coalesce(j.rescues_max, 3)

-- $1 queue. The number of jobs of one ordering key that may run at a time.
-- fragment: per_key
coalesce((SELECT q.running_per_key_max FROM {prefix}queue q WHERE q.name = $1), 1)

-- The number of jobs of row j's ordering key that wait in front of it, except those not due yet.
-- No more than {per_key} are counted. Index: job_ordering.
-- fragment: before
(SELECT count(*) FROM (
            SELECT 1 FROM {prefix}job p
             WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key AND p.id < j.id
               AND p.state <> 1
             LIMIT {per_key}))

-- The due time of a job that waits for others: see job_need.sql.
-- fragment: never
253370764800000000
