-- The clean-up. The rules these statements follow: hold.sql.
--
-- Looks: the place is $1, and $2 if the key has two columns. {rows} is a literal, since a plan that
-- does not know the number reads and sorts the whole table. A subquery of one value finds the
-- session of a row, and only the primary key serves that; a join of so many rows would read all
-- sessions. Reads: {rows} rows, and as many sessions at most.
--
-- Clears: the list has at most 256 rows; each has a number, its key and the rest of its key as
-- bytes or as a number. A LATERAL query finds the row to lock for each by primary key, and cannot
-- become a join that reads a table. Materialised queries lock each row once. The rows are then
-- changed by their place (ctid), which stays the same while they are locked: the planner makes a
-- join with so few rows a scan as soon as that looks cheaper. The commits are asynchronous, since a
-- lost change is made again.

-- name: progress
-- gives: task turn since_turn unfinished place passes
SELECT task, turn, {since turned_at},
       unfinished, place, passes
  FROM {prefix}upkeep;

-- $1 task, $2 turn, $3 every. Skips a locked row, since another session is taking that turn. At the
-- beginning of a pass the turn's owner has not looked at any row yet.
-- name: begin_turn
WITH free AS MATERIALIZED (
    SELECT u.task
      FROM {prefix}upkeep u
     WHERE u.task = $1 AND u.turn = $2
       AND (u.turned_at <= clock_timestamp() - $3::bigint * interval '1 microsecond'
            OR u.turned_at > clock_timestamp())
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {prefix}upkeep AS u
   SET turn = u.turn + 1, turned_at = clock_timestamp(), unfinished = u.unfinished + 1,
       sweeps_to = CASE WHEN u.place = '' THEN clock_timestamp() ELSE u.sweeps_to END
  FROM free
 WHERE u.task = free.task AND u.turn = $2
RETURNING {asynchronous};

-- $1 task, $2 turn, $3 the place, $4 the oldest end of the rows that are left, or one far in the
-- future. An empty place ends the pass.
-- name: advance
UPDATE {prefix}upkeep AS u
   SET place = $3, unfinished = greatest(u.unfinished - 1, 0),
       passes = u.passes + ($3 = ''::bytea)::integer,
       swept_to = CASE WHEN $3 = ''::bytea THEN least(u.sweeps_to,
           timestamptz 'epoch' + $4::bigint * interval '1 microsecond') ELSE u.swept_to END,
       sweeps_to = CASE WHEN $3 = ''::bytea THEN clock_timestamp() ELSE least(u.sweeps_to,
           timestamptz 'epoch' + $4::bigint * interval '1 microsecond') END
 WHERE u.task = $1 AND u.turn = $2
RETURNING {asynchronous};

-- Each look answers with the key of every row in two columns, whether there is something to clear,
-- whether somebody may wait for it, and the end of its session in microseconds. $1 and $2: the
-- place; $4: retention.
--
-- ends_at: when the row's hold is over. If it is null and the row has an owner, the hold is an
--          orphan.
-- name: look_at_locks
-- gives: place rest is_found is_awaited ends_at
SELECT w.lock_key, NULL,
       CASE WHEN w.owner IS NULL THEN w.is_queued
            ELSE coalesce({finite w.ends_at} + w.delay <= clock_timestamp(), true) END::integer,
       w.is_queued::integer, CASE WHEN w.session_id IS NOT NULL
            THEN (extract(epoch FROM {finite w.ends_at}) * 1000000)::bigint END
  FROM (SELECT l.lock_key, l.owner, l.session_id, {delay} AS delay,
               l.last_ticket <> 0 AND l.kind = 1 AS is_queued,
               coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s
                                        WHERE s.id = l.session_id)) AS ends_at
          FROM {prefix}lock l
         WHERE l.lock_key > $1
         ORDER BY l.lock_key
         LIMIT {rows}) AS w
 ORDER BY w.lock_key;

-- Holders and waiters: {table}, and {rest}, the second column of its key.
-- name: look_at_dead
-- gives: place rest is_found is_awaited ends_at
SELECT w.lock_key, w.{rest}, coalesce(w.ends_at <= clock_timestamp(), true)::integer, 0,
       (extract(epoch FROM {finite w.ends_at}) * 1000000)::bigint
  FROM (SELECT h.lock_key, h.{rest}, (SELECT s.expires_at FROM {prefix}session s
                                       WHERE s.id = h.session_id) AS ends_at
          FROM {prefix}{table} h
         WHERE (h.lock_key, h.{rest}) > ($1, $2)
         ORDER BY h.lock_key, h.{rest}
         LIMIT {rows}) AS w
 ORDER BY w.lock_key, w.{rest};

