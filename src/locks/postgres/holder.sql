-- Keys that several can hold, on PostgreSQL. The rules these statements follow: hold.sql.
--
-- A grant reads the header and the holders in one snapshot, and then raises the header's fence if
-- the header is still as it was read. Each other grant since has raised the fence; then the caller
-- sends the whole statement again, with a new snapshot. So no transaction stays open between two
-- round trips, in which a paused process would keep everybody out. Order of locks: session rows and
-- rows of the dead (both SKIP LOCKED), then the other holder rows, then the header. A statement
-- that waits for a holder row has no header locked. PostgreSQL runs a query of WITH only as far as
-- its rows are asked for, materialised or not: EXISTS would take the first row, and the others
-- would be locked after the header. So a statement counts the rows that it must lock before the
-- header. The number of rows that each statement reads stands beside it, and does not depend on the
-- statistics of the key with most holders: see {all} in fragments.sql, and waiter.sql. If {all}
-- stands twice around a list, the planner expects one row of it, and so looks up each row by its
-- key.

-- Tests holder h, with the end of its session as `until`; a missing session counts as alive.
-- fragment: live
coalesce(h.until > clock_timestamp(), true)

-- Describes a hold; `until` is the end of its session.
-- fragment: hold_of_holder
h.lock_key, h.fence, true, h.owner, h.session_id, h.node_info, 0,
{since h.granted_at}, {until h.until}, NULL::text

-- These columns, the kind of the key, and the mode and permits of the holder.
-- fragment: holder
-- gives: @hold kind mode permits

-- The decision on a request: a holder_status, and how the key is used.
-- fragment: verdict
-- gives: status kind capacity

-- Rows of holders in the order of the primary key, each with the end of its session as `until`; a
-- session that is missing counts as alive. Reads: 2 rows for each holder.
-- fragment: holders_until
(SELECT u.*, (SELECT s.expires_at FROM {prefix}session s WHERE s.id = u.session_id) AS until
   FROM {prefix}holder u WHERE u.lock_key = $1 ORDER BY u.owner {all}) AS h

