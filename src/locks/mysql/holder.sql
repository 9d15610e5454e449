-- Keys that several can hold, on MySQL and MariaDB, which differ only in {share_skip_locked}, see
-- fragments.sql; the reasons for the statements' shapes: hold.sql.
--
-- A grant is a short transaction that begins and ends inside one packet, so that the server
-- finishes it whatever happens to the client. It locks the header in a statement of its own:
-- MariaDB opens the snapshot of an UPDATE before it waits for the row, when it plans a nested
-- SELECT that names a row by a constant, and that snapshot lacks the grant it waited for (tried:
-- both get the key). The next statement has a snapshot of its own, and counts the holders; so of
-- two grants the second sees the first. It reads the rows of others and never locks them: a proof
-- may be open on any of them. If some of them look dead, it changes nothing until the caller says
-- that it has emptied their rows as far as possible. The caller empties them one by one, each in
-- its own packet: see `bury`. The reaper removes them. An emptied row has no bits, no permits and
-- token 0, so that no statement of its dead owner finds it.

-- Tests holder row h with session row s. A missing session counts as alive.
-- fragment: live
(s.expires_at IS NULL OR s.expires_at > {now})

-- Describes a holder h with its session s.
-- fragment: holder
-- gives: @hold kind mode permits
h.lock_key, h.fence, 1, h.owner, h.session_id, h.node_info, 0, {since h.granted_at},
       COALESCE({until s.expires_at}, 0), NULL,
       COALESCE((SELECT g.kind FROM {prefix}lock g WHERE g.lock_key = h.lock_key), 1), h.mode,
       h.permits

-- The decision on a request: a holder_status, and how the key is used.
-- fragment: verdict
-- gives: status kind capacity

-- $1 key, $2 owner, $3 session, $4 node_info, $5 kind, $6 mode, $7 permits, $8 capacity, $9 gives
-- way to, $10 token of the hold in place or null, $11 whether `bury` was tried.
--
-- 1. The pre-check, a holder_status: plain reads, in which those that look dead do not count. It
--    may only refuse. If it is not 1, or dead holders are to be buried first, the later parts lock
--    nothing. If refused, the answer names the live holder with the lowest token.
-- 2. Takes X on the owner's own row, if there is one. It waits for proofs of the owner's own hold
--    before it locks the header, so that nobody else waits for them.
-- 3. The grant: takes X on the header, reads the holds of others, and decides.
-- 4. The row.
-- 5. Reports.
-- Reads: 24 rows, and 3 for each other holder; those of `bury` come on top.
-- name: try_acquire
-- gives: token @verdict, dead @holder
SELECT CASE
    WHEN NOT EXISTS (
        SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now}) THEN 3
    WHEN (l.is_taken OR u.holders > 0) AND l.kind <> $5 THEN 4
    WHEN (l.is_taken OR u.holders > 0 OR ($9 & {keeps_capacity}) <> 0)
        AND l.kind = $5 AND l.capacity <> $8 THEN 5
    WHEN $10 IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM {prefix}holder o
        WHERE o.lock_key = $1 AND o.owner = $2 AND o.fence = $10) THEN 6
    WHEN u.permits + COALESCE(l.arrived, 0) + $7 > $8 OR (u.modes & $9) <> 0 THEN 2
    ELSE 1 END, u.dead, u.dead = 0 OR $11, u.first_owner
INTO @leasehold_status, @leasehold_dead, @leasehold_ready, @leasehold_first
FROM (
    SELECT COUNT(IF(NOT p.looks_dead AND p.fence > 0, 1, NULL)) AS holders,
           COALESCE(SUM(IF(p.looks_dead, 0, p.permits)), 0) AS permits,
           BIT_OR(IF(p.looks_dead, 0, p.mode)) AS modes,
           COUNT(IF(p.looks_dead AND p.mode <> 0, 1, NULL)) AS dead,
           SUBSTRING(MIN(IF(NOT p.looks_dead AND p.fence > 0,
                            CONCAT(LPAD(p.fence, 20, '0'), p.owner), NULL)), 21) AS first_owner
    FROM (
        SELECT h.owner, h.mode, h.permits, h.fence, COALESCE(s.expires_at <= {now}, 0) AS looks_dead
        FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
        WHERE h.lock_key = $1 AND h.owner <> $2) p) u
