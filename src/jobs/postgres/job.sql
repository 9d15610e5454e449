-- Jobs and their queues on PostgreSQL. The rules of hold.sql; the contract:
-- src/jobs/job_store.hpp.
--
-- Rows are compared with lists by hashing: the planner makes no join of `(… IN (…)) IS TRUE`. A
-- join would compare each row with each element of a list that the planner believes to be short.
-- Rows are found by id with `= ANY (ARRAY(…))`, which only the primary key serves: a join with a
-- list whose length the planner cannot know may become one that reads the table. Rows are picked
-- and locked in a materialised part: a subquery may run again, and then answers with more rows than
-- its LIMIT. Each ORDER BY is that of an index, and the planner does not know the LIMIT behind it,
-- so it walks that index. If it knew the LIMIT, it would read and sort all rows when it believes
-- that they are few; and the number of jobs changes faster than the statistics. The planner drops a
-- column from an ORDER BY if the column is compared by equality. By the id alone it would walk the
-- primary key, past all other jobs. So a range of one value stands for the ordering key, or for the
-- due time, and only one index has that order. Rows that are found by id, or by ordering key, are
-- tested for `state + 0`, for which there are no statistics. If statistics say that few rows have a
-- state, as they do if they are older than such rows, the planner would read all of job_order, or
-- all rows of the key, to find those.

-- The columns of the claimed job row j. `waited`: microseconds before this claim; null: not known.
-- fragment: claimed_columns
-- gives: id token kind payload attempts rescues ordering_key attempts_max retry_delay
-- gives: retry_delay_max time_limit rescues_max waited traceparent checkpoint
j.id, j.token, j.kind, j.payload, j.attempts, j.rescues, j.ordering_key, j.attempts_max,
j.retry_delay, j.retry_delay_max, j.time_limit, j.rescues_max,
(extract(epoch FROM {finite j.claimed_at} - {finite greatest(j.available_at, j.enqueued_at)})
    * 1000000)::bigint, j.traceparent, {checkpoint}

-- $3 session, $6 node_info. The assignments of a claim. A number that somebody has set to the
-- largest value of its type stays there: the sum would fail, and with it each claim of the queue.
-- An infinite instant is replaced: the history would refuse it, and so the end of the job.
-- fragment: take
state = 3, token = least(j.token, 9223372036854775806) + 1,
       attempts = least(j.attempts, 2147483646) + 1, rescues = least(j.rescues, 2147483646),
       session_id = $3::bytea, node_info = $6::text, claimed_at = clock_timestamp(),
       is_cancel_requested = 0, progress = NULL,
       enqueued_at = CASE WHEN isfinite(j.enqueued_at) THEN j.enqueued_at
                          ELSE clock_timestamp() END,
       unique_slot = CASE WHEN j.unique_until = 1 THEN NULL ELSE j.unique_slot END

-- ---- enqueuing

