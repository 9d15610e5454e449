-- SQLite: keys that several can hold. The write lock covers the header, too.

-- True for a holder not proved dead: a missing session row counts as alive.
-- fragment: live
NOT EXISTS (
    SELECT 1 FROM {prefix}session s WHERE s.id = h.session_id AND s.expires_at <= {now})

-- Describes a hold.
-- fragment: holder
-- gives: @hold kind mode permits
h.lock_key, CAST(h.fence AS INTEGER), 1,
CAST(h.owner AS BLOB), CAST(h.session_id AS BLOB), h.node_info, 0,
CAST({now} - h.granted_at AS INTEGER),
CAST(coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = h.session_id), {now}) - {now}
     AS INTEGER),
NULL,
CAST(coalesce((SELECT l.kind FROM {prefix}lock l WHERE l.lock_key = h.lock_key), 1) AS INTEGER),
CAST(h.mode AS INTEGER), CAST(h.permits AS INTEGER)

-- $1 key, $2 owner, $3 session, $4 node_info, $5 kind, $6 mode, $7 permits, $8 capacity, $9 gives
-- way to, $10 token of the hold in place or null: in these five; $11 in `grant`: the new token.
--
-- The statuses of holder_status, tested in the order of holder_store.hpp. Indexes: the primary
-- keys.
-- name: verdict
-- gives: status kind capacity
WITH others AS (
    SELECT h.mode, h.permits, h.fence FROM {prefix}holder h
     WHERE h.lock_key = $1 AND h.owner <> $2 AND {live}
), header AS (
    SELECT l.kind, l.capacity, l.arrived,
           l.owner IS NOT NULL OR l.arrived > 0 OR (l.kind <> $5 AND l.last_ticket <> 0)
               OR EXISTS (SELECT 1 FROM others WHERE fence > 0) AS is_in_use
      FROM {prefix}lock l WHERE l.lock_key = $1
)
SELECT CASE
           WHEN NOT EXISTS (
               SELECT 1 FROM {prefix}session WHERE id = $3 AND expires_at > {now}) THEN 3
           WHEN header.is_in_use AND header.kind <> $5 THEN 4
           WHEN (header.is_in_use OR ($9 & {keeps_capacity}) <> 0)
               AND header.kind = $5 AND header.capacity <> $8 THEN 5
           WHEN $10 IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM {prefix}holder
                WHERE lock_key = $1 AND owner = $2 AND fence = $10) THEN 6
           WHEN (SELECT coalesce(sum(permits), 0) FROM others)
               + coalesce(header.arrived, 0) + $7 > $8
               OR EXISTS (SELECT 1 FROM others WHERE mode & $9 <> 0) THEN 2
           ELSE 1
       END, header.kind, header.capacity
  FROM (SELECT 1) LEFT JOIN header;

-- name: bury
DELETE FROM {prefix}holder AS h WHERE h.lock_key = $1 AND NOT {live};

-- name: take
UPDATE {prefix}lock
   SET fence = fence + 1, kind = $5, capacity = $8, node_info = $4, changed_at = {now}
 WHERE lock_key = $1
RETURNING fence;

-- A key never seen starts above every fence that was ever removed.
-- name: make
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at, kind, capacity)
SELECT $1, mark.fence + 1, $4, 0, {now}, $5, $8 FROM {prefix}fence_mark mark WHERE id = 1
RETURNING fence;

-- name: grant
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
VALUES ($1, $2, $3, $6, $7, $11, $4, {now})
ON CONFLICT (lock_key, owner)
DO UPDATE SET mode = $6, permits = $7, fence = $11, granted_at = {now};

-- A list: key, owner; the third value is of no use.
-- name: look
-- gives: number mode token
WITH asked (number, lock_key, owner, amount) AS ({asked})
SELECT asked.number, h.mode, h.fence
  FROM asked CROSS JOIN {prefix}holder h ON h.lock_key = asked.lock_key AND h.owner = asked.owner;

-- $1 key, $2 owner.
-- name: find_grant
SELECT fence FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence > 0;

-- $1 key, $2 owner, $3 token.
-- name: release
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- $1 key, $2 owner.
-- name: release_owner
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2;

-- $1 key, $2 owner, $3 token. `prove` of hold.sql says why a plain read is a proof.
-- name: prove
SELECT 1 FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- A list of holds: key, owner, token. `standings` of hold.sql says why it is no join.
-- name: are_held
WITH asked (number, lock_key, owner, fence) AS ({asked})
SELECT asked.number
  FROM asked
 WHERE EXISTS (SELECT 1 FROM {prefix}holder h
                WHERE h.lock_key = asked.lock_key AND h.owner = asked.owner
                  AND h.fence = asked.fence AND {live});

-- $1 key, $2 owner, $3 session, $4 node_info.
-- name: announce
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT $1, $2, $3, {waiting}, 0, 0, $4, {now}
  FROM {prefix}session WHERE id = $3 AND expires_at > {now}
ON CONFLICT (lock_key, owner) DO UPDATE SET mode = mode | {waiting};