LEFT JOIN (
    SELECT g.kind, g.capacity, g.arrived, (g.owner IS NOT NULL OR g.arrived > 0
           OR (g.kind <> $5 AND g.last_ticket <> 0)) AS is_taken
    FROM {prefix}lock g WHERE g.lock_key = $1) l ON TRUE;
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_own FROM {prefix}holder h
WHERE h.lock_key = $1 AND h.owner = $2 AND @leasehold_status = 1 AND @leasehold_ready = 1
FOR UPDATE;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND @leasehold_status = 1 AND @leasehold_ready = 1 FOR UPDATE;
SELECT COALESCE(SUM(h.permits), 0), BIT_OR(h.mode), COUNT(IF(h.fence > 0, 1, NULL))
INTO @leasehold_permits, @leasehold_modes, @leasehold_holders
FROM {prefix}holder h WHERE h.lock_key = $1 AND h.owner <> $2 AND @leasehold_go = 1;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.kind = $5, l.capacity = $8, l.node_info = $4,
    l.changed_at = {now}
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner IS NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now} AND l.fence >= 0)
  AND l.arrived + @leasehold_permits + $7 <= $8 AND (@leasehold_modes & $9) = 0
  AND ((l.kind = $5 AND l.capacity = $8)
       OR (l.arrived = 0 AND @leasehold_holders = 0
           AND IF(l.kind = $5, ($9 & {keeps_capacity}) = 0, l.last_ticket = 0)))
  AND ($10 IS NULL OR EXISTS (
      SELECT 1 FROM {prefix}holder h
      WHERE h.lock_key = l.lock_key AND h.owner = $2 AND h.fence = $10));
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT $1, $2, $3, $6, $7, @leasehold_token, $4, {now} FROM DUAL WHERE @leasehold_token > 0
ON DUPLICATE KEY UPDATE mode = $6, permits = $7, fence = @leasehold_token, granted_at = {now};
COMMIT;
SELECT @leasehold_token, @leasehold_status, g.kind, g.capacity, @leasehold_dead,
       {holder}
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock g ON g.lock_key = $1
LEFT JOIN ({prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id)
    ON h.lock_key = $1 AND h.owner = @leasehold_first AND h.fence > 0;

-- name: insert_and_acquire
-- gives: token @verdict dead @holder
{insert_key};
{try_acquire};

-- Other holders that look dead. $1 key, $2 owner.
-- name: looks_dead
-- gives: owner session
SELECT h.owner, h.session_id
FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key = $1 AND h.owner <> $2 AND h.mode <> 0 AND s.expires_at <= {now}
ORDER BY h.owner;

-- Sent for each holder of `looks_dead`: proves its death, then empties its row if nobody has locked
-- that, both by primary key. No statement waits, and none reads another row. The session of a
-- holder row never changes. $1 key, $2 owner, $3 session.
-- name: bury
SELECT COUNT(*) INTO @leasehold_dead FROM {prefix}session d
WHERE d.id = $3 AND d.expires_at <= {now} {share_skip_locked};
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}holder h
WHERE h.lock_key = $1 AND h.owner = $2 AND h.session_id = $3 AND h.mode <> 0
  AND @leasehold_dead = 1 FOR UPDATE SKIP LOCKED;
UPDATE {prefix}holder h SET h.mode = 0, h.permits = 0, h.fence = 0
WHERE h.lock_key = $1 AND h.owner = $2 AND @leasehold_go = 1;
SELECT $3, @leasehold_count + @leasehold_go INTO @leasehold_dead, @leasehold_count
{touch_dead};

-- Plain reads about a list; STRAIGHT_JOIN, so that the list comes first and each row is found by
-- primary key. A row without bits was emptied: its session died.
--
-- The list: key, owner; the third value is of no use. Reads: 2 rows for each, and 1.
-- name: look
-- gives: number mode token
SELECT asked.number, h.mode, h.fence FROM ({asked}) asked
STRAIGHT_JOIN {prefix}holder h
    ON h.lock_key = asked.lock_key AND h.owner = asked.owner AND h.mode <> 0;

-- $1 key, $2 owner. A locking read, so that a grant whose commit is still being written is seen.
-- name: find_grant
SELECT fence FROM {prefix}holder
WHERE lock_key = $1 AND owner = $2 AND fence > 0 LOCK IN SHARE MODE;

-- $1 key, $2 owner, $3 token.
-- By primary key: locks nothing else, and waits for proofs of this hold alone.
-- name: release
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- $1 key, $2 owner. The reaper removes the emptied row of a dead owner.
-- name: release_owner
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND (mode <> 0 OR fence > 0);

-- $1 key, $2 owner, $3 token. The holder's own row alone; see `prove` of hold.sql.
-- name: prove
SELECT fence FROM {prefix}holder
WHERE lock_key = $1 AND owner = $2 AND fence = $3 LOCK IN SHARE MODE;