-- $1 queue; lists, of which no element is null: $2 numbers, $3 kinds, $4 payloads, $5 priorities,
-- $6 due times in microseconds since 1970 or -1, $7 delays, $8 unique keys or '', $9 until 1
-- started 2 ended, $10 ordering keys or '', $11 attempts, $12 and $13 delays of retries, $14 time
-- limits or -1, $15 rescues, $16 traceparents or ''. Default values are stored as null.
--
-- asked: the sort comes before the ids are drawn, so they grow with the numbers.
-- A job is blocked if others of its key stand before it, in this snapshot or in this list. Two
-- sorts of jobs of the list do not count: those that are not due, and those with a unique key,
-- which may be refused; then nobody would free the jobs behind them. If a job is thus available too
-- early, a claim blocks it. If a unique key is taken already nothing is inserted, and the caller
-- looks for its job. Indexes: job_unique, job_ordering. Reads: with an ordering key some rows for
-- each, else none.
-- name: insert
-- gives: id unique_key
WITH asked AS MATERIALIZED (
    SELECT number, kind, payload, priority, ordering_key, unique_key, unique_until, attempts_max,
           retry_delay, retry_delay_max, time_limit, rescues_max, traceparent,
           CASE WHEN run_at >= 0 THEN 'epoch'::timestamptz + run_at * interval '1 microsecond'
                WHEN delay > 0 THEN clock_timestamp() + delay * interval '1 microsecond'
           END AS due_at
      FROM unnest($2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::smallint[],
                  $6::text::bigint[], $7::text::bigint[], $8::text::text[], $9::text::smallint[],
                  $10::text::text[], $11::text::integer[], $12::text::bigint[],
                  $13::text::bigint[], $14::text::bigint[], $15::text::integer[],
                  $16::text::text[])
        AS a (number, kind, payload, priority, run_at, delay, unique_key, unique_until,
              ordering_key, attempts_max, retry_delay, retry_delay_max, time_limit, rescues_max,
              traceparent)
), placed AS (
    SELECT a.*,
           CASE WHEN a.ordering_key = '' THEN 0 ELSE (
               SELECT count(*) FROM (
                   SELECT FROM {prefix}job p
                    WHERE p.queue = $1
                      AND p.ordering_key BETWEEN a.ordering_key AND a.ordering_key
                      AND p.state + 0 <> 1
                    ORDER BY p.ordering_key, p.id
                    LIMIT {per_key}) AS counted)
               + count(*) FILTER (WHERE NOT a.is_early AND a.unique_key = '')
                 OVER (PARTITION BY a.ordering_key ORDER BY a.number
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           END AS before
      FROM (SELECT w.*, coalesce(w.due_at > clock_timestamp(), false) AS is_early FROM asked w) a
)
INSERT INTO {prefix}job AS j
    (queue, kind, state, priority, due_at, attempts_max, rescues_max, retry_delay, retry_delay_max,
     time_limit, unique_until, unique_slot, ordering_key, traceparent, payload)
SELECT $1::text, a.kind,
       CASE WHEN a.is_early THEN 1
            WHEN a.ordering_key <> '' AND a.before >= {per_key} THEN 5 ELSE 2 END,
       a.priority, CASE WHEN a.is_early THEN a.due_at END, nullif(a.attempts_max, 20),
       nullif(a.rescues_max, 3), nullif(a.retry_delay, 5000000),
       nullif(a.retry_delay_max, 3600000000), nullif(a.time_limit, -1),
       CASE WHEN a.unique_until = 1 THEN 1 END, nullif(a.unique_key, ''),
       nullif(a.ordering_key, ''), nullif(a.traceparent, ''), a.payload
  FROM placed a
 ORDER BY a.number
ON CONFLICT (queue, unique_slot) WHERE unique_slot IS NOT NULL DO NOTHING
RETURNING j.id, j.unique_slot, {durable};

-- Jobs that are due, without keys, and alike in all but these lists, of which no element is null:
-- $1 queue; $2 kinds, $3 payloads, $4 priorities; $5 attempts, $6 rescues, $7 and $8 delays of
-- retries, $9 time limit or -1, $10 traceparent or ''. Half of the work of `insert`. Ids are drawn
-- in the order of the lists; the answer has them in one text. Reads: none.
-- name: insert_plain
WITH made AS (
    INSERT INTO {prefix}job
        (queue, kind, state, priority, due_at, attempts_max, rescues_max, retry_delay,
         retry_delay_max, time_limit, traceparent, payload)
    SELECT $1::text, a.kind, 2, a.priority, NULL, nullif($5::integer, 20), nullif($6::integer, 3),
           nullif($7::bigint, 5000000), nullif($8::bigint, 3600000000), nullif($9::bigint, -1),
           nullif($10::text, ''), a.payload
      FROM unnest($2::text::text[], $3::text::text[], $4::text::smallint[])
           WITH ORDINALITY AS a (kind, payload, priority, number)
     ORDER BY a.number
    RETURNING id
)
SELECT string_agg(id::text, ','), {durable} FROM made;

-- $1 queue, $2 unique key. The job, and whether it runs. Index: job_unique. Reads: 1 row.
-- name: find_unique
-- gives: id is_running
SELECT id, (state = 3)::int FROM {prefix}job WHERE queue = $1 AND unique_slot = $2;

-- $1 queue, $2 unique key, $3 kind, $4 payload, $5 priority, $6 due time or -1, $7 delay, $8
-- attempts, $9 rescues, $10 and $11 delays of retries, $12 time limit or -1, $13 traceparent or '',
-- $14 until 1 started 2 ended. A running job stays as it is: then no row is answered. Waits for a
-- lock on the row. Reads: 1 row.
-- name: replace
UPDATE {prefix}job AS j
   SET kind = $3, payload = $4, priority = $5, enqueued_at = clock_timestamp(),
       available_at = NULL, attempts = 0, rescues = 0, error = NULL, failures = NULL,
       progress = NULL, checkpoint = NULL, traceparent = nullif($13::text, ''),
       attempts_max = nullif($8::integer, 20),
       rescues_max = nullif($9::integer, 3), retry_delay = nullif($10::bigint, 5000000),
       retry_delay_max = nullif($11::bigint, 3600000000), time_limit = nullif($12::bigint, -1),
       unique_until = nullif($14::smallint, 2),
       due_at = CASE WHEN j.due_at = {never} THEN j.due_at WHEN n.is_early THEN n.due_at END,
       state = CASE WHEN j.due_at = {never} OR n.is_early THEN 1 WHEN j.state = 5 THEN 5 ELSE 2 END
  FROM (SELECT w.due_at, coalesce(w.due_at > clock_timestamp(), false) AS is_early
          FROM (SELECT CASE WHEN $6::bigint >= 0
                            THEN 'epoch'::timestamptz + $6::bigint * interval '1 microsecond'
                            WHEN $7::bigint > 0
                            THEN clock_timestamp() + $7::bigint * interval '1 microsecond'
                       END AS due_at) AS w) AS n
 WHERE j.queue = $1 AND j.unique_slot = $2 AND j.state <> 3
RETURNING j.id, {durable};

-- ---- claiming

-- fragment: picked
how AS MATERIALIZED (
    {how},
           coalesce((SELECT true FROM {prefix}job u
                      WHERE u.queue = $1 AND u.state = 2 AND u.priority < $7::smallint
                        AND ($5::bigint = 0 OR u.kind = ANY ($4::text::text[]))
                      ORDER BY u.priority, u.id
                      LIMIT (SELECT 1::bigint)), false) AS is_urgent
), picked AS MATERIALIZED (
    SELECT j.id, j.ordering_key IS NULL AS is_free
      FROM {prefix}job j
     WHERE j.queue = $1 AND j.state = 2
       AND ($5::bigint = 0 OR j.kind = ANY ($4::text::text[]))
       AND (j.priority, j.id) > ({from_priority}, {from_id})
       AND {may_claim}
     ORDER BY j.priority, j.id
     LIMIT (SELECT $2::bigint)
       FOR NO KEY UPDATE OF j SKIP LOCKED
)

-- fragment: picked_of_kinds
how AS MATERIALIZED (
    {how},
           EXISTS (SELECT FROM unnest($4::text::text[]) AS k (kind)
                    WHERE (SELECT u.id FROM {prefix}job u
                            WHERE u.queue = $1 AND u.state = 2 AND u.kind >= k.kind
                              AND (u.kind, u.priority) < (k.kind, $7::smallint)
                            ORDER BY u.kind, u.priority, u.id
                            LIMIT (SELECT 1::bigint)) IS NOT NULL) AS is_urgent
), picked AS MATERIALIZED (
    SELECT j.id, j.ordering_key IS NULL AS is_free
      FROM unnest($4::text::text[]) AS k (kind)
     CROSS JOIN LATERAL (
        SELECT o.id, o.priority, o.ordering_key FROM {prefix}job o
         WHERE o.queue = $1 AND o.state = 2 AND o.kind <= k.kind
           AND (o.kind, o.priority, o.id) > (k.kind, {from_priority}, {from_id})
           AND {may_claim} AND $5::bigint > 0
         ORDER BY o.kind, o.priority, o.id
         LIMIT (SELECT $2::bigint)
           FOR NO KEY UPDATE OF o SKIP LOCKED) AS j
     ORDER BY j.priority, j.id
     LIMIT (SELECT $2::bigint)
)

-- fragment: claimed
claimed AS (
    UPDATE {prefix}job AS j
       SET {take}
     WHERE j.id = ANY (ARRAY(SELECT id FROM picked WHERE (SELECT bool_and(is_free) FROM picked)))
       AND j.state + 0 = 2
    RETURNING j.priority, {claimed_columns}
)

-- fragment: answer
-- gives: stands ended durable priority @claimed_columns
SELECT {standing}, NULL, CASE WHEN EXISTS (SELECT FROM claimed) THEN {durable} END,
       NULL::smallint, NULL::bigint, NULL::bigint, NULL, NULL, NULL::integer, NULL::integer, NULL,
       NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::integer, NULL::bigint,
       NULL, NULL
  FROM how h
UNION ALL
SELECT NULL, NULL, NULL, c.* FROM claimed c

-- $1 queue, $2 how many, $3 session, $4 list of kinds, $5 their number, $6 node_info, $7 and $8 the
-- priority and the id behind which the claim begins to look, unless a job of a smaller priority is
-- there; -32768 and 0: it looks at all.
--
-- how:     reads the snapshot. If the queue has limits, or a job has a key, this statement claims
--          nothing, and the caller makes a claim in turn: here jobs behind a job with a key would
--          be claimed before it.
-- picked:  takes the first rows of job_order, in its order, and skips rows that others have locked.
-- claimed: tests `state` again if the row has changed since the snapshot, so that no job is claimed
--          twice.
-- One row of the answer has no job, but the state of the queue and the session. The other rows are
-- in no order, and the caller sorts them. Indexes: session_pkey, queue_pkey, job_order, job_pkey.
-- name: claim
-- gives: , @answer
WITH {picked}, {claimed}
{answer};

-- As `claim`, for some kinds. The statement locks the first jobs of each kind, as many as are
-- wanted, whatever other jobs stand before them. With several kinds it locks more rows than it
-- claims, until it commits. The range begins with the kind, so that only job_kind has this order.
-- name: claim_of_kinds
-- gives: @answer
WITH {picked_of_kinds}, {claimed}
{answer};

-- $1 queue. The row that claims in turn need. Reads: 1 row.
-- name: make_queue
INSERT INTO {prefix}queue (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- $1 queue. The turn of the queue. Reads: 1 row.
-- name: turn
SELECT turn FROM {prefix}queue WHERE name = $1;

-- The parameters of `claim`, and $7 the turn that was read before. For queues with limits or keys.
--
-- mine:    locks the row of the queue until the commit, if no claim in turn was made since $7 was
--          read. This snapshot was taken after that read, so it has all earlier claims. A claim
--          that has waited here for another one finds a later turn, and claims nothing.
-- running: the running jobs of the queue. Those of dead sessions count until they are rescued.
-- window:  the first rows of job_order. Jobs that may start by their key are claimed. The others
--          are blocked, so that later claims do not read them.
-- A job may start if the jobs of its key that run or stand before it are fewer than may run at a
-- time. Reads: what runs in the queue, and some rows for each of the window.
-- fragment: my_turn
live AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM {prefix}session s
                    WHERE s.id = $3 AND s.expires_at > statement_timestamp()) AS is_live
), mine AS MATERIALIZED (
    SELECT q.running_max, q.running_per_key_max, q.starts_max, q.starts_per,
           greatest(least(q.starts_from,
                          clock_timestamp() + q.starts_per * interval '1 microsecond'),
                    clock_timestamp()) AS starts_from, q.is_paused
      FROM {prefix}queue q
     WHERE q.name = $1 AND q.turn = $7::bigint AND (SELECT is_live FROM live)
       FOR NO KEY UPDATE OF q
), running AS MATERIALIZED (
    SELECT r.id, r.ordering_key
      FROM {prefix}job r
     WHERE r.queue = $1 AND r.state = 3 AND EXISTS (SELECT FROM mine)
), room AS MATERIALIZED (
    SELECT CASE WHEN m.is_paused = 1 THEN 0 ELSE greatest(0, least(
               $2::bigint,
               m.running_max - (SELECT count(*) FROM running),
               m.starts_max,
               floor(extract(epoch FROM clock_timestamp() - m.starts_from
                                        + m.starts_per * interval '1 microsecond')
                     * 1000000 * m.starts_max / m.starts_per)::bigint)) END AS jobs,
           m.running_per_key_max AS per_key
      FROM mine m
)

