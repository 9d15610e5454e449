-- Several keys at once on MySQL and MariaDB. The rules of hold.sql.
--
-- A grant is one transaction inside one packet. It locks the rows in the order of the keys, by
-- primary key, and only then decides for all of them. A packet that waits for a row holds only rows
-- of smaller keys, so no two of them can wait for each other in a circle. It waits for a session
-- that is taking the same row at this moment, and for the proofs of a holder that has taken it
-- since the pre-check. A death is proved when all rows are locked; see {proved_dead} of
-- fragments.sql, which waits for nobody.

-- $1 owner, $2 session, $3 node_info, $4 term in microseconds or null, {keys}: the keys from $5 on;
-- {size}: how many. The same in `take`.
--
-- The pre-check, which may only refuse: a plain read.
-- name: look
-- gives: , is_live kind is_closed @hold
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $2 AND m.expires_at > {now}), l.kind,
       l.owner IS NOT NULL
           AND NOT COALESCE({closed_until COALESCE(l.expires_at, s.expires_at)} <= {now}, 0),
       {hold}
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l FORCE INDEX (PRIMARY) ON l.lock_key IN ({keys})
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = l.session_id
ORDER BY l.lock_key;

-- $1 key. A statement of its own.
-- name: insert
{insert_key};

-- One packet: START TRANSACTION, this for each key, $1, and `take`.
-- name: lock_row
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = $1 FOR UPDATE;

-- If not all keys can be taken, the WHERE of the change is impossible. After the change it reads
-- this owner's fences while the rows are locked, so that nobody can have freed one by force
-- meanwhile.
-- name: take
SELECT COUNT(*) INTO @leasehold_got FROM {prefix}lock l FORCE INDEX (PRIMARY)
JOIN {prefix}session m ON m.id = $2 AND m.expires_at > {now}
WHERE l.lock_key IN ({keys}) AND l.kind = 1
  AND (l.owner IS NULL OR {closed_until l.expires_at} <= {now} OR {proved_dead})
{touch_all};
UPDATE {prefix}lock l FORCE INDEX (PRIMARY)
SET l.fence = l.fence + 1, l.owner = $1, l.session_id = IF($4 IS NULL, $2, NULL), l.node_info = $3,
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = {now} + $4,
    l.lock_delay = 0, l.revocations = 0, l.metadata = NULL
WHERE l.lock_key IN ({keys}) AND @leasehold_got = {size};
SELECT l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner = $1
ORDER BY l.lock_key;

-- See `touch_dead` of fragments.sql. They are locked already.
-- fragment: touch_all
-- fragment: touch_all on cluster
;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {prefix}session d FORCE INDEX (PRIMARY) ON d.id = l.session_id
SET d.notices = d.notices + 1
WHERE l.lock_key IN ({keys}) AND @leasehold_got = {size} AND {closed_until d.expires_at} <= {now}

-- $1 owner, {keys}: the keys from $2 on. The lock rows alone, in order, as `prove` of hold.sql.
-- name: prove_all
-- gives: key token
SELECT lock_key, fence FROM {prefix}lock FORCE INDEX (PRIMARY)
WHERE lock_key IN ({keys}) AND owner = $1
ORDER BY lock_key LOCK IN SHARE MODE;

-- The proof is that as many rows changed as there are keys; see `prove` of hold.sql.
-- name: prove_all on cluster
UPDATE {prefix}lock FORCE INDEX (PRIMARY) SET proofs = proofs + 1
WHERE lock_key IN ({keys}) AND owner = $1
ORDER BY lock_key;

-- The parameters of `prove_all`; {size}: how many. An owner id belongs to one acquisition alone, so
-- its test covers the fences, too. If one of the holds is no longer ours, the packet frees nothing,
-- and so does not wait behind the next holder's proof. It reports the holds that are still ours,
-- and the caller releases these one by one.
-- name: release_all
-- gives: , released key
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner = $1;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key IN ({keys}) AND @leasehold_go = {size} AND l.owner = $1 AND l.last_ticket = 0;
SELECT ROW_COUNT(), l.lock_key FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l FORCE INDEX (PRIMARY) ON l.lock_key IN ({keys}) AND l.owner = $1;
