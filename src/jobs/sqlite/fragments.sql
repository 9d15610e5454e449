-- SQLite: fragments of the statements of jobs.

-- The columns that the end of a job copies from its row to the history, beside error and failures.
-- fragment: job_columns
id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
    retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
    progress, traceparent, checkpoint, checkpoint_at, payload

-- The first 200 and the last 795 characters of a long error: the reason of a command that failed
-- stands at the end of what it wrote.
-- fragment: cut
CASE WHEN length({it}) <= 1000 THEN {it}
             ELSE substr({it}, 1, 200) || char(10) || '...' || char(10) || substr({it}, -795) END

-- The failures of job row j, and the attempt that ends with this error: for each the attempt, its
-- claim, its end, its worker and its error, between tabs. A record separator (30) stands between
-- two of them. The first of 20 gives way to the new one. The bound of 100,000 is for a text that
-- somebody has written by hand.
-- src/jobs/sql_job_failures.hpp reads them.
-- fragment: failures_with
coalesce(substr(
            CASE WHEN length(j.failures) - length(replace(j.failures, char(30), '')) < 19
                 THEN j.failures
                 ELSE substr(j.failures, instr(j.failures, char(30)) + 1) END, -100000)
            || char(30), '')
        || j.attempts || char(9) || coalesce(j.claimed_at, '') || char(9) || {wall} || char(9)
        || coalesce(j.node_info, '') || char(9) || {cut {it}}

-- The instant, a record separator and the failures of row j; null if there are none.
-- fragment: read_failures
CAST({wall} || char(30) || j.failures AS TEXT)

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

-- The checkpoint of a job row; null if a program without migration 23 has replaced the job since,
-- which moves enqueued_at on.
-- fragment: checkpoint
CASE WHEN checkpoint_at >= enqueued_at THEN checkpoint END