-- fragment: seen
seen AS MATERIALIZED (
    SELECT j.id, j.priority, j.ordering_key
      FROM {prefix}job j
     WHERE j.queue = $1 AND j.state = 2
       AND ($5::bigint = 0 OR j.kind = ANY ($4::text::text[]))
       AND (SELECT jobs > 0 FROM room)
     ORDER BY j.priority, j.id
     LIMIT (SELECT $2::bigint * 4 + 100)
       FOR NO KEY UPDATE OF j SKIP LOCKED
)

-- fragment: seen_of_kinds
seen AS MATERIALIZED (
    SELECT j.id, j.priority, j.ordering_key
      FROM unnest($4::text::text[]) AS k (kind)
     CROSS JOIN LATERAL (
        SELECT o.id, o.priority, o.ordering_key FROM {prefix}job o
         WHERE o.queue = $1 AND o.state = 2 AND o.kind BETWEEN k.kind AND k.kind
           AND (SELECT jobs > 0 FROM room) AND $5::bigint > 0
         ORDER BY o.kind, o.priority, o.id
         LIMIT (SELECT $2::bigint * 4 + 100)
           FOR NO KEY UPDATE OF o SKIP LOCKED) AS j
     ORDER BY j.priority, j.id
     LIMIT (SELECT $2::bigint * 4 + 100)
)

