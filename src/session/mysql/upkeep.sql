-- The clean-up. MySQL and MariaDB differ only in {share_skip_locked}, see fragments.sql.
--
-- FORCE INDEX (PRIMARY): a look goes through the rows behind the place, in that order, and asks for
-- the session of each by its key; a change locks one row. A scan, which the optimizer prefers for
-- small tables, would lock and wait for rows we do not want.

-- name: progress
-- gives: task turn since_turn unfinished place passes
SELECT task, turn, {since turned_at}, unfinished, place, passes FROM {prefix}upkeep;

-- $1 task, $2 turn, $3 every. When a pass begins the turn's owner has not looked at any row behind
-- the place yet. Assignments are made from left to right.
-- name: begin_turn
UPDATE {prefix}upkeep
SET turn = turn + 1, unfinished = unfinished + 1,
    sweeps_to = CASE WHEN place = '' THEN {now} ELSE sweeps_to END, turned_at = {now}
WHERE task = $1 AND turn = $2 AND (turned_at <= {now} - $3 OR turned_at > {now});

-- $1 task, $2 turn, $3 the place, $4 the oldest end of the rows left. An empty place ends the pass.
-- name: advance
UPDATE {prefix}upkeep
SET unfinished = GREATEST(unfinished - 1, 0), passes = passes + ($3 = ''),
    swept_to = CASE ($3 = '') WHEN 1 THEN LEAST(sweeps_to, $4) ELSE swept_to END,
    sweeps_to = CASE ($3 = '') WHEN 1 THEN {now} ELSE LEAST(sweeps_to, $4) END,
    place = $3
WHERE task = $1 AND turn = $2;

-- Looks: $1 and $2 the place, $3 rows, $4 retention. Each answers with the key of every row in two
-- columns, whether there is something to clear, whether somebody may wait for it, and the end of
-- its session.
--
-- If a row has an owner and no end, the row of the session is gone.
-- name: look_at_locks
-- gives: place rest is_found is_awaited ends_at
SELECT l.lock_key, NULL,
       CASE WHEN l.owner IS NULL THEN l.last_ticket <> 0 AND l.kind = 1
            ELSE COALESCE({closed_until COALESCE(l.expires_at, s.expires_at)} <= {now}, 1) END,
       l.last_ticket <> 0 AND l.kind = 1, s.expires_at
FROM {prefix}lock l FORCE INDEX (PRIMARY)
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = l.session_id
WHERE l.lock_key > $1 ORDER BY l.lock_key LIMIT $3;

-- Holders and waiters: {table}, and {rest}, the second column of its key. Two ranges of the primary
-- key, because MySQL and MariaDB use no range for a comparison of rows.
-- name: look_at_dead
-- gives: place rest is_found is_awaited ends_at
SELECT h.lock_key, h.{rest}, COALESCE(s.expires_at <= {now}, 1), 0, s.expires_at
FROM {prefix}{table} h FORCE INDEX (PRIMARY)
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = h.session_id
WHERE h.lock_key > $1 OR (h.lock_key = $1 AND h.{rest} > $2)
ORDER BY h.lock_key, h.{rest} LIMIT $3;

-- Tasks 1 to 3 look at rows that refer to sessions.
-- name: look_at_sessions
-- gives: place rest is_found is_awaited ends_at
SELECT s.id, NULL, s.expires_at <= LEAST({now},
           (SELECT CASE WHEN COUNT(*) = 3 THEN MIN(u.swept_to) END
            FROM {prefix}upkeep u WHERE u.task IN (1, 2, 3))) - $4, 0, NULL
FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id > $1 ORDER BY s.id LIMIT $3;

-- A row whose fence somebody has set near the end of its type stays: the mark takes no such number.
-- name: look_at_idle
-- gives: place rest is_found is_awaited ends_at
SELECT l.lock_key, NULL,
       l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= {now} - $4
           AND l.fence < 1 << 62
           AND NOT EXISTS (SELECT 1 FROM {prefix}holder h FORCE INDEX (PRIMARY)
                           WHERE h.lock_key = l.lock_key), 0, NULL
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key > $1 ORDER BY l.lock_key LIMIT $3;

