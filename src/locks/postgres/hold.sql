-- Holds on PostgreSQL.
--
-- Three rules hold these statements together.
-- 1. One statement reads one snapshot. If a row that the statement changes has a version newer than
--    the snapshot, PostgreSQL evaluates WHERE again on that version, but it still reads every
--    *other* table in the old snapshot. Only a locking read sees, and keeps, the newest version, so
--    a locking read proves each death.
-- 2. An UPDATE that waited behind a mere lock (no newer version) does not evaluate its WHERE again.
--    Where the clock matters after a wait, the row is locked first and the clock is read then.
-- 3. A read that may not wait says SKIP LOCKED; none waits for a lock row while it holds a session
--    row. So no two of these statements can wait for each other in a circle.

-- src/locks/postgres/hold_store.cpp chooses the order in which it tries the next statements that
-- take a key. Each is right by itself. The small ones do less than `try_acquire`, and give no row
-- if that is not enough. To start and end the parts of `try_acquire` costs the server three times
-- what `take_free` does.

-- Takes a key that nobody has: the parameters of `try_acquire`, and its `taken`. Owner, kind and
-- fence are those of the version that is changed. `me` of `try_acquire` says why the test compares
-- with the time the statement came in. A statement that changes nothing writes nothing. Index:
-- lock_pkey, session_pkey. Reads: 2 rows.
-- name: take_free
UPDATE {prefix}lock AS l
   SET fence = l.fence + 1, owner = $2,
       session_id = CASE WHEN $5::bigint IS NULL THEN $3::bytea END,
       node_info = $4, reentrant_count = 1, changed_at = clock_timestamp(),
       expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond',
       lock_delay = $6::bigint, metadata = $7::text, revocations = 0
 WHERE l.lock_key = $1 AND l.kind = 1 AND l.owner IS NULL
   AND EXISTS (SELECT FROM {prefix}session s
                WHERE s.id = $3 AND s.expires_at > statement_timestamp())
RETURNING l.fence, {durable};

-- Lists, each an array of as many elements: $1 keys, $2 owners, $3 sessions, $4 node_infos,
-- $5 terms in microseconds or -1, $6 delays, $7 metadata or ''. No element is null, since NULL may
-- be four letters there (array_nulls). `take_free` for requests of several threads: the answer
-- names those that got a key by their owner ids, of which no two are the same.
--
-- free:  waits for nobody: the caller asks for locked keys alone. A key that is listed twice is
--        granted to one of the two, since a row is changed once.
-- taken: finds rows by primary key: the planner assumes that a list of unknown length is short.
-- Index: lock_pkey, session_pkey. Reads: 4 rows for each.
-- name: take_free_of
-- gives: owner token
WITH asked AS MATERIALIZED (
    SELECT lock_key, owner, session_id, node_info, nullif(term, -1) AS term, delay,
           nullif(metadata, '') AS metadata
      FROM unnest($1::text::bytea[], $2::text::bytea[], $3::text::bytea[], $4::text::text[],
                  $5::text::bigint[], $6::text::bigint[], $7::text::text[])
        AS a (lock_key, owner, session_id, node_info, term, delay, metadata)
), free AS MATERIALIZED (
    SELECT found.lock_key
      FROM asked
     CROSS JOIN LATERAL (
        SELECT l.lock_key
          FROM {prefix}lock l
         WHERE l.lock_key = asked.lock_key AND l.kind = 1 AND l.owner IS NULL
           FOR NO KEY UPDATE OF l SKIP LOCKED) AS found
     WHERE (SELECT s.expires_at FROM {prefix}session s WHERE s.id = asked.session_id)
           > statement_timestamp()
)
UPDATE {prefix}lock AS l
   SET fence = l.fence + 1, owner = asked.owner,
       session_id = CASE WHEN asked.term IS NULL THEN asked.session_id END,
       node_info = asked.node_info, reentrant_count = 1, changed_at = clock_timestamp(),
       expires_at = clock_timestamp() + asked.term * interval '1 microsecond',
       lock_delay = asked.delay, metadata = asked.metadata, revocations = 0
  FROM asked
 WHERE l.lock_key = ANY (ARRAY(SELECT lock_key FROM free)) AND l.lock_key = asked.lock_key
   AND l.kind = 1 AND l.owner IS NULL
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = asked.session_id)
       > statement_timestamp()