-- fragment: in_turn
judged AS MATERIALIZED (
    SELECT j.id, j.priority, j.ordering_key IS NULL OR (
               SELECT count(*) FROM (
                   SELECT p.id FROM {prefix}job p
                    WHERE p.queue = $1 AND {first_of_j}
                    ORDER BY p.ordering_key, p.id
                    LIMIT (SELECT per_key FROM room)) AS first WHERE first.id < j.id)
               + (SELECT count(*) FROM running r
                   WHERE r.ordering_key = j.ordering_key AND r.id > j.id)
               < (SELECT per_key FROM room) AS may_start
      FROM seen j
), chosen AS MATERIALIZED (
    SELECT id FROM judged WHERE may_start ORDER BY priority, id LIMIT (SELECT jobs FROM room)
), claimed AS (
    UPDATE {prefix}job AS j
       SET {take}
     WHERE j.id = ANY (ARRAY(SELECT id FROM chosen)) AND j.state + 0 = 2
    RETURNING j.priority, {claimed_columns}, {durable}
), held_back AS (
    UPDATE {prefix}job AS j
       SET state = 5
     WHERE j.id = ANY (ARRAY(SELECT id FROM judged WHERE NOT may_start)) AND j.state + 0 = 2
), turned AS (
    UPDATE {prefix}queue AS q
       SET turn = q.turn + 1,
           starts_from = CASE WHEN q.starts_max IS NULL THEN q.starts_from
                              ELSE m.starts_from + interval '1 microsecond'
                                   * ceil((SELECT count(*) FROM claimed)
                                          * q.starts_per::numeric / q.starts_max)::bigint END
      FROM mine m
     WHERE q.name = $1 AND EXISTS (SELECT FROM claimed)
)
SELECT l.is_live::int, (SELECT count(*) FROM mine),
       (SELECT count(*) FROM seen WHERE ordering_key IS NOT NULL), 0, j.*
  FROM live l LEFT JOIN claimed j ON true
 ORDER BY j.priority, j.id