-- Clears: one row each, in a packet that is a transaction of its own; for the reason see batch.hpp.
-- A statement whose variable is not 1 reads no table. No DELETE has a subquery: at READ COMMITTED
-- it locks the rows it reads, where UPDATE does not. $1, $2 and $4 as above.
--
-- The first statement locks the lock row, so the snapshot of the second is newer than the grant.
-- The session's row existed when the hold was granted, so if the snapshot lacks it, the session is
-- gone.
-- name: free_lock
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = $1 AND l.owner IS NOT NULL FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key = $1 AND @leasehold_go = 1
  AND ({closed_until l.expires_at} <= {now} OR {proved_dead}
       OR (l.session_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM {prefix}session g WHERE g.id = l.session_id)));
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;

-- name: free_lock on cluster
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_dead
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = $1 AND l.owner IS NOT NULL FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key = $1 AND @leasehold_go = 1
  AND ({closed_until l.expires_at} <= {now} OR {proved_dead}
       OR (l.session_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM {prefix}session g WHERE g.id = l.session_id)));
SELECT ROW_COUNT(), @leasehold_count + ROW_COUNT()
INTO @leasehold_go, @leasehold_count
{touch_dead};

-- Holders and waiters. @leasehold_dead: its session; @leasehold_gone: whether that is dead, or
-- missing in a snapshot newer than the lock of its row.
-- name: remove_dead
SELECT COUNT(*), MAX(h.session_id) INTO @leasehold_go, @leasehold_dead
FROM {prefix}{table} h FORCE INDEX (PRIMARY)
WHERE h.lock_key = $1 AND h.{rest} = $2 FOR UPDATE SKIP LOCKED;
SELECT COUNT(*) INTO @leasehold_gone FROM {prefix}session d FORCE INDEX (PRIMARY)
WHERE d.id = @leasehold_dead AND d.expires_at <= {now} {share_skip_locked};
SELECT @leasehold_gone + (COUNT(*) = 0) INTO @leasehold_gone FROM {prefix}session g
WHERE g.id = @leasehold_dead;
DELETE FROM {prefix}{table}
WHERE lock_key = $1 AND {rest} = $2 AND @leasehold_go = 1 AND @leasehold_gone > 0;
SELECT ROW_COUNT(), @leasehold_count + ROW_COUNT()
INTO @leasehold_go, @leasehold_count
{touch_dead};

-- A grant that a transaction as old as that leaves behind is an orphan.
-- name: remove_session
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id = $1 AND s.expires_at <= {now} - $4 FOR UPDATE SKIP LOCKED;
DELETE FROM {prefix}session WHERE id = $1 AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;

-- The mark is locked before the first delete, and every insert of a new key locks it before it
-- inserts. So no key can come back with a fence below that of its removed row.
-- name: lock_mark
SELECT fence INTO @leasehold_fence FROM {prefix}fence_mark WHERE id = 1 FOR UPDATE;

-- The mark is written only if the key has the higher fence.
-- name: remove_idle
SELECT COUNT(*), COALESCE(MAX(l.fence), 0) INTO @leasehold_go, @leasehold_fence
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = $1 AND l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= {now} - $4
  AND l.fence < 1 << 62
FOR UPDATE SKIP LOCKED;
UPDATE {prefix}fence_mark SET fence = @leasehold_fence
WHERE id = 1 AND @leasehold_go = 1 AND fence < @leasehold_fence;
DELETE FROM {prefix}lock WHERE lock_key = $1 AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;

-- The time before which the rows that are removed now had ended. Reads: 1 row.
-- name: kept_since
SELECT {utc} - r.keep FROM {prefix}grant_history_rule r WHERE r.id = 1;

-- $1 that time, $2 limit. Index: grant_history_ended. Reads: 1 row for each. Of two concurrent
-- calls the second waits for the rows of the first, and then deletes fewer rows.
-- name: prune_history
DELETE FROM {prefix}grant_history WHERE ended_at < $1 ORDER BY ended_at LIMIT $2;
