-- PostgreSQL: fragments of the statements of jobs.

-- The columns that the end of a job copies from its row to the history, beside error and failures.
-- fragment: job_columns
id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
    retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
    progress, traceparent, checkpoint, checkpoint_at, payload

-- The first 200 and the last 795 characters of a long error: the reason of a command that failed
-- stands at the end of what it wrote.
-- fragment: cut
CASE WHEN length({it}) <= 1000 THEN {it}
                    ELSE left({it}, 200) || chr(10) || '...' || chr(10) || right({it}, 795) END

-- The failures of job row j, and the attempt that ends with this error: for each the attempt, its
-- claim, its end, its worker and its error, between tabs. A record separator (30) stands between
-- two of them. The first of 20 gives way to the new one. The bound of 100,000 is for a text that
-- somebody has written by hand.
-- src/jobs/sql_job_failures.hpp reads them.
-- fragment: failures_with
concat(right(CASE WHEN length(j.failures) - length(replace(j.failures, chr(30), '')) < 19
                          THEN j.failures
                          ELSE substr(j.failures, strpos(j.failures, chr(30)) + 1) END, 100000)
                   || chr(30),
               j.attempts, chr(9),
               (extract(epoch FROM {finite j.claimed_at}) * 1000000)::bigint, chr(9),
               (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, chr(9),
               j.node_info, chr(9), {cut {it}})

-- The instant, a record separator and the failures of row j; null if there are none.
-- fragment: read_failures
(extract(epoch FROM clock_timestamp()) * 1000000)::bigint || chr(30) || j.failures

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

-- The checkpoint of job row j; null if a program without migration 23 has replaced the job since,
-- which moves enqueued_at on.
-- fragment: checkpoint
CASE WHEN j.checkpoint_at >= j.enqueued_at THEN j.checkpoint END

-- The number of jobs of row j's ordering key that stand before it, without those that are not due
-- yet. Counts no more than {per_key}. Index: job_ordering.
-- fragment: before
(SELECT count(*) FROM (
            SELECT p.id FROM {prefix}job p
             WHERE p.queue = j.queue AND {first_of_j}
             ORDER BY p.ordering_key, p.id
             LIMIT {per_key}) AS first WHERE first.id < j.id)

-- Parts of `claim` and `claim_of_kinds` in job.sql, with their parameters.
-- fragment: how
SELECT EXISTS (SELECT FROM {prefix}session s
                    WHERE s.id = $3 AND s.expires_at > statement_timestamp()) AS is_live,
           coalesce((SELECT q.is_paused = 1 FROM {prefix}queue q WHERE q.name = $1), false)
               AS is_paused,
           coalesce((SELECT q.running_max IS NOT NULL OR q.starts_max IS NOT NULL
                       FROM {prefix}queue q WHERE q.name = $1), false) AS is_limited
-- fragment: from_priority
(SELECT CASE WHEN is_urgent THEN -32768 ELSE $7::smallint END FROM how)::smallint
-- fragment: from_id
(SELECT CASE WHEN is_urgent THEN 0 ELSE $8::bigint END FROM how)
-- fragment: may_claim
(SELECT is_live AND NOT is_paused AND NOT is_limited FROM how)

-- The state of the queue and the session, from `how` and `picked`: the sum of 1 the session is
-- live, 2 the queue is paused, 4 it has limits, 8 keys were found.
-- fragment: standing
h.is_live::int + 2 * h.is_paused::int + 4 * h.is_limited::int
    + 8 * coalesce((SELECT NOT bool_and(is_free) FROM picked), false)::int