-- name: claim_in_turn
-- gives: , is_live is_my_turn keyed unused priority @claimed_columns
WITH {my_turn}, {seen}, {in_turn};

-- name: claim_in_turn_of_kinds
-- gives: is_live is_my_turn keyed unused priority @claimed_columns
WITH {my_turn}, {seen_of_kinds}, {in_turn};

-- $1 session; lists: $2 ids, $3 tokens. Completes jobs without a result, an ordering key or a
-- history: deletes their rows. Waits for locks on the rows. Reads: 1 row for each.
-- name: complete
DELETE FROM {prefix}job AS j
 WHERE j.id = ANY ($2::text::bigint[]) AND j.state + 0 = 3 AND j.session_id = $1
   AND j.ordering_key IS NULL
   AND ((j.id, j.token) IN (
           SELECT * FROM unnest($2::text::bigint[], $3::text::bigint[]))) IS TRUE
RETURNING j.id, {durable};

-- `complete` and `claim` in one commit: the parameters of `claim`, then $9 ids, $10 tokens, $11
-- their number. The row without a job also says which jobs have ended, if not all have.
-- fragment: ended
ended AS (
    DELETE FROM {prefix}job AS j
     WHERE j.id = ANY ($9::text::bigint[]) AND j.state + 0 = 3 AND j.session_id = $3
       AND j.ordering_key IS NULL
       AND ((j.id, j.token) IN (
               SELECT * FROM unnest($9::text::bigint[], $10::text::bigint[]))) IS TRUE
    RETURNING j.id
)
-- fragment: answer_with_ends
SELECT {standing},
       CASE WHEN (SELECT count(*) FROM ended) <> $11::bigint
            THEN (SELECT coalesce(string_agg(id::text, ','), '') FROM ended) END,
       CASE WHEN EXISTS (SELECT FROM claimed) OR EXISTS (SELECT FROM ended) THEN {durable} END,
       NULL::smallint, NULL::bigint, NULL::bigint, NULL, NULL, NULL::integer, NULL::integer, NULL,
       NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::integer, NULL::bigint,
       NULL, NULL
  FROM how h