-- $1 key, $2 owner, $3 session, $4 node_info, $5 kind, $6 mode, $7 permits, $8 capacity, $9 gives
-- way to, $10 token of the hold in place or null.
--
-- me:       as in hold.sql: the snapshot, against the time the statement came in.
-- present, others: read the snapshot. A holder that looks dead here is not counted in `verdict`,
-- which may only refuse.
-- verdict:  a holder_status. 1 only means that the later parts decide.
-- dead:     the proof, only if `verdict` is 1: a refusal locks nothing. A row that a heartbeat or a
--           proof in flight has locked is skipped, and its holder counts as alive in `left_over`.
--           The two rows are locked in the order of their clauses, the holder row first, so that
--           nothing is written to the session row of a holder whose proof is open.
-- own:      locks the caller's row before the header, because force_release locks holder rows
--           first. It waits for proofs of the caller's own hold. If there is no row yet, it locks
--           nothing. `may` reads it in any case, so that it always runs.
-- taken:    needs the state of `header`. If another grant has changed the row, the newest version
--           has another fence, kind or count, and no row is changed. A waiter that queues changes
--           none of these, so tickets are tested on the newest version.
-- mark,
-- made:     as in hold.sql.
-- Indexes: the primary keys. Reads: 10 rows, 2 for each other holder, and 4 for each that is dead.
-- name: try_acquire
-- gives: token @verdict, fence arrived @holder
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $3 AND expires_at > statement_timestamp()
), header AS MATERIALIZED (
    SELECT l.fence, l.kind, l.capacity, l.arrived,
           l.owner IS NOT NULL OR l.arrived > 0 OR (l.kind <> $5 AND l.last_ticket <> 0) AS is_taken
      FROM {prefix}lock l
     WHERE l.lock_key = $1
), present AS MATERIALIZED (
    SELECT h.lock_key, h.owner, h.session_id, h.node_info, h.mode, h.permits, h.fence, h.granted_at,
           (SELECT s.expires_at FROM {prefix}session s WHERE s.id = h.session_id) AS until
      FROM {prefix}holder h
     WHERE h.lock_key = $1 AND h.owner <> $2
     ORDER BY h.owner {all}
), others AS MATERIALIZED (
    SELECT p.*, coalesce(p.until <= clock_timestamp(), false) AS looks_dead FROM present p
), alive AS MATERIALIZED (
    SELECT coalesce(sum(permits), 0)::bigint AS permits, coalesce(bit_or(mode), 0) AS modes,
           coalesce(bool_or(fence > 0), false) AS has_holders
      FROM others
     WHERE NOT looks_dead
), verdict AS MATERIALIZED (
    SELECT CASE
               WHEN NOT EXISTS (SELECT FROM me) THEN 3
               WHEN (g.is_taken OR a.has_holders) AND g.kind <> $5 THEN 4
               WHEN (g.is_taken OR a.has_holders OR ($9::int & {keeps_capacity}) <> 0)
                   AND g.kind = $5 AND g.capacity <> $8 THEN 5
               WHEN $10::bigint IS NOT NULL AND NOT EXISTS (
                   SELECT FROM {prefix}holder
                    WHERE lock_key = $1 AND owner = $2 AND fence = $10) THEN 6
               WHEN a.permits + coalesce(g.arrived, 0) + $7::bigint > $8::bigint
                   OR (a.modes::int & $9::int) <> 0 THEN 2
               ELSE 1
           END AS status
      FROM alive a LEFT JOIN header g ON true
), dead AS MATERIALIZED (
    SELECT proved.owner
      FROM others o
     CROSS JOIN LATERAL (
        SELECT h.owner
          FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
         WHERE h.lock_key = $1 AND h.owner = o.owner AND s.expires_at <= clock_timestamp()
           FOR UPDATE OF h SKIP LOCKED
           FOR SHARE OF s SKIP LOCKED) AS proved
     WHERE o.looks_dead AND (SELECT status FROM verdict) = 1
), own AS MATERIALIZED (
    SELECT h.fence
      FROM {prefix}holder h
     WHERE h.lock_key = $1 AND h.owner = $2 AND (SELECT status FROM verdict) = 1
       FOR UPDATE OF h
), left_over AS MATERIALIZED (
    SELECT coalesce(sum(permits), 0)::bigint AS permits, coalesce(bit_or(mode), 0) AS modes,
           coalesce(bool_or(fence > 0), false) AS has_holders
      FROM others
     WHERE owner NOT IN (SELECT owner FROM dead)
), may AS MATERIALIZED (
    SELECT o.permits, o.has_holders
      FROM left_over o CROSS JOIN (SELECT max(fence) AS fence FROM own) AS mine
     WHERE (SELECT status FROM verdict) = 1
       AND (o.modes::int & $9::int) = 0
       AND ($10::bigint IS NULL OR mine.fence = $10)
), taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, kind = $5, capacity = $8, node_info = $4,
           changed_at = clock_timestamp()
      FROM header, may
     WHERE l.lock_key = $1
       AND l.fence = header.fence AND l.kind = header.kind AND l.arrived = header.arrived
       AND l.owner IS NULL
       AND may.permits + l.arrived + $7::bigint <= $8::bigint
       AND (l.kind = $5 OR l.last_ticket = 0)
       AND (NOT may.has_holders OR (header.kind = $5 AND header.capacity = $8))
    RETURNING l.fence, {durable}
), mark AS MATERIALIZED (
    SELECT m.fence
      FROM {prefix}fence_mark m, may
     WHERE m.id = 1 AND NOT EXISTS (SELECT FROM header) AND may.permits + $7::bigint <= $8::bigint
       FOR SHARE OF m
), made AS (
    INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at, kind,
                              capacity)
    SELECT $1, mark.fence + 1, $4, 0, clock_timestamp(), $5, $8
      FROM mark
    ON CONFLICT (lock_key) DO NOTHING
    RETURNING fence, {durable}
), counted AS MATERIALIZED (
    SELECT fence FROM taken UNION ALL SELECT fence FROM made
), granted AS (
    INSERT INTO {prefix}holder AS h (lock_key, owner, session_id, mode, permits, fence, node_info,
                                     granted_at)
    SELECT $1, $2, $3, $6, $7, counted.fence, $4, clock_timestamp()
      FROM counted
    ON CONFLICT (lock_key, owner) DO UPDATE
       SET mode = excluded.mode, permits = excluded.permits, fence = excluded.fence,
           granted_at = excluded.granted_at
    RETURNING h.fence
), buried AS (
    DELETE FROM {prefix}holder AS h
     USING (SELECT owner FROM (SELECT owner FROM dead {all}) AS d {all}) AS d
     WHERE h.lock_key = $1 AND h.owner = d.owner AND EXISTS (SELECT FROM counted)
)
SELECT (SELECT fence FROM granted), verdict.status, header.kind, header.capacity,
       header.fence, header.arrived, {hold_of_holder}, header.kind, h.mode, h.permits
  FROM verdict
  LEFT JOIN header ON true
  LEFT JOIN LATERAL (
      SELECT * FROM others o WHERE NOT o.looks_dead AND o.fence > 0 ORDER BY o.fence LIMIT 1
  ) AS h ON true;