RETURNING l.owner, l.fence, {durable};

-- $1 key, $2 session. Asks whether somebody has a key that was refused lately: a plain read of one
-- snapshot, by the clock, that waits for nobody. If the key has a live holder, the answer names it
-- and the key is refused. The statement proves no death, and grants nothing. Reads: 3 rows.
-- name: holder_of
-- gives: @hold
SELECT l.lock_key, l.fence, true, {rest_of_hold}
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND l.kind = 1 AND {is_live}
   AND (SELECT me.expires_at FROM {prefix}session me WHERE me.id = $2) > statement_timestamp();

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term in microseconds or null, $6 delay, $7
-- metadata or null.
--
-- me:     tests the snapshot against the time the statement came in. Both are taken at the same
--         moment, so a renewal that commits while this statement waits cannot make a live session
--         look dead, as it would against a clock read after the wait. A session that dies during
--         the wait is granted a lock that anybody may take from it at once, which is harmless.
-- seen:   the snapshot, for a refusal: it names the holder of the key.
-- dead:   the proof of rule 1, session row and lock row at once. A heartbeat in flight holds its
--         row, and a proof in flight the lock row: both are skipped, and the try is refused without
--         waiting. A missing session row joins nothing, so its holder counts as alive.
-- passed: the same for fixed terms, which have no session row.
-- taken:  evaluates `dead` and `passed` only for a row that has an owner. Waits only for somebody
--         who is taking or reaping the same free row at this moment, then looks at its new version.
--         The fence is counted on the version that is changed.
-- mark:   locks only a row that passes its whole WHERE, so a refused try writes nothing. Locked in
--         share mode before the insert: the reaper, which locks the mark before it deletes, either
--         has raised it already, and we read the newest version, or waits until we are done.
--         Without it a key that lived and was reaped since our snapshot would start again below.
-- made:   a key that is in no snapshot. If another session inserts it meanwhile, nothing is made.
-- Indexes: the three primary keys.
-- name: try_acquire
-- gives: token is_live kind @hold
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $3 AND expires_at > statement_timestamp()
), seen AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           {held_for} AS held_for, {remaining} AS remaining, l.metadata, l.kind
      FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1
), dead AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1
       AND {closed_until s.expires_at} <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), passed AS MATERIALIZED (
    SELECT l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1
       AND {closed_until l.expires_at} <= clock_timestamp()
       FOR NO KEY UPDATE OF l SKIP LOCKED
), taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = $2,
           session_id = CASE WHEN $5::bigint IS NULL THEN $3::bytea END,
           node_info = $4, reentrant_count = 1, changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond',
           lock_delay = $6::bigint, metadata = $7::text, revocations = 0
     WHERE l.lock_key = $1 AND l.kind = 1
       AND EXISTS (SELECT FROM me)
       AND (l.owner IS NULL
            OR l.session_id IN (SELECT id FROM dead)
            OR (l.expires_at IS NOT NULL AND l.fence IN (SELECT fence FROM passed)))
    RETURNING l.fence, {durable}
), mark AS MATERIALIZED (
    SELECT m.fence
      FROM {prefix}fence_mark m
     WHERE m.id = 1 AND EXISTS (SELECT FROM me) AND NOT EXISTS (SELECT FROM seen)
       FOR SHARE
), made AS (
    INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                              changed_at, expires_at, lock_delay, metadata)
    SELECT $1, mark.fence + 1, $2, CASE WHEN $5::bigint IS NULL THEN $3::bytea END, $4, 1,
           clock_timestamp(), clock_timestamp() + $5::bigint * interval '1 microsecond',
           $6::bigint, $7::text
      FROM mark
    ON CONFLICT (lock_key) DO NOTHING
    RETURNING fence, {durable}
)
SELECT coalesce((SELECT fence FROM taken), (SELECT fence FROM made)),
       (SELECT count(*) FROM me),
       seen.kind, seen.lock_key, seen.fence,
       seen.owner IS NOT NULL AND coalesce(seen.remaining > 0, true), seen.owner, seen.session_id,
       seen.node_info, seen.reentrant_count, seen.held_for, seen.remaining, seen.metadata
  FROM (SELECT 1) AS always LEFT JOIN seen ON true;