-- name: prove on cluster
UPDATE {prefix}holder SET proofs = proofs + 1 WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- The list: key, owner, token. Reads: 3 rows for each, and 1.
-- name: are_held
SELECT asked.number FROM ({asked}) asked
STRAIGHT_JOIN {prefix}holder h
    ON h.lock_key = asked.lock_key AND h.owner = asked.owner AND h.fence = asked.amount
LEFT JOIN {prefix}session s ON s.id = h.session_id WHERE {live};

-- $1 key, $2 owner, $3 session, $4 node_info.
-- name: announce
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT $1, $2, m.id, {waiting}, 0, 0, $4, {now} FROM {prefix}session m
WHERE m.id = $3 AND m.expires_at > {now}
ON DUPLICATE KEY UPDATE mode = {prefix}holder.mode | {waiting};

-- $1 key, $2 owner.
-- name: withdraw
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = 0;
UPDATE {prefix}holder SET mode = mode & ~{waiting} WHERE lock_key = $1 AND owner = $2 AND fence > 0;

-- $1 key, $2 owner, $3 token, $4 mode, $5 permits.
-- Affected rows do not tell a hold that has these values already from a missing one.
-- name: reduce
UPDATE {prefix}holder SET mode = $4, permits = $5 WHERE lock_key = $1 AND owner = $2 AND fence = $3;
SELECT 1 FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- $1 key, $2 kind, $3 capacity. A grant reads the header's capacity again when it has it locked.
-- name: resize
UPDATE {prefix}lock SET capacity = $3, fence = fence + 1, changed_at = {now}
WHERE lock_key = $1 AND kind = $2;

-- $1 key, $2 owner, $3 token.
-- name: arrive
START TRANSACTION;
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND fence = $3;
SELECT ROW_COUNT() INTO @leasehold_gone;
UPDATE {prefix}lock SET arrived = LAST_INSERT_ID(arrived + 1), changed_at = {now}
WHERE lock_key = $1 AND @leasehold_gone = 1;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_arrived;
COMMIT;
SELECT @leasehold_arrived FROM DUAL WHERE @leasehold_arrived > 0;

-- $1 key. Reads: 1 row, and 2 for each holder.
-- name: tally
-- gives: kind capacity arrived holders
SELECT l.kind, l.capacity, l.arrived, (l.owner IS NOT NULL) + (
    SELECT COUNT(*) FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
    WHERE h.lock_key = l.lock_key AND h.fence > 0 AND {live})
FROM {prefix}lock l WHERE l.lock_key = $1;

-- $1 key. Counts the live holders of the phase before it locks the header, which may only refuse,
-- and again when it has locked the header and each holder's row. A participant that leaves locks
-- its own row and not the header, so it waits for those row locks. One time, read after the waits,
-- decides which sessions live, so all counted rows pass. Reads: 8 rows, and 8 for each holder.
-- name: pass
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.capacity > 0 AND l.capacity = (
    SELECT SUM(h.permits) FROM {prefix}holder h
    LEFT JOIN {prefix}session s ON s.id = h.session_id
    WHERE h.lock_key = l.lock_key AND {live});
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_header FROM {prefix}lock l
WHERE l.lock_key = $1 AND @leasehold_go = 1 FOR UPDATE;
SELECT COUNT(*) INTO @leasehold_places FROM {prefix}holder h
WHERE h.lock_key = $1 AND @leasehold_header = 1 AND h.permits > 0 FOR UPDATE;
SELECT {now} INTO @leasehold_now;
SELECT COALESCE(SUM(h.permits), 0) INTO @leasehold_places FROM {prefix}holder h
WHERE h.lock_key = $1 AND @leasehold_header = 1 AND NOT EXISTS (
    SELECT 1 FROM {prefix}session d WHERE d.id = h.session_id AND d.expires_at <= @leasehold_now);
UPDATE {prefix}lock l SET l.fence = LAST_INSERT_ID(l.fence + 1), l.changed_at = {now}
WHERE l.lock_key = $1 AND @leasehold_header = 1 AND l.capacity = @leasehold_places;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
UPDATE {prefix}holder h SET h.mode = {passed}, h.permits = 0, h.fence = @leasehold_token
WHERE h.lock_key = $1 AND @leasehold_token > 0 AND h.permits > 0 AND NOT EXISTS (
    SELECT 1 FROM {prefix}session d WHERE d.id = h.session_id AND d.expires_at <= @leasehold_now);
