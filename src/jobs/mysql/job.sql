-- Jobs on MySQL and MariaDB. The rules of hold.sql and waiter.sql; the contract:
-- src/jobs/job_store.hpp.
--
-- A claim, or the end of jobs, is a transaction inside one packet. Neither server answers with the
-- rows that an UPDATE has changed, so a variable gets the ids of the locked rows, as a list in
-- JSON. By that list later statements of the packet find exactly these rows, by primary key: the
-- join begins with the list, which leaves the planner no choice on either server, also for DELETE.
-- An IN of a few keys would read, and lock, all of a small table. Lists of the caller come as a
-- parameter. Statements that may run on a borrowed connection use {utc} instead of {now}.

-- The columns of the claimed job row j. `waited`: microseconds before this claim; null: not known.
-- fragment: claimed_columns
-- gives: id token kind payload attempts rescues ordering_key attempts_max retry_delay
-- gives: retry_delay_max time_limit rescues_max waited traceparent checkpoint
j.id, j.token, j.kind, j.payload, j.attempts, j.rescues, j.ordering_key, j.attempts_max,
       j.retry_delay, j.retry_delay_max, j.time_limit, j.rescues_max,
       {finite j.claimed_at}
       - {finite NULLIF(GREATEST(COALESCE(j.available_at, 0), j.enqueued_at), 0)},
       j.traceparent, {checkpoint}

-- $3 session, $6 node_info. The assignments of a claim. A number that somebody has set to the
-- largest value of its type stays there: the sum would fail, and with it each claim of the queue.
-- fragment: take
j.state = 3, j.token = LEAST(j.token, 9223372036854775806) + 1,
    j.attempts = LEAST(j.attempts, 2147483646) + 1, j.rescues = LEAST(j.rescues, 2147483646),
    j.session_id = $3, j.node_info = $6, j.claimed_at = {now}, j.is_cancel_requested = 0,
    j.progress = NULL, j.unique_slot = IF(j.unique_until = 1, NULL, j.unique_slot)

-- ---- enqueuing

-- The text of an insert: this, a row for each job, and the part that answers with the ids: all ids
-- on MariaDB; on MySQL the first one and its distance to the next. The numbers of a list of rows
-- whose unique keys are free follow each other at any innodb_autoinc_lock_mode.
-- name: insert
INSERT INTO {prefix}job
    (queue, kind, state, priority, enqueued_at, due_at, attempts_max, rescues_max, retry_delay,
     retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, traceparent, payload)
VALUES

-- name: ids on mysql
-- gives: first step
;
SELECT LAST_INSERT_ID(), @@auto_increment_increment

-- name: ids on mariadb
RETURNING id