-- {keys}: a list of rows (number, key), the keys from $2 on; $1 owner. Plain reads, which do not
-- ask whether a hold is live. The caller relies on a grant that is found, so the answer is
-- {carried}.
-- name: find_grants
SELECT l.fence, {carried}
  FROM (VALUES {keys}) AS asked (number, lock_key)
  JOIN {prefix}lock l ON l.lock_key = asked.lock_key AND l.owner = $1
 ORDER BY asked.number;

-- $1 key, $2 owner, $3 token.
--
-- Rule 2: waits for a proof of the same hold, then asks the clock whether a fixed term has passed.
-- The session is the caller's own; `me` of `try_acquire` says why the test compares with the time
-- the statement came in. The commit is durable: if a crash lost a level, the key would be free one
-- release too early.
-- name: reenter
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND (l.expires_at > clock_timestamp()
            OR (l.session_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM {prefix}session s
                 WHERE s.id = l.session_id AND s.expires_at <= statement_timestamp())))
       FOR NO KEY UPDATE OF l
), reached AS MATERIALIZED (
    SELECT lock_key, fence, clock_timestamp() AS instant FROM locked
)
UPDATE {prefix}lock AS l
   SET reentrant_count = l.reentrant_count + 1
  FROM reached
 WHERE l.lock_key = reached.lock_key AND l.owner = $2 AND l.fence = reached.fence
   AND (l.expires_at IS NULL OR l.expires_at > reached.instant)
RETURNING l.reentrant_count, {durable};

-- $1 key, $2 owner, $3 token. Waits for proofs of the same hold; after any wait the levels are
-- counted, and the mark tested, on the version that is changed. The commit is asynchronous: losing
-- it leaves the key held until the session ends, and a later holder's commit has flushed ours.
-- name: release
UPDATE {prefix}lock
   SET reentrant_count = reentrant_count - 1,
       owner = CASE WHEN reentrant_count > 1 THEN owner END,
       session_id = CASE WHEN reentrant_count > 1 THEN session_id END,
       expires_at = CASE WHEN reentrant_count > 1 THEN expires_at END,
       changed_at = CASE WHEN reentrant_count > 1 THEN changed_at ELSE clock_timestamp() END
 WHERE lock_key = $1 AND owner = $2 AND fence = $3 AND (last_ticket = 0 OR reentrant_count > 1)
RETURNING reentrant_count, {asynchronous};

-- Lists, each an array of as many elements: $1 keys, $2 owners, $3 tokens. `release` for several
-- threads, of holds that have one level. Waits for nobody, least of all for proofs: the caller
-- releases a locked row by a statement of its own. Index: lock_pkey. Reads: 2 rows for each.
-- name: release_of
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::text::bytea[], $2::text::bytea[], $3::text::bigint[])
        AS a (lock_key, owner, fence)
), ours AS MATERIALIZED (
    SELECT asked.lock_key, asked.owner
      FROM asked
     CROSS JOIN LATERAL (
        SELECT FROM {prefix}lock l
         WHERE l.lock_key = asked.lock_key AND l.owner = asked.owner AND l.fence = asked.fence
           AND l.last_ticket = 0 AND l.reentrant_count = 1
           FOR NO KEY UPDATE OF l SKIP LOCKED) AS found
)
UPDATE {prefix}lock AS l
   SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
       changed_at = clock_timestamp()
  FROM ours
 WHERE l.lock_key = ANY (ARRAY(SELECT lock_key FROM ours))
   AND l.lock_key = ours.lock_key AND l.owner = ours.owner
   AND l.last_ticket = 0 AND l.reentrant_count = 1