COMMIT;
SELECT 1 FROM DUAL WHERE @leasehold_token > 0;

-- $1 key. Reads: 3 rows for each holder.
-- name: holders
-- gives: @holder
SELECT {holder} FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key = $1 AND h.fence > 0 AND {live} ORDER BY h.fence, h.owner;

-- $1 and $2 the key and owner before the first that may be listed, $3 the first key after all that
-- have the prefix, $4 limit. A range of the primary key. The two comparisons of a row value would
-- not be one. Reads: 3 rows for each hold listed, 2 for each row passed over.
-- name: list
-- gives: @holder
SELECT {holder} FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key >= $1 AND h.lock_key < $3 AND (h.lock_key > $1 OR h.owner > $2)
  AND h.fence > 0 AND {live}
ORDER BY h.lock_key, h.owner LIMIT $4;

-- $1 the first key that counts, $2 the first after all. Counts holds of mutexes and their waiters;
-- keys that several hold, their holds, and rows that wait. Reads: each of the rows in that range,
-- and the session of each.
-- name: count
-- gives: holds waiters shared_keys shared_holds shared_waiters
SELECT (SELECT COUNT(*) FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
        WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.owner IS NOT NULL
          AND (l.expires_at IS NULL OR l.expires_at > {now}) AND {live}),
       (SELECT COUNT(*) FROM {prefix}waiter w
        STRAIGHT_JOIN {prefix}session ws ON ws.id = w.session_id
        WHERE w.lock_key >= $1 AND w.lock_key < $2 AND ws.expires_at > {now}),
       COUNT(DISTINCT IF(h.fence > 0, h.lock_key, NULL)), COUNT(IF(h.fence > 0, 1, NULL)),
       COUNT(IF(h.mode & {waiting} <> 0, 1, NULL))
FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key >= $1 AND h.lock_key < $2 AND {live};

-- $1 the first key that may be listed, $2 the first after all, $3 limit. A range of the primary
-- key. Reads: 2 rows for each lock in it, and 2 for each holder's row of those listed.
-- name: headers
-- gives: key token node_info kind capacity arrived waiting
SELECT l.lock_key, l.fence, l.node_info, l.kind, l.capacity, l.arrived, (
    SELECT COUNT(*) FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
    WHERE h.lock_key = l.lock_key AND h.mode & {waiting} <> 0 AND {live})
FROM {prefix}lock l
WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.kind <> 1 AND (l.arrived > 0 OR EXISTS (
    SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key))
ORDER BY l.lock_key LIMIT $3;

-- $1 key: in this and the six that follow; $2 owner, $3 session.
-- name: is_used
SELECT 1 FROM {prefix}lock l WHERE l.lock_key = $1 AND l.owner IS NULL
AND (l.arrived > 0 OR EXISTS (
    SELECT 1 FROM {prefix}holder h
    WHERE h.lock_key = l.lock_key AND (h.mode <> 0 OR h.fence > 0)));

-- `whose` first reads the owners. Then one packet locks their rows and waits for proofs, so that
-- only calls that prove or end one of these very holds wait; then it locks the header. Its answer
-- is the live holds, since no other statement of it gives rows. Then it makes the changes, all by
-- primary key, those of sessions last: see `force_release` of hold.sql. A holder that is granted a
-- hold after the look keeps it, since the hold began after the request to free the key.
-- name: whose
-- gives: owner session
SELECT h.owner, h.session_id FROM {prefix}holder h WHERE h.lock_key = $1 ORDER BY h.owner;

-- Sent for each owner.
-- name: lock_one
SELECT COUNT(*) INTO @leasehold_row FROM {prefix}holder h
WHERE h.lock_key = $1 AND h.owner = $2 FOR UPDATE;

-- {owners}: each owner, from $2 on.
-- name: force_header
-- gives: @holder
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner IS NULL FOR UPDATE;
SELECT {holder}
FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key = $1 AND @leasehold_go = 1 AND h.fence > 0 AND {live}
  AND h.owner IN (NULL{owners}) ORDER BY h.fence, h.owner;
UPDATE {prefix}lock SET forced = fence + 1, fence = fence + 1, arrived = 0, changed_at = {now}
WHERE lock_key = $1 AND @leasehold_go = 1;

-- Sent for each owner.
-- name: force_one
DELETE FROM {prefix}holder WHERE lock_key = $1 AND owner = $2 AND @leasehold_go = 1;

-- Sent for each session.
-- name: add_notice
UPDATE {prefix}session SET notices = notices + 1 WHERE id = $3 AND @leasehold_go = 1;