-- $1 queue, $2 kind, $3 state where it is due, $4 priority, $5 attempts, $6 rescues, $7 and $8
-- delays of retries, $9 time limit, $10 unique until, $11 unique key, $12 ordering key, $13
-- traceparent, $14 payload; default values and empty texts are null. Three forms: due at once, at
-- $15, in $15 microseconds.
-- name: row
($1, $2, $3, $4, {utc}, NULL, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: row_at
($1, $2, IF($15 > {utc}, 1, $3), $4, {utc}, IF($15 > {utc}, $15, NULL), $5, $6, $7, $8, $9, $10,
 $11, $12, $13, $14)

-- name: row_in
($1, $2, 1, $4, {utc}, {utc} + $15, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- $1 queue, $2 ordering key, $3 number, $4 how many jobs of a key may run at a time, as the caller
-- believes: a part of a UNION ALL. Answers how many jobs of the key there are, without scheduled
-- ones and $4 at most; the true value of $4; and the time. Reads: $4 rows, and what is not due
-- before them.
-- name: ahead
-- gives: number before per_key now
SELECT $3, (SELECT COUNT(*) FROM (
               SELECT 1 FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
               WHERE p.queue = $1 AND p.ordering_key = $2 AND p.state <> 1 LIMIT $4) counted),
       COALESCE((SELECT q.running_per_key_max FROM {prefix}queue q WHERE q.name = $1), 1),
       {utc}

-- $1 queue, {keys}: unique keys from $2 on. Answers the taken ones, by a plain read, so that
-- nothing stays locked in the caller's transaction.
-- name: taken
SELECT unique_slot FROM {prefix}job FORCE INDEX ({bare}job_unique)
WHERE queue = $1 AND unique_slot IN ({keys});

-- $1 queue, $2 unique key. The job, and whether it runs. Index: job_unique. Reads: 1 row. The
-- second form is for a transaction whose plain reads may see an old snapshot. It keeps the row
-- locked, as the refused insert has done already.
-- name: find_unique
-- gives: id is_running
SELECT id, state = 3 FROM {prefix}job WHERE queue = $1 AND unique_slot = $2;

-- name: find_newest_unique
-- gives: id is_running
SELECT id, state = 3 FROM {prefix}job WHERE queue = $1 AND unique_slot = $2 LOCK IN SHARE MODE;

-- $1 queue, $2 unique key, $3 kind, $4 payload, $5 priority, $6 due time or -1, $7 delay, $8
-- attempts, $9 rescues, $10 and $11 delays of retries, $12 time limit or -1, $13 traceparent or '',
-- $14 until 1 started 2 ended. A running job stays as it is, and then no row is answered. It is not
-- locked, since its worker would wait until the caller commits. The first form finds the row by a
-- plain read, and changes it by primary key, since the end of a job locks in this order. The second
-- form is for a transaction whose plain reads may see an old snapshot. Assignments run from left to
-- right: `state` asks for the old due time. `enqueued_at` always changes, so that the row counts as
-- changed with and without CLIENT_FOUND_ROWS.
-- fragment: new_due
IF($6 >= 0, $6, IF($7 > 0, {utc} + $7, NULL))
-- fragment: replacement
kind = $3, payload = $4, priority = $5, enqueued_at = GREATEST({utc}, enqueued_at + 1),
    available_at = NULL, attempts = 0, rescues = 0, error = NULL, failures = NULL, progress = NULL,
    checkpoint = NULL, traceparent = NULLIF($13, ''),
    attempts_max = NULLIF($8, 20), rescues_max = NULLIF($9, 3), retry_delay = NULLIF($10, 5000000),
    retry_delay_max = NULLIF($11, 3600000000), time_limit = NULLIF($12, -1),
    unique_until = NULLIF($14, 2),
    state = CASE WHEN due_at = {never} OR {new_due} > {utc} THEN 1 WHEN state = 5 THEN 5 ELSE 2 END,
    due_at = CASE WHEN due_at = {never} THEN due_at WHEN {new_due} > {utc} THEN {new_due} END

-- name: replace
SELECT MAX(id) INTO @leasehold_id FROM {prefix}job
WHERE queue = $1 AND unique_slot = $2 AND state <> 3;
UPDATE {prefix}job SET {replacement}
WHERE id = @leasehold_id AND queue = $1 AND unique_slot = $2 AND state <> 3;
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- name: replace_newest
UPDATE {prefix}job SET {replacement} WHERE queue = $1 AND unique_slot = $2 AND state <> 3;
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- ---- claiming

-- Takes the parameters of `claim`. Plain reads of the session and the queue; then the first rows
-- that nobody else has locked. With one kind, or all, no more than $2 are locked: the LIMIT of a
-- derived table is carried out by itself. If a job has an ordering key, the caller makes a claim in
-- turn: here jobs behind that one would be claimed before it.
-- fragment: pick
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now}),
       COALESCE(MAX(q.is_paused), 0),
       COUNT(q.running_max) + COUNT(q.starts_max) > 0
INTO @leasehold_live, @leasehold_paused, @leasehold_limited
FROM {prefix}queue q WHERE q.name = $1;
SELECT @leasehold_live = 1 AND @leasehold_paused = 0 AND @leasehold_limited = 0
INTO @leasehold_room;
SELECT IF(COUNT(d.ordering_key) = 0, CONCAT('[', GROUP_CONCAT(d.id), ']'), NULL),
       COUNT(d.ordering_key)
INTO @leasehold_ids, @leasehold_keyed
FROM ({first_ones}) d;
UPDATE {listed} SET {take} WHERE j.state = 2

-- $1 queue, $2 how many, $3 session, $6 node_info; {first_ones}: `first_of_all`, or
-- `first_of_kinds`. The rows are read while the transaction is open. The first columns: the state
-- of the session and the queue, and how many keys were found.
-- name: claim
-- gives: , is_live is_paused is_limited has_keys priority @claimed_columns
START TRANSACTION;
{pick};
SELECT @leasehold_live, @leasehold_paused, @leasehold_limited, @leasehold_keyed, j.priority,
       {claimed_columns}
FROM (SELECT 1 AS one) o LEFT JOIN ({listed}) ON TRUE;
COMMIT;