RETURNING ours.owner, {asynchronous};

-- $1 key, $2 owner. Does the same as `release`, for all levels; commits as the database is set to,
-- because the caller reports the release as settled.
-- name: release_owner
UPDATE {prefix}lock
   SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
       changed_at = clock_timestamp()
 WHERE lock_key = $1 AND owner = $2 RETURNING fence;

-- $1 key, $2 owner, $3 token; in the caller's transaction.
--
-- The weakest lock that keeps takers out: FOR KEY SHARE does not conflict with their UPDATE. It
-- never touches the session row, so the heartbeat goes on, and holders' proofs share it. READ
-- COMMITTED: a change in flight is waited for, then the newest version is tested: no error.
-- REPEATABLE READ and SERIALIZABLE: the transaction's snapshot decides. A grant younger than that
-- snapshot is not in it, and the answer is "not held". That is right, since what the transaction
-- has read may be older than the grant. A row that changed after the snapshot is error 40001, which
-- ends the transaction. The caller gets the driver's error as it is, a transient one: a mere
-- reenter causes it too, and the same work in a new transaction gets the answer.
-- name: prove
SELECT 1 FROM {prefix}lock WHERE lock_key = $1 AND owner = $2 AND fence = $3 FOR SHARE;

-- A list of holds: key, owner, token. Plain reads of one snapshot, by the clock: nothing waits.
-- Indexes: primary keys. Reads: 2 rows for each hold; by LATERAL, since a join may be planned as a
-- scan of the whole table.
-- name: standings
-- gives: number is_asked
SELECT asked.number, l.revocations > 0
  FROM ({asked}) AS asked (number, lock_key, owner, fence)
 CROSS JOIN LATERAL (
    SELECT k.revocations, k.expires_at,
           (SELECT s.expires_at FROM {prefix}session s WHERE s.id = k.session_id) AS session_until
      FROM {prefix}lock k
     WHERE k.lock_key = asked.lock_key AND k.owner = asked.owner AND k.fence = asked.fence
     LIMIT 1) AS l
 WHERE coalesce(l.expires_at > clock_timestamp(), true)
   AND coalesce(l.session_until > clock_timestamp(), true);

-- $1 key, $2 whether to count the waiters. One snapshot, by the clock. A missing session row counts
-- as alive. Reads: 2 rows, and the queue where it is counted.
-- name: describe
-- gives: @hold waiters
SELECT {hold}, CASE WHEN $2::int <> 0 THEN {waiters} ELSE 0 END
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1;

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit, which
-- the planner does not know: see job.sql. The same columns. bytea compares byte by byte: a prefix
-- is a range of lock_pkey, which also gives the order. Reads: 2 rows for each hold listed, 1 for
-- each key passed over, and the queues.
-- name: list
-- gives: @hold waiters
SELECT l.lock_key, l.fence, true, {rest_of_hold}, {waiters}
  FROM {prefix}lock l
  LEFT JOIN LATERAL (
    SELECT u.id, u.expires_at FROM {prefix}session u WHERE u.id = l.session_id LIMIT 1) AS s ON true
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND {is_live}
 ORDER BY l.lock_key LIMIT (SELECT $3::bigint);

