-- PostgreSQL: fragments of the statements of jobs.

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

-- The job rows p of row j's ordering key, except scheduled ones before j. Statements count them
-- from the first on, up to the id of j. The first row behind j ends such a walk.
-- fragment: first_of_j
p.ordering_key BETWEEN j.ordering_key AND j.ordering_key
               AND (p.state <> 1 OR p.id >= j.id)

-- Among job rows b, the blocked ones of the ordering key of row m. Blocked is state 5, the highest
-- state.
-- fragment: behind_m
b.ordering_key BETWEEN m.ordering_key AND m.ordering_key AND b.state + 0 > 4

-- Makes the blocked jobs of part `next` available.
-- fragment: freed
freed AS (
    UPDATE {prefix}job AS j SET state = 2
     WHERE j.id = ANY (ARRAY(SELECT id FROM next)) AND j.state + 0 = 5
)

-- The queues that have jobs to claim, that run or are blocked, and one row of null at the end: a
-- walk from name to name along job_order.
-- fragment: queues_in_order
in_order AS (
    (SELECT j.queue FROM {prefix}job j WHERE j.state IN (2, 3, 5) ORDER BY j.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM {prefix}job j
             WHERE j.state IN (2, 3, 5) AND j.queue > o.queue ORDER BY j.queue LIMIT 1)
      FROM in_order o WHERE o.queue IS NOT NULL
)

-- When a job is due that waits for others: see job_need.sql.
-- fragment: never
timestamptz '9999-01-01 00:00:00+00'

-- The state of the queue and the session, from `how` and `picked`: the sum of 1 the session is
-- live, 2 the queue is paused, 4 it has limits, 8 keys were found.
-- fragment: standing
h.is_live::int + 2 * h.is_paused::int + 4 * h.is_limited::int
    + 8 * coalesce((SELECT NOT bool_and(is_free) FROM picked), false)::int