-- $1 key, $2 owner.
-- name: withdraw
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = 0;
UPDATE {prefix}holder SET mode = mode & ~{waiting} WHERE lock_key = $1 AND owner = $2 AND fence > 0;

-- $1 key, $2 owner, $3 token, $4 mode, $5 permits.
-- name: reduce
UPDATE {prefix}holder SET mode = $4, permits = $5
 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING 1;

-- $1 key, $2 kind, $3 capacity.
-- name: resize
UPDATE {prefix}lock SET capacity = $3, fence = fence + 1, changed_at = {now}
 WHERE lock_key = $1 AND kind = $2;

-- $1 key, $2 owner, $3 token.
-- name: arrive
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;
UPDATE {prefix}lock SET arrived = arrived + 1, changed_at = {now}
 WHERE lock_key = $1 AND changes() = 1
RETURNING arrived;

-- $1 key.
-- name: tally
-- gives: kind capacity arrived holders
SELECT l.kind, l.capacity, l.arrived,
       (l.owner IS NOT NULL) + (
           SELECT count(*) FROM {prefix}holder h
            WHERE h.lock_key = l.lock_key AND h.fence > 0 AND {live} AND {of_this_boot})
  FROM {prefix}lock l WHERE l.lock_key = $1;

-- True for the lock row of key $1 when the holders that have not passed use its capacity up.
-- fragment: is_complete
lock_key = $1 AND capacity > 0
    AND capacity = (SELECT sum(h.permits) FROM {prefix}holder h WHERE h.lock_key = $1 AND {live})

-- The look, the next phase, and the passing of the holders; $2 the fence of that phase.
-- name: looks_complete
SELECT 1 FROM {prefix}lock WHERE {is_complete};

-- name: next_phase
UPDATE {prefix}lock SET fence = fence + 1, changed_at = {now} WHERE {is_complete} RETURNING fence;

-- name: pass
UPDATE {prefix}holder AS h SET mode = {passed}, permits = 0, fence = $2
 WHERE h.lock_key = $1 AND h.permits > 0 AND {live};

-- $1 key.
-- name: holders
-- gives: @holder
SELECT {holder} FROM {prefix}holder h
 WHERE h.lock_key = $1 AND h.fence > 0 AND {live} AND {of_this_boot} ORDER BY h.fence, h.owner;

-- $1 and $2 the key and owner before the first that may be listed, $3 the first key after all that
-- have the prefix, $4 limit: see `list` of hold.sql.
-- name: list
-- gives: @holder
SELECT {holder} FROM {prefix}holder h
 WHERE (h.lock_key, h.owner) > ($1, $2) AND h.lock_key < $3 AND h.fence > 0
   AND {live} AND {of_this_boot}
 ORDER BY h.lock_key, h.owner LIMIT $4;

-- $1 the first key that counts, $2 the first after all. Counts holds of mutexes and their waiters;
-- keys that several hold, their holds, and rows that wait. Reads: each of the rows in that range,
-- and the session of each.
-- name: count
-- gives: holds waiters shared_keys shared_holds shared_waiters
SELECT (SELECT count(*) FROM {prefix}lock l
         WHERE l.lock_key >= $1 AND l.lock_key < $2 AND {live_hold} AND {of_this_boot}),
       (SELECT count(*) FROM {prefix}waiter w
         WHERE w.lock_key >= $1 AND w.lock_key < $2
           AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > {now}),
       count(DISTINCT CASE WHEN h.fence > 0 THEN h.lock_key END),
       count(CASE WHEN h.fence > 0 THEN 1 END), count(CASE WHEN h.mode & {waiting} <> 0 THEN 1 END)
  FROM {prefix}holder h
 WHERE h.lock_key >= $1 AND h.lock_key < $2 AND {live} AND {of_this_boot};

-- $1 the first key that may be listed, $2 the first after all, $3 limit.
-- name: headers
-- gives: key token node_info kind capacity arrived waiting
SELECT l.lock_key, CAST(l.fence AS INTEGER), l.node_info, CAST(l.kind AS INTEGER),
       CAST(l.capacity AS INTEGER), CAST(l.arrived AS INTEGER), (
           SELECT count(*) FROM {prefix}holder h
            WHERE h.lock_key = l.lock_key AND h.mode & {waiting} <> 0 AND {live})
  FROM {prefix}lock l
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.kind <> 1
   AND (l.arrived > 0 OR EXISTS (
           SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key))
 ORDER BY l.lock_key LIMIT $3;

-- $1 key: in these four.
-- name: is_used
SELECT 1 FROM {prefix}lock l
 WHERE l.lock_key = $1 AND l.owner IS NULL
   AND (l.arrived > 0 OR EXISTS (SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key));

-- name: force_header
UPDATE {prefix}lock SET fence = fence + 1, forced = fence + 1, arrived = 0, changed_at = {now}
 WHERE lock_key = $1;

-- name: notify_sessions
UPDATE {prefix}session SET notices = notices + 1
 WHERE id IN (SELECT session_id FROM {prefix}holder WHERE lock_key = $1);

-- name: remove_all
DELETE FROM {prefix}holder WHERE lock_key = $1;