-- $1 key, $2 the token that it must be held under, or null. The columns of `describe`, for the hold
-- before the release.
--
-- locked: waits for proofs while it holds no other lock. From then on the row cannot change. The
--         token is tested on the version that is locked.
-- dead:   read after that wait. Only the locking read proves death, so the statement cannot
--         overlook a renewal during the wait. A row that a heartbeat in flight has locked is
--         skipped, and its session counts as alive.
-- freed:  joins by key alone: a test of the old snapshot's owner would miss a hold that is newer
--         than the snapshot.
-- told:   waits for a heartbeat in flight at most, which waits for nobody.
-- The commit is durable, since the user who forces a key free relies on it.
-- name: force_release
-- gives: @hold waiters
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           l.changed_at, l.expires_at, l.lock_delay, l.metadata, l.last_ticket,
           {closed_until l.expires_at} AS closed_until
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND l.fence = coalesce($2::bigint, l.fence)
       FOR NO KEY UPDATE OF l
), dead AS MATERIALIZED (
    SELECT s.id
      FROM locked l JOIN {prefix}session s ON s.id = l.session_id
     WHERE {closed_until s.expires_at} <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), freed AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = NULL, session_id = NULL, expires_at = NULL,
           reentrant_count = 0, changed_at = clock_timestamp()
      FROM locked
     WHERE l.lock_key = locked.lock_key
       AND (locked.expires_at IS NULL OR locked.closed_until > clock_timestamp())
       AND NOT EXISTS (SELECT FROM dead)
    RETURNING l.lock_key, {durable}
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
      FROM locked, freed
     WHERE s.id = locked.session_id
)
SELECT l.lock_key, l.fence,
       coalesce(coalesce(l.expires_at, s.expires_at) > clock_timestamp(), true),
       {rest_of_hold}, {waiters}
  FROM locked l CROSS JOIN freed LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- $1 key, $2 kind. The change needs the state of `seen` to be unchanged, as a grant of holder.sql
-- does. `taken` of that file says why owner and tickets are tested on the newest version. Reads: 4
-- rows, and rows of holders without a hold or a wish.
-- name: change_kind
-- gives: kind is_idle is_changed
WITH seen AS MATERIALIZED (
    SELECT l.fence, l.kind,
           l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0 AND NOT EXISTS (
               SELECT FROM (SELECT h.mode, h.fence FROM {prefix}holder h
                              WHERE h.lock_key = $1 ORDER BY h.owner {all}) AS h
                WHERE h.mode <> 0 OR h.fence > 0) AS is_idle
      FROM {prefix}lock l
     WHERE l.lock_key = $1
), changed AS (
    UPDATE {prefix}lock AS l
       SET kind = $2::smallint
      FROM seen
     WHERE l.lock_key = $1 AND seen.is_idle AND seen.kind <> $2::smallint
       AND l.fence = seen.fence AND l.kind = seen.kind
       AND l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0
    RETURNING 1
)
SELECT seen.kind, seen.is_idle, (SELECT count(*) FROM changed) FROM seen;

-- $1 key, $2 owner, $3 token, $4 metadata or null. Waits for proofs of this hold; owner and fence
-- are tested on the version that is changed. A crash that loses this commit loses metadata only.
-- name: set_metadata
UPDATE {prefix}lock SET metadata = $4::text
 WHERE lock_key = $1 AND owner = $2 AND fence = $3 RETURNING 1;

-- $1 key. The columns of `describe` but the last. As `force_release`: `locked` waits for
-- proofs, `dead` is the proof of death read after that wait, `told` waits for a heartbeat in flight
-- at most.
-- name: request_revoke
-- gives: @hold
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           l.changed_at, l.expires_at, l.metadata
      FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1 AND l.owner IS NOT NULL
       AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
       AND (s.id IS NULL OR s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
), dead AS MATERIALIZED (
    SELECT s.id
      FROM locked JOIN {prefix}session s ON s.id = locked.session_id
     WHERE s.expires_at <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), asked AS (
    UPDATE {prefix}lock AS l
       SET revocations = l.revocations + 1
      FROM locked
     WHERE l.lock_key = locked.lock_key
       AND (locked.expires_at IS NULL OR locked.expires_at > clock_timestamp())
       AND NOT EXISTS (SELECT FROM dead)
    RETURNING l.lock_key
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
      FROM locked, asked
     WHERE s.id = locked.session_id
)
SELECT l.lock_key, l.fence, true, {rest_of_hold}
  FROM locked l CROSS JOIN asked LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- $1 key, $2 owner, $3 token, $4 term in microseconds. Waits for a proof, as `reenter` does, then