-- Tasks 1 to 3 look at rows that refer to sessions.
-- name: look_at_sessions
-- gives: place rest is_found is_awaited ends_at
WITH cleaned AS MATERIALIZED (
    SELECT CASE WHEN count(*) = 3 THEN least(min(u.swept_to), clock_timestamp()) END
               - $4::bigint * interval '1 microsecond' AS until
      FROM {prefix}upkeep u WHERE u.task IN (1, 2, 3)
)
SELECT w.id, NULL, (w.expires_at <= cleaned.until)::integer, 0, NULL
  FROM cleaned CROSS JOIN (SELECT s.id, s.expires_at
          FROM {prefix}session s
         WHERE s.id > $1
         ORDER BY s.id
         LIMIT {rows}) AS w
 ORDER BY w.id;

-- Looks at lock row l. A header with holders stays: if a snapshot lacks a holder, it is older than
-- that holder's grant, and the grant has made the header too young to be idle. The order is that of
-- the holders' primary key: without it, the planner would read all holders if few keys have many
-- holders each. A row whose fence somebody has set near the end of its type stays, because the mark
-- takes no such number.
-- name: look_at_idle
-- gives: place rest is_found is_awaited ends_at
SELECT l.lock_key, NULL, (CASE WHEN l.owner IS NULL THEN l.owner IS NULL AND l.last_ticket = 0
    AND l.fence < 1::bigint << 62
    AND l.changed_at <= clock_timestamp() - $4::bigint * interval '1 microsecond'
    AND (SELECT h.lock_key FROM {prefix}holder h WHERE h.lock_key = l.lock_key
         ORDER BY h.lock_key, h.owner LIMIT 1) IS NULL ELSE false END)::integer, 0, NULL
  FROM {prefix}lock l WHERE l.lock_key > $1 ORDER BY l.lock_key LIMIT {rows};

-- dead, passed: the proofs of `try_acquire`.
-- orphaned:     a snapshot with the hold and without its session is proof for that very hold.
-- abandoned:    locks the row only if it still has that hold. On a newer hold, "no session" would
--               be tested in the old snapshot, and a session younger than the snapshot would count
--               as gone.
-- The UPDATE waits for nobody: all its rows are locked.
-- name: free_locks
WITH asked (number, lock_key, rest, amount) AS ({asked}
), dead AS MATERIALIZED (
    SELECT one.ctid FROM asked CROSS JOIN LATERAL (
        SELECT l.ctid
          FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
         WHERE l.lock_key = asked.lock_key
           AND {closed_until s.expires_at} <= clock_timestamp()
           FOR SHARE OF s SKIP LOCKED
           FOR NO KEY UPDATE OF l SKIP LOCKED) AS one
), passed AS MATERIALIZED (
    SELECT one.ctid FROM asked CROSS JOIN LATERAL (
        SELECT l.ctid
          FROM {prefix}lock l
         WHERE l.lock_key = asked.lock_key
           AND {closed_until l.expires_at} <= clock_timestamp()
           FOR NO KEY UPDATE OF l SKIP LOCKED) AS one
), orphaned AS MATERIALIZED (
    SELECT one.lock_key, one.fence, one.owner FROM asked CROSS JOIN LATERAL (
        SELECT l.lock_key, l.fence, l.owner, l.session_id
          FROM {prefix}lock l
         WHERE l.lock_key = asked.lock_key
        OFFSET 0) AS one
     WHERE one.session_id IS NOT NULL
       AND (SELECT s.id FROM {prefix}session s WHERE s.id = one.session_id) IS NULL
), abandoned AS MATERIALIZED (
    SELECT one.ctid FROM orphaned o CROSS JOIN LATERAL (
        SELECT l.ctid
          FROM {prefix}lock l
         WHERE l.lock_key = o.lock_key AND l.fence = o.fence AND l.owner = o.owner
           FOR NO KEY UPDATE OF l SKIP LOCKED) AS one
), found AS MATERIALIZED (
    SELECT ctid FROM dead UNION ALL SELECT ctid FROM passed UNION ALL SELECT ctid FROM abandoned
)
UPDATE {prefix}lock AS l
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0,
       changed_at = clock_timestamp()
 WHERE l.ctid = ANY (ARRAY(SELECT ctid FROM found)) AND l.owner IS NOT NULL
RETURNING 0, {asynchronous};