-- The first available jobs of a queue, as many as {most} says: of all kinds, or of some, by a part
-- for each. A part locks so many of its kind, around rows that others have locked. With several
-- kinds more rows are locked than claimed, until this commits. Jobs of other kinds are neither read
-- nor locked. A locking read sees the newest rows, so a later part sees commits that an earlier
-- part did not see. If jobs are committed in between, the later one may be claimed first.
-- name: first_of_all
-- gives: id ordering_key
SELECT p.id, p.ordering_key FROM {prefix}job p FORCE INDEX ({bare}job_order)
    WHERE p.queue = $1 AND p.state = 2 AND @leasehold_room > 0
    ORDER BY p.queue, p.state, p.priority, p.id LIMIT {most} FOR UPDATE SKIP LOCKED

-- name: first_of_kinds
SELECT k.id, k.ordering_key FROM ({parts}) k ORDER BY k.priority, k.id LIMIT {most}

-- {kind}: one of the kinds.
-- name: first_of_kind
-- gives: id priority ordering_key
SELECT * FROM (
        SELECT p.id, p.priority, p.ordering_key FROM {prefix}job p FORCE INDEX ({bare}job_kind)
        WHERE p.queue = $1 AND p.kind = {kind} AND p.state = 2 AND @leasehold_room > 0
        ORDER BY p.queue, p.kind, p.state, p.priority, p.id
        LIMIT {most} FOR UPDATE SKIP LOCKED) p{number}

-- $1 queue. The row that claims in turn need; 1062 if it exists.
-- name: make_queue
INSERT INTO {prefix}queue (name) VALUES ($1);

-- The parameters of `claim`, $4 how many rows are looked at, $5 how many jobs of a key may run at a
-- time, as the caller believes, and {skipped} one less. For queues with limits or keys.
--
-- 1. The session, a plain read.
-- 2. The queue's row: waits for a claim in turn that is under way. Each statement from here on has
--    a snapshot with the claims of all that had the row before.
-- 3. The room for jobs; running jobs count, also those of dead sessions. 0 if the caller was
--    mistaken. In floating point, since the product may be beyond 63 bits.
-- 4. The window: the first rows of job_order.
-- 5. A job may start by its key if fewer jobs than may run at a time stand before it, or run behind
--    it (it was scheduled, and has come due later). The running jobs are one table, read once.
-- 6. Those are claimed; the other jobs of the window are blocked, so that later claims do not read
--    them. The queue's row changes with each claim.
-- Reads: what runs in the queue, and some rows for each of the window.
-- name: claim_in_turn
-- gives: , is_live has_queue per_key has_keys priority @claimed_columns
START TRANSACTION;
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now})
INTO @leasehold_live;
SELECT COUNT(*), MAX(q.running_per_key_max), MAX(q.running_max), MAX(q.starts_max),
       MAX(q.starts_per), MAX(q.starts_from), MAX(q.is_paused)
INTO @leasehold_there, @leasehold_per_key, @leasehold_running_max, @leasehold_starts_max,
     @leasehold_starts_per, @leasehold_starts_from, @leasehold_paused
FROM {prefix}queue q WHERE q.name = $1 AND @leasehold_live = 1 FOR UPDATE;
SELECT COUNT(*) INTO @leasehold_running
FROM {prefix}job r FORCE INDEX ({bare}job_order)
WHERE r.queue = $1 AND r.state = 3 AND @leasehold_there = 1;
SELECT IF(@leasehold_there = 1 AND @leasehold_paused = 0 AND @leasehold_per_key = $5,
          CAST(GREATEST(0, LEAST(
              $2, COALESCE(@leasehold_running_max - @leasehold_running, $2),
              COALESCE(@leasehold_starts_max, $2),
              COALESCE(FLOOR(
                  (@leasehold_starts_per - LEAST(@leasehold_starts_per,
                      GREATEST(0, @leasehold_starts_from - {now}))) * 1e0
                  * @leasehold_starts_max / @leasehold_starts_per), $2))) AS SIGNED), 0)
INTO @leasehold_room;
SELECT CONCAT('[', GROUP_CONCAT(d.id), ']'), COUNT(d.ordering_key)
INTO @leasehold_ids, @leasehold_keyed
FROM ({first_ones}) d;
SELECT CONCAT('[', NULLIF(SUBSTRING_INDEX(
           GROUP_CONCAT(IF(g.is_blocked, NULL, g.id) ORDER BY g.priority, g.id), ',',
           @leasehold_room), ''), ']'),
       CONCAT('[', GROUP_CONCAT(IF(g.is_blocked, g.id, NULL)), ']')