-- Plain reads about a list; each row is found by primary key, in a LATERAL query, which cannot
-- become a join that reads a table.
--
-- The list: key, owner; the third value is of no use. Reads: 1 row for each.
-- name: look
-- gives: number mode token
SELECT asked.number, h.mode, h.fence
  FROM ({asked}) AS asked (number, lock_key, owner, amount)
 CROSS JOIN LATERAL (
    SELECT k.mode, k.fence FROM {prefix}holder k
     WHERE k.lock_key = asked.lock_key AND k.owner = asked.owner
     LIMIT 1) AS h;

-- $1 key, $2 owner. A plain read. Reads: 1 row.
-- name: find_grant
SELECT fence, {carried}
  FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence > 0;

-- $1 key, $2 owner, $3 token. Waits for proofs of this hold alone. `release` of hold.sql says why
-- the commit is asynchronous; a later grant changes another row, but its commit flushes all commits
-- before it. The release of a place at a barrier is durable: an owner that gave its place up must
-- not find it passed after a crash.
-- name: release
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING CASE
    WHEN (SELECT kind FROM {prefix}lock WHERE lock_key = $1) IS DISTINCT FROM {barrier}
        THEN {asynchronous}
    ELSE {durable} END;

-- $1 key, $2 owner.
-- name: release_owner
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2;

-- $1 key, $2 owner, $3 token; in the caller's transaction. See `prove` of hold.sql: FOR SHARE keeps
-- out every session that would remove the row, as each successor must.
-- name: prove
SELECT 1 FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3 FOR SHARE;

-- The list: key, owner, token. Reads: 2 rows for each.
-- name: are_held
SELECT asked.number
  FROM ({asked}) AS asked (number, lock_key, owner, fence)
 CROSS JOIN LATERAL (
    SELECT (SELECT s.expires_at FROM {prefix}session s WHERE s.id = k.session_id) AS until
      FROM {prefix}holder k
     WHERE k.lock_key = asked.lock_key AND k.owner = asked.owner AND k.fence = asked.fence
     LIMIT 1) AS h
 WHERE coalesce(h.until > clock_timestamp(), true);

-- $1 key, $2 owner, $3 session, $4 node_info. The commit is asynchronous: if a crash loses the
-- wish, its owner is only not preferred.
-- name: announce
INSERT INTO {prefix}holder AS h (lock_key, owner, session_id, mode, permits, fence, node_info,
                                 granted_at)
SELECT $1, $2, s.id, {waiting}, 0, 0, $4, clock_timestamp()
  FROM {prefix}session s
 WHERE s.id = $3 AND s.expires_at > statement_timestamp()
ON CONFLICT (lock_key, owner) DO UPDATE SET mode = h.mode | {waiting}
RETURNING {asynchronous};

-- $1 key, $2 owner. An owner has one row for the key. If the row is only a wish, it is deleted; if
-- it is a hold, only its mark of waiting is cleared.
-- name: withdraw
WITH wish AS (
    DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = 0
)
UPDATE {prefix}holder SET mode = mode & ~{waiting} WHERE lock_key = $1 AND owner = $2 AND fence > 0;