-- Holders and waiters. {asked_rest}: the rest of the key in the list.
-- name: remove_dead
WITH asked (number, lock_key, rest, amount) AS ({asked}
), dead AS MATERIALIZED (
    SELECT one.ctid FROM asked CROSS JOIN LATERAL (
        SELECT h.ctid
          FROM {prefix}{table} h JOIN {prefix}session s ON s.id = h.session_id
         WHERE h.lock_key = asked.lock_key AND h.{rest} = asked.{asked_rest}
           AND s.expires_at <= clock_timestamp()
           FOR SHARE OF s SKIP LOCKED
           FOR UPDATE OF h SKIP LOCKED) AS one
), orphaned AS MATERIALIZED (
    SELECT one.ctid FROM asked CROSS JOIN LATERAL (
        SELECT h.ctid
          FROM {prefix}{table} h
         WHERE h.lock_key = asked.lock_key AND h.{rest} = asked.{asked_rest}
           AND (SELECT s.id FROM {prefix}session s WHERE s.id = h.session_id) IS NULL
           FOR UPDATE OF h SKIP LOCKED) AS one
), found AS MATERIALIZED (
    SELECT ctid FROM dead UNION ALL SELECT ctid FROM orphaned
)
DELETE FROM {prefix}{table} AS h
 WHERE h.ctid = ANY (ARRAY(SELECT ctid FROM found))
RETURNING 0, {asynchronous};

-- The retention is in the list. For a session that expired so long ago a grant can be under way
-- only in a transaction that is as old. Such a grant becomes an orphan.
-- name: remove_sessions
WITH asked (number, lock_key, rest, amount) AS ({asked}
), old AS MATERIALIZED (
    SELECT one.ctid FROM asked CROSS JOIN LATERAL (
        SELECT s.ctid
          FROM {prefix}session s
         WHERE s.id = asked.lock_key
           AND s.expires_at <= clock_timestamp() - asked.amount * interval '1 microsecond'
           FOR UPDATE OF s SKIP LOCKED) AS one
)
DELETE FROM {prefix}session AS s
 WHERE s.ctid = ANY (ARRAY(SELECT ctid FROM old))
RETURNING 0, {asynchronous};

-- The test of `look_at_idle`.
-- fragment: is_idle
l.owner IS NULL AND l.last_ticket = 0 AND l.fence < 1::bigint << 62
    AND l.changed_at <= clock_timestamp() - asked.amount::bigint * interval '1 microsecond'
    AND (SELECT h.lock_key FROM {prefix}holder h WHERE h.lock_key = l.lock_key
         ORDER BY h.lock_key, h.owner LIMIT 1) IS NULL

-- mark:   locks the mark only if there is something to remove. It waits for inserts of new keys
--         that are under way, and for another reaper, while it holds no other lock.
-- idle:   reads `mark` in each of its queries, so that no row is locked or deleted before the mark
--         is locked.
-- raised: raises the newest version of the mark, which is locked, to the highest fence among the
--         locked rows. Those include all rows that are deleted.
-- name: remove_idle
WITH asked (number, lock_key, rest, amount) AS ({asked}
), mark AS MATERIALIZED (
    SELECT m.id
      FROM {prefix}fence_mark m
     WHERE m.id = 1
       AND EXISTS (SELECT FROM asked CROSS JOIN LATERAL (
               SELECT l.lock_key FROM {prefix}lock l
                WHERE l.lock_key = asked.lock_key AND {is_idle}
               OFFSET 0) AS one)
       FOR NO KEY UPDATE OF m
), idle AS MATERIALIZED (
    SELECT one.ctid, one.fence FROM mark CROSS JOIN asked CROSS JOIN LATERAL (
        SELECT l.ctid, l.fence
          FROM {prefix}lock l
         WHERE l.lock_key = asked.lock_key AND mark.id = 1 AND {is_idle}
           FOR UPDATE OF l SKIP LOCKED) AS one
), raised AS (
    UPDATE {prefix}fence_mark AS m
       SET fence = greatest(m.fence, (SELECT max(fence) FROM idle))
     WHERE m.id = 1 AND EXISTS (SELECT FROM idle)
)
DELETE FROM {prefix}lock AS l
 WHERE l.ctid = ANY (ARRAY(SELECT ctid FROM idle)) AND l.owner IS NULL AND l.last_ticket = 0
RETURNING 0, {asynchronous};

-- $1 limit. Deletes rows by their place. Index: grant_history_ended. Reads: 2 rows for each. Of two
-- concurrent calls the second waits for the rows of the first, and then deletes fewer rows.
-- name: prune_history
DELETE FROM {prefix}grant_history
 WHERE ctid = ANY (ARRAY(
    SELECT h.ctid FROM {prefix}grant_history h
     WHERE h.ended_at < (SELECT clock_timestamp() - r.keep * interval '1 microsecond'
                           FROM {prefix}grant_history_rule r WHERE r.id = 1)
     ORDER BY h.ended_at LIMIT (SELECT $1::bigint)))
RETURNING 0, {asynchronous};