INTO @leasehold_ids, @leasehold_blocked
FROM (
    SELECT j.id, j.priority, CASE
        WHEN j.ordering_key IS NULL THEN 0
        WHEN j.behind = 0 THEN COALESCE({one_behind} < j.id, 0)
        WHEN j.behind >= @leasehold_per_key THEN 1
        ELSE j.behind + (
            SELECT COUNT(*) FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
            WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key AND p.id < j.id
              AND p.state <> 1) >= @leasehold_per_key END AS is_blocked
    FROM (
        SELECT j.id, j.priority, j.queue, j.ordering_key, COUNT(w.id) AS behind
        FROM {listed} LEFT JOIN (
            SELECT DISTINCT r.id, r.ordering_key
            FROM {prefix}job r FORCE INDEX ({bare}job_order)
            WHERE r.queue = $1 AND r.state = 3 AND r.ordering_key IS NOT NULL) w
            ON w.ordering_key = j.ordering_key AND w.id > j.id
        GROUP BY j.id, j.priority, j.queue, j.ordering_key) j) g;
UPDATE {listed} SET {take} WHERE j.state = 2;
UPDATE {listed_blocked} SET j.state = 5 WHERE j.state = 2;
UPDATE {prefix}queue
SET turn = turn + 1,
    starts_from = IF(starts_max IS NULL, starts_from,
                     GREATEST(LEAST(starts_from, {now} + starts_per), {now})
                     + (JSON_LENGTH(@leasehold_ids) * starts_per + starts_max - 1) DIV starts_max)
WHERE name = $1 AND @leasehold_ids IS NOT NULL;
SELECT @leasehold_live, @leasehold_there, @leasehold_per_key, @leasehold_keyed, j.priority,
       {claimed_columns}
FROM (SELECT 1 AS one) o LEFT JOIN ({listed}) ON TRUE;
COMMIT;

-- ---- ends of running jobs

