-- MySQL and MariaDB: fragments of the statements of jobs.

-- The columns that the end of a job copies from its row to the history, beside error and failures.
-- fragment: job_columns
id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
    retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
    progress, traceparent, checkpoint, checkpoint_at, payload

-- The first 200 and the last 795 characters of a long error: the reason of a command that failed
-- stands at the end of what it wrote.
-- fragment: cut
IF(CHAR_LENGTH(CONVERT({it} USING utf8mb4)) <= 1000, {it},
              CONCAT(LEFT(CONVERT({it} USING utf8mb4), 200), CHAR(10), '...', CHAR(10),
                     RIGHT(CONVERT({it} USING utf8mb4), 795)))

-- The failures of job row j, and the attempt that ends with this error: for each the attempt, its
-- claim, its end, its worker and its error, between tabs. A record separator (30) stands between
-- two of them. The first of 20 gives way to the new one. The bound of 100,000 is for a text that
-- somebody has written by hand.
-- src/jobs/sql_job_failures.hpp reads them.
-- fragment: failures_with
CONCAT(COALESCE(CONCAT(SUBSTRING_INDEX(RIGHT(j.failures, 100000), CHAR(30), -19), CHAR(30)), ''),
           j.attempts, CHAR(9), COALESCE(j.claimed_at, ''), CHAR(9), {utc}, CHAR(9),
           COALESCE(j.node_info, ''), CHAR(9), COALESCE({cut {it}}, ''))

-- The instant, a record separator and the failures of row j; null if there are none.
-- fragment: read_failures
CONCAT({utc}, CHAR(30), j.failures)

-- Job row j has null for a default value: the defaults of new_job and retry_policy in
-- leasehold/job.hpp.
-- fragment: attempts_max
COALESCE(j.attempts_max, 20)
-- fragment: rescues_max
COALESCE(j.rescues_max, 3)

-- Job rows j of a list of ids in a variable: found by primary key, whatever the planner estimates,
-- since the list comes first.
-- fragment: listed
JSON_TABLE(@leasehold_ids, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- The locking clause: MySQL counts the list among the locked tables (3569), MariaDB has no OF.
-- fragment: update_listed on mysql
FOR UPDATE OF j
-- fragment: update_listed on mariadb
FOR UPDATE

-- fragment: listed_free
JSON_TABLE(@leasehold_free, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- fragment: listed_blocked
JSON_TABLE(@leasehold_blocked, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id

-- For a part `places`, the number of jobs of each ordering key that no longer hold others back:
-- finds as many of the first blocked jobs, one after the other. Plain reads. Index: job_ordering.
-- fragment: next_of_places
next_of AS (
    SELECT p.queue, p.ordering_key, p.places, 1 AS place, (
        SELECT b.id FROM {prefix}job b FORCE INDEX ({bare}job_ordering)
        WHERE b.queue = p.queue AND b.ordering_key = p.ordering_key AND b.state = 5
        ORDER BY b.queue, b.ordering_key, b.id LIMIT 1) AS id
    FROM places p
    UNION ALL
    SELECT f.queue, f.ordering_key, f.places, f.place + 1, (
        SELECT b.id FROM {prefix}job b FORCE INDEX ({bare}job_ordering)
        WHERE b.queue = f.queue AND b.ordering_key = f.ordering_key AND b.state = 5
          AND b.id > f.id
        ORDER BY b.queue, b.ordering_key, b.id LIMIT 1)
    FROM next_of f WHERE f.place < f.places AND f.id IS NOT NULL)

-- Ids as a list; null if there are none, or if the list was cut, which group_concat_max_len of a
-- borrowed connection may do. `unblock` later finds the jobs that were not freed.
-- fragment: next_ids
IF(LENGTH(GROUP_CONCAT(id)) = SUM(LENGTH(id)) + COUNT(id) - 1,
          CONCAT('[', GROUP_CONCAT(id), ']'), NULL)

-- Makes the jobs of @leasehold_next available that are still blocked, except locked ones, which a
-- long transaction may be replacing. @leasehold_free has the ids.
-- fragment: free_next
SELECT {next_ids} INTO @leasehold_free
FROM JSON_TABLE(@leasehold_next, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.state = 5 {update_listed} SKIP LOCKED;
UPDATE {listed_free} SET j.state = 2 WHERE j.state = 5

-- Among the jobs of row j's ordering key, except those not due yet, the job behind the first
-- {skipped} in the order of ids: null if there are fewer. The first row behind j ends the walk.
-- Reads these, and the jobs before them that are not due.
-- fragment: one_behind
(SELECT p.id FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
            WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key
              AND (p.state <> 1 OR p.id >= j.id)
            ORDER BY p.queue, p.ordering_key, p.id LIMIT 1 OFFSET {skipped})

-- The due time of a job that waits for others: see job_need.sql.
-- fragment: never
253370764800000000

-- The checkpoint of job row j; null if a program without migration 23 has replaced the job since,
-- which moves enqueued_at on.
-- fragment: checkpoint
CASE WHEN j.checkpoint_at >= j.enqueued_at THEN j.checkpoint END