-- reads the clock. The session is the caller's own.
-- name: give_term
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM {prefix}session s
                    WHERE s.id = l.session_id AND s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
)
UPDATE {prefix}lock AS l
   SET session_id = NULL, expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
  FROM locked
 WHERE l.lock_key = locked.lock_key AND l.owner = $2 AND l.fence = locked.fence
RETURNING 1, {durable};

-- As `give_term` for a hold with a fixed term.
-- name: extend_term
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND l.expires_at > statement_timestamp()
       FOR NO KEY UPDATE OF l
)
UPDATE {prefix}lock AS l
   SET expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
  FROM locked
 WHERE l.lock_key = locked.lock_key AND l.owner = $2 AND l.fence = locked.fence
   AND l.expires_at > clock_timestamp()
RETURNING 1, {durable};

-- $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info.
--
-- me, live: `me` of `try_acquire` says why these compare with the time the statement came in. If
--           the old session expires while the statement waits for a proof, the hold is moved
--           nonetheless: nobody else can have been granted the key while owner and fence are the
--           same. A session without a row does not count as alive here, and its hold is not
--           adopted.
-- locked:   tests the newest version after a wait for a change, so if two sessions adopt one hold,
--           the second finds the session of the first.
-- name: adopt
-- gives: is_adopted is_live
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $5 AND expires_at > statement_timestamp()
), live AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $4::bytea AND expires_at > statement_timestamp()
), locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM me)
       AND (l.session_id = $5
            OR (l.session_id = $4::bytea AND EXISTS (SELECT FROM live))
            OR ($4::bytea IS NULL AND l.expires_at > clock_timestamp()))
       FOR NO KEY UPDATE OF l
), reached AS MATERIALIZED (
    SELECT lock_key, fence, clock_timestamp() AS instant FROM locked
), moved AS (
    UPDATE {prefix}lock AS l
       SET session_id = $5, expires_at = NULL, node_info = $6
      FROM reached
     WHERE l.lock_key = reached.lock_key AND l.owner = $2 AND l.fence = reached.fence
       AND (l.expires_at IS NULL OR l.expires_at > reached.instant)
    RETURNING l.fence, {durable}
)
SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM me);

-- $1 the schema or ''. Asks whether `move` would abort the caller's transaction. It finds the table
-- as `move` does, by the search_path of this connection or by its schema. It does not call
-- to_regclass(), which is an error for a name in a schema that the user may not use.
-- name: enter
-- gives: isolation read_only has_table has_rights
SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'),
       c.oid IS NOT NULL, coalesce(has_schema_privilege(c.relnamespace, 'USAGE')
                AND has_table_privilege(c.oid, 'SELECT')
                AND has_table_privilege(c.oid, 'UPDATE'), false)
  FROM (VALUES (1)) AS one (row)
  LEFT JOIN pg_class c
    ON c.relname = lower('{bare}lock' COLLATE "C")::name
   AND CASE $1::text WHEN '' THEN pg_table_is_visible(c.oid)
                     ELSE c.relnamespace = (SELECT n.oid FROM pg_namespace n
                                             WHERE n.nspname = $1::text::name) END;

-- $1 key, $2 owner, $3 token, $4 the other owner; in the caller's transaction. SKIP LOCKED: a wait
-- for a session that has the row for a moment could end by the caller's lock_timeout, which aborts.
-- Index: lock_pkey. Reads: 2 rows.
-- name: move
WITH mine AS MATERIALIZED (
    SELECT l.lock_key
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE {prefix}lock AS l SET owner = $4 FROM mine
 WHERE l.lock_key = mine.lock_key AND l.owner = $2 AND l.fence = $3;