-- The job rows j of a list of claims, @leasehold_ends: ids and tokens.
-- fragment: held
JSON_TABLE(@leasehold_ends, '$[*]' COLUMNS (
        asked_id BIGINT PATH '$[0]', asked_token BIGINT PATH '$[1]')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- fragment: stands
j.token = a.asked_token AND j.state = 3

-- $1 session, $2 list of ids and tokens, of this and of `finish`; a part of a transaction, which
-- may be the caller's.
--
-- Completes jobs without a result, an ordering key or a history: deletes their rows. Waits for
-- locks on the rows; locked rows stay as they are, and a lost claim never comes back. The answer is
-- these rows: no other statement of the packet gives rows.
-- Reads: 2 rows for each.
-- name: complete
SELECT CONVERT($2 USING utf8mb4) INTO @leasehold_ends;
SELECT j.id FROM {held}
WHERE {stands} AND j.session_id = $1 AND j.ordering_key IS NULL {update_listed};
DELETE j FROM {held} WHERE {stands} AND j.session_id = $1 AND j.ordering_key IS NULL;

-- $1 session, $2 id, $3 token. As `complete`, for one job.
-- name: complete_one
DELETE FROM {prefix}job
WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3 AND ordering_key IS NULL;

-- `complete` and `claim` in one commit: the parameters of `claim`, $4 the list, $5 its length.
-- Behind the columns of `claim`: the number of ended jobs, and their ids if not all have ended.
-- name: complete_and_claim
-- gives: , is_live is_paused is_limited has_keys priority @claimed_columns completed ended
START TRANSACTION;
SELECT CONVERT($4 USING utf8mb4) INTO @leasehold_ends;
SELECT COUNT(*), CONCAT('[', GROUP_CONCAT(j.id), ']') INTO @leasehold_count, @leasehold_ended
FROM {held} WHERE {stands} AND j.session_id = $3 AND j.ordering_key IS NULL {update_listed};
DELETE j FROM {held} WHERE {stands} AND j.session_id = $3 AND j.ordering_key IS NULL;
{pick};
SELECT @leasehold_live, @leasehold_paused, @leasehold_limited, @leasehold_keyed, j.priority,
       {claimed_columns}, @leasehold_count, IF(@leasehold_count = $5, NULL, @leasehold_ended)
FROM (SELECT 1 AS one) o LEFT JOIN ({listed}) ON TRUE;
COMMIT;

-- The job rows of {held} with the end of each: state, delay, text in hexadecimal digits, the
-- microseconds that the row of a job that ends so is kept, or -1, and the microseconds
-- that a cancelled job is kept.
-- fragment: ends
JSON_TABLE(@leasehold_ends, '$[*]' COLUMNS (
        asked_id BIGINT PATH '$[0]', asked_token BIGINT PATH '$[1]', becomes BIGINT PATH '$[2]',
        delay BIGINT PATH '$[3]', words TEXT PATH '$[4]', kept BIGINT PATH '$[5]',
        kept_cancelled BIGINT PATH '$[6]')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- A job with a request to cancel it ends as cancelled, unless it has completed.
-- fragment: to_state
IF(a.becomes <> 6 AND j.is_cancel_requested = 1, 8, a.becomes)
-- fragment: kept
IF({to_state} = 8, a.kept_cancelled, a.kept)

-- $2 list as {ends}. A part of a transaction.
--
-- 1. Locks the rows, as `complete`; the answer, with the state of each from now on.
-- fragment: lock_ends
SELECT CONVERT($2 USING utf8mb4) INTO @leasehold_ends;
SELECT j.id, {to_state} FROM {ends} WHERE {stands} AND j.session_id = $1 {update_listed}

-- 2. Finds for each ordering key as many of the first blocked jobs as jobs of this list have left
--    their place. `unblock` finds a job that was blocked after this snapshot.
-- 3. Ended jobs go to the history.
-- fragment: copy_ended
WITH RECURSIVE places AS (
    SELECT j.queue, j.ordering_key, COUNT(*) AS places FROM {ends}
    WHERE {stands} AND j.session_id = $1 AND j.ordering_key IS NOT NULL
      AND ({to_state} > 5 OR {to_state} = 1)
    GROUP BY j.queue, j.ordering_key
), {next_of_places}
SELECT {next_ids} INTO @leasehold_next FROM next_of n;
INSERT INTO {prefix}job_history
    ({job_columns}, error, result, state, ended_at, prune_at, failures)
SELECT {job_columns},
       IF(a.becomes <> 6 AND a.words <> '', UNHEX(a.words), j.error),
       IF(a.becomes = 6 AND a.words <> '', UNHEX(a.words), NULL),
       {to_state}, {utc}, {utc} + {kept},
-- fragment: from_ended
FROM {ends} WHERE {stands} AND j.session_id = $1 AND {to_state} > 5 AND {kept} >= 0

-- 4. Jobs that go on do not run any more; an attempt counts only if it failed. `attempts` comes
--    last, since the other assignments read it.
-- 5. Deletes the rows that still run, which are those of ended jobs.
-- fragment: put_back_others
j.due_at = IF({to_state} IN (1, 4), {utc} + a.delay, NULL),
    j.available_at = IF({to_state} = 2, {utc}, NULL),
    j.error = IF(a.becomes = 4, UNHEX(a.words), j.error),
    j.session_id = NULL, j.state = {to_state},
    j.attempts = IF(a.becomes = 4, j.attempts, j.attempts - 1)
WHERE {stands} AND j.session_id = $1 AND {to_state} <= 5;
DELETE j FROM {held} WHERE {stands} AND j.session_id = $1;
{free_next}

-- Reads: 8 rows for each.
-- name: finish
-- gives: id becomes
{lock_ends};
{copy_ended} j.failures {from_ended};
UPDATE {ends} SET {put_back_others};

-- fragment: noted
IF(a.becomes <> 6 AND a.words <> '', {failures_with UNHEX(a.words)}, j.failures)

-- As `finish`, for lists in which an attempt ends with an error: an UPDATE of a BLOB makes a
-- temporary table on the disk of MariaDB, whether it finds a row or not.
-- name: finish_failed
-- gives: id becomes
{lock_ends};
{copy_ended} {noted} {from_ended};
UPDATE {ends} SET j.failures = {noted}, {put_back_others};

-- $1 session, $2 list of ids. A plain read. Reads: 1 row for each.
-- name: standings
-- gives: id token is_cancel_requested
SELECT j.id, j.token, j.is_cancel_requested
FROM JSON_TABLE(CONVERT($2 USING utf8mb4), '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.state = 3 AND j.session_id = $1;

-- $1 queue, $2 session. Index: job_order. Reads: what runs in the queue.
-- name: find_claims
-- gives: priority @claimed_columns
SELECT j.priority, {claimed_columns}
FROM {prefix}job j FORCE INDEX ({bare}job_order)
WHERE j.queue = $1 AND j.state = 3 AND j.session_id = $2
ORDER BY j.id;

-- $1 session, $2 id, $3 token, $4 text. A text that stays the same is not counted as a change: the
-- report asks the row itself.
-- name: note_progress
UPDATE {prefix}job SET progress = $4 WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3;
SELECT 1 FROM {prefix}job WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3;

-- As `note_progress`; also a part of the caller's transaction. `checkpoint_at` always grows, so
-- that the row counts as changed, and a claim on another node of a cluster conflicts with it.
-- name: save_checkpoint
UPDATE {prefix}job
SET checkpoint = $4, checkpoint_at = GREATEST({utc}, COALESCE(checkpoint_at, 0) + 1, enqueued_at)
WHERE id = $2 AND token = $3 AND session_id = $1 AND state = 3;