-- $1 key, $2 owner, $3 token, $4 mode, $5 permits. The commit is durable, since others may be
-- granted what was given up.
-- name: reduce
UPDATE {prefix}holder SET mode = $4, permits = $5
 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING 1, {durable};

-- $1 key, $2 kind, $3 capacity. The new fence refuses grants that have read the header before. The
-- commit is durable, since later grants use the new capacity.
-- name: resize
UPDATE {prefix}lock SET capacity = $3, fence = fence + 1, changed_at = clock_timestamp()
 WHERE lock_key = $1 AND kind = $2
RETURNING 1, {durable};

-- $1 key, $2 owner, $3 token. The holder row first, then the header. Both rows change or neither:
-- an arrival takes over the place of its participant.
-- name: arrive
WITH gone AS (
    DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3 RETURNING 1
)
UPDATE {prefix}lock
   SET arrived = arrived + 1, changed_at = clock_timestamp()
 WHERE lock_key = $1 AND EXISTS (SELECT FROM gone)
RETURNING arrived, {durable};

-- $1 key. Reads: 1 row, and the holders.
-- name: tally
-- gives: kind capacity arrived holders
SELECT l.kind, l.capacity, l.arrived,
       (l.owner IS NOT NULL)::int
           + (SELECT count(*) FROM {holders_until} WHERE h.fence > 0 AND {live})
  FROM {prefix}lock l WHERE l.lock_key = $1;

-- $1 key. Needs the header unchanged, as `try_acquire` does: if several callers find the phase
-- complete, one moves it on, and the others no longer find it complete. `complete` reads the
-- snapshot and may only refuse; a refusal locks nothing. A participant that gives up does not
-- change the header, so the places that still exist when they are locked decide. They are locked in
-- the order of `force_release`. Reads: 4 rows, and 5 for each holder.
-- name: pass
WITH header AS MATERIALIZED (
    SELECT fence, capacity FROM {prefix}lock WHERE lock_key = $1
), complete AS MATERIALIZED (
    SELECT sum(h.permits) = (SELECT capacity FROM header) AS is_so
      FROM {holders_until}
     WHERE {live}
), here AS MATERIALIZED (
    SELECT h.owner, h.permits
      FROM {prefix}holder h
     WHERE h.lock_key = $1 AND h.permits > 0 AND (SELECT is_so FROM complete)
       AND coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = h.session_id)
                    > clock_timestamp(), true)
     ORDER BY h.owner {all}
       FOR UPDATE OF h
), next AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, changed_at = clock_timestamp()
      FROM header
     WHERE l.lock_key = $1 AND l.fence = header.fence AND header.capacity > 0
       AND header.capacity = (SELECT sum(permits) FROM here)
    RETURNING l.fence, {durable}
)
UPDATE {prefix}holder AS h
   SET mode = {passed}, permits = 0, fence = next.fence
  FROM (SELECT owner FROM (SELECT owner FROM here {all}) AS p {all}) AS p, next
 WHERE h.lock_key = $1 AND h.owner = p.owner
RETURNING 1;

-- $1 key. A range of the primary key. Reads: 1 row, and the holders.
-- name: holders
-- gives: @holder
SELECT {hold_of_holder},
       coalesce((SELECT l.kind FROM {prefix}lock l WHERE l.lock_key = $1), 1), h.mode, h.permits
  FROM {holders_until}
 WHERE h.fence > 0 AND {live}
 ORDER BY h.fence, h.owner;

-- $1 and $2 the key and owner before the first that may be listed, $3 the first key after all that
-- have the prefix, $4 limit. Reads: 3 rows for each hold listed, 2 for each row passed over.
-- name: list
-- gives: @holder
SELECT {hold_of_holder},
       coalesce((SELECT l.kind FROM {prefix}lock l WHERE l.lock_key = h.lock_key), 1), h.mode,
       h.permits
  FROM (SELECT u.*, (SELECT s.expires_at FROM {prefix}session s WHERE s.id = u.session_id) AS until
          FROM {prefix}holder u
         WHERE u.lock_key >= $1 AND u.lock_key < $3 AND (u.lock_key, u.owner) > ($1, $2)
           AND u.fence > 0
         ORDER BY u.lock_key, u.owner {all}) AS h
 WHERE {live} ORDER BY h.lock_key, h.owner LIMIT $4;