UNION ALL
SELECT NULL, NULL, NULL, c.* FROM claimed c

-- name: complete_and_claim
-- gives: , @answer
WITH {ended}, {picked}, {claimed}
{answer_with_ends};

-- name: complete_and_claim_of_kinds
-- gives: @answer
WITH {ended}, {picked_of_kinds}, {claimed}
{answer_with_ends};

-- ---- ends of running jobs

-- $1 session; lists: $2 ids, $3 tokens, $4 states, $5 delays, $6 texts, $7 the microseconds that
-- the row of a job that ends so is kept, or -1, $8 the same if the job is cancelled.
--
-- mine: waits for locks on the rows, and tests their newest versions.
-- gone: the jobs that end. A job with a request to cancel it ends as cancelled, unless it has
--       completed.
-- back: the jobs that are tried again, or go on later. An attempt counts only if it failed.
-- next: for each ordering key as many of the first blocked jobs as jobs of this list have left
--       their place. `unblock` finds a job that was blocked after this snapshot.
-- Indexes: job_pkey, job_ordering. Reads: 3 rows for each.
-- name: finish
-- gives: id becomes
WITH mine AS MATERIALIZED (
    SELECT j.id, j.queue, j.ordering_key, a.delay, a.words,
           CASE WHEN a.becomes <> 6 AND j.is_cancel_requested = 1
                THEN 8 ELSE a.becomes END AS to_state,
           CASE WHEN a.becomes <> 6 AND j.is_cancel_requested = 1
                THEN a.kept_cancelled ELSE a.kept END AS kept
      FROM unnest($2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[],
                  $6::text::text[], $7::text::bigint[], $8::text::bigint[])
        AS a (id, token, becomes, delay, words, kept, kept_cancelled)
     CROSS JOIN LATERAL (
        SELECT * FROM {prefix}job o
         WHERE o.id = a.id AND o.token = a.token AND o.session_id = $1 AND o.state + 0 = 3
           FOR UPDATE OF o) AS j
), gone AS (
    DELETE FROM {prefix}job AS j
     USING mine m
     WHERE j.id = m.id AND m.to_state > 5
    RETURNING j.*, m.words, m.kept, m.to_state, {durable}
), kept AS (
    INSERT INTO {prefix}job_history
        ({job_columns}, failures, error, result, state, ended_at, prune_at)
    SELECT {job_columns},
           CASE WHEN j.to_state <> 6 AND j.words <> ''
                THEN {failures_with j.words} ELSE j.failures END,
           CASE WHEN j.to_state <> 6 AND j.words <> '' THEN j.words ELSE j.error END,
           CASE WHEN j.to_state = 6 THEN nullif(j.words, '') END,
           j.to_state, clock_timestamp(), clock_timestamp() + j.kept * interval '1 microsecond'
      FROM gone j
     WHERE j.kept >= 0
), back AS (
    UPDATE {prefix}job AS j
       SET state = m.to_state, session_id = NULL,
           due_at = CASE WHEN m.to_state IN (1, 4)
                         THEN clock_timestamp() + m.delay * interval '1 microsecond' END,
           available_at = CASE WHEN m.to_state = 2 THEN clock_timestamp() END,
           attempts = CASE WHEN m.to_state = 4 THEN j.attempts ELSE j.attempts - 1 END,
           error = CASE WHEN m.to_state = 4 THEN m.words ELSE j.error END,
           failures = CASE WHEN m.to_state = 4 THEN {failures_with m.words} ELSE j.failures END
      FROM mine m
     WHERE j.id = m.id AND m.to_state <= 5
    RETURNING j.id, {durable}
), next AS MATERIALIZED (
    SELECT n.id
      FROM (SELECT queue, ordering_key, count(*) AS places
              FROM mine
             WHERE ordering_key IS NOT NULL AND (to_state > 5 OR to_state = 1)
             GROUP BY queue, ordering_key) AS m
     CROSS JOIN LATERAL (
        SELECT b.id FROM {prefix}job b
         WHERE b.queue = m.queue AND {behind_m}
         ORDER BY b.ordering_key, b.id
         LIMIT m.places
           FOR NO KEY UPDATE OF b SKIP LOCKED) AS n
), {freed}
SELECT id, to_state FROM mine;