-- $1 the first key that counts, $2 the first after all. Counts holds of mutexes and their waiters;
-- keys that several hold, their holds, and rows that wait. Reads: each of the rows in that range,
-- and the sessions once for each of the three.
-- name: count
-- gives: holds waiters shared_keys shared_holds shared_waiters
SELECT (SELECT count(*)
          FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
         WHERE l.lock_key >= $1 AND l.lock_key < $2 AND {is_live}),
       (SELECT count(*)
          FROM {prefix}waiter w JOIN {prefix}session s ON s.id = w.session_id
         WHERE w.lock_key >= $1 AND w.lock_key < $2 AND s.expires_at > clock_timestamp()),
       count(DISTINCT h.lock_key) FILTER (WHERE h.fence > 0), count(*) FILTER (WHERE h.fence > 0),
       count(*) FILTER (WHERE h.mode & {waiting} <> 0)
  FROM (SELECT u.lock_key, u.fence, u.mode, s.expires_at AS until
          FROM {prefix}holder u LEFT JOIN {prefix}session s ON s.id = u.session_id
         WHERE u.lock_key >= $1 AND u.lock_key < $2) AS h
 WHERE {live};

-- $1 the first key that may be listed, $2 the first after all, $3 limit. Reads: 2 rows for each
-- lock in that range, and 2 for each holder's row of those listed.
-- name: headers
-- gives: key token node_info kind capacity arrived waiting
SELECT l.lock_key, l.fence, l.node_info, l.kind, l.capacity, l.arrived, (
           SELECT count(*)
             FROM (SELECT (SELECT s.expires_at FROM {prefix}session s WHERE s.id = u.session_id)
                              AS until
                     FROM {prefix}holder u
                    WHERE u.lock_key = l.lock_key AND u.mode & {waiting} <> 0
                    ORDER BY u.owner {all}) AS h
            WHERE {live})
  FROM {prefix}lock l
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.kind <> 1
   AND (l.arrived > 0 OR (SELECT true FROM {prefix}holder h WHERE h.lock_key = l.lock_key
                           ORDER BY h.owner LIMIT 1))
 ORDER BY l.lock_key LIMIT $3;

-- $1 key. Locks the holder rows first, in one order, waiting for proofs; then the header. A grant
-- that is made after this snapshot, and before the header is locked, stays: it is younger than the
-- request to free the key. Reads: 2 rows, and 5 for each holder.
-- name: force_release
-- gives: @holder
WITH locked AS MATERIALIZED (
    SELECT h.lock_key, h.fence, h.owner, h.session_id, h.node_info, h.mode, h.permits, h.granted_at
      FROM {prefix}holder h
     WHERE h.lock_key = $1
     ORDER BY h.owner {all}
       FOR UPDATE OF h
), freed AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, forced = l.fence + 1, arrived = 0, changed_at = clock_timestamp()
      FROM (SELECT count(*) AS number FROM locked) AS holders
     WHERE l.lock_key = $1 AND l.owner IS NULL AND (l.arrived > 0 OR holders.number > 0)
    RETURNING l.kind, {durable}
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
     WHERE s.id = ANY (ARRAY(SELECT session_id FROM locked)) AND EXISTS (SELECT FROM freed)
), removed AS (
    DELETE FROM {prefix}holder AS h
     USING (SELECT owner FROM (SELECT owner FROM locked {all}) AS l {all}) AS l
     WHERE h.lock_key = $1 AND h.owner = l.owner AND EXISTS (SELECT FROM freed)
)
SELECT {hold_of_holder}, coalesce((SELECT kind FROM freed), 1), h.mode, h.permits
  FROM (SELECT locked.*,
               (SELECT s.expires_at FROM {prefix}session s WHERE s.id = locked.session_id) AS until
          FROM locked) AS h
 WHERE h.fence > 0 AND {live}
 ORDER BY h.fence, h.owner;