-- $1 session; lists: $2 ids, $3 tokens. A plain read. Reads: 1 row for each.
-- name: standings
-- gives: id token is_cancel_requested
SELECT j.id, j.token, j.is_cancel_requested
  FROM {prefix}job j
 WHERE j.id = ANY ($2::text::bigint[]) AND j.state + 0 = 3 AND j.session_id = $1;

-- $1 queue, $2 session. Index: job_order. Reads: what runs in the queue.
-- name: find_claims
-- gives: priority @claimed_columns
SELECT j.priority, {claimed_columns}, {carried}
  FROM {prefix}job j
 WHERE j.queue = $1 AND j.state = 3 AND j.session_id = $2
 ORDER BY j.id;

-- $1 session, $2 id, $3 token, $4 text. A HOT update where the page has room.
-- name: note_progress
UPDATE {prefix}job SET progress = $4
 WHERE id = $2 AND token = $3 AND session_id = $1 AND state + 0 = 3;

-- As `note_progress`; also a part of the caller's transaction. Waits for a lock on the row.
-- name: save_checkpoint
-- gives: id
UPDATE {prefix}job AS j
   SET checkpoint = $4, checkpoint_at = greatest(clock_timestamp(), j.enqueued_at)
 WHERE j.id = $2 AND j.token = $3 AND j.session_id = $1 AND j.state + 0 = 3
RETURNING j.id, {durable};
