-- MySQL and MariaDB: fragments of their statements. The differences between the two stand here and
-- nowhere else, except the differences of the servers' settings.

-- Microseconds since 1970 in UTC, our connections being at time_zone '+00:00'. SYSDATE is read anew
-- at each use, also after a wait for a row; NOW would be the start of the statement, and a
-- heartbeat that waited beyond the expiry of its session would revive the session.
-- fragment: now
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))

-- The fragments with an instant behind them, in microseconds: {since l.changed_at}. An instant
-- before 1970 or behind the year 9999, which somebody has written by hand, counts as that bound.
-- fragment: finite
LEAST(GREATEST({it}, 0), 253370764800000000)

-- fragment: since
({now} - {finite {it}})

-- fragment: until
({finite {it}} - {now})

-- The lock_delay of lock row l. One that somebody has written by hand may be negative, or longer
-- than a sum of times can be.
-- fragment: delay
LEAST(GREATEST(l.lock_delay, 0), {longest})

-- The end of that delay, which begins at the instant behind the fragment.
-- fragment: closed_until
({finite {it}} + {delay})

-- Tests lock row l with session row s. A missing session counts as alive.
-- fragment: unexpired
(l.expires_at IS NULL OR l.expires_at > {now})
 AND (s.expires_at IS NULL OR s.expires_at > {now})

-- Asks for a share lock that does not wait. Each server refuses the other's spelling with 1064.
-- fragment: share_skip_locked on mysql
FOR SHARE SKIP LOCKED

-- fragment: share_skip_locked on mariadb
LOCK IN SHARE MODE SKIP LOCKED

-- If several nodes of a cluster are written to (Galera, Group Replication), row locks are those of
-- one node, and a commit is refused if another commit, which it had not seen, changed a row it
-- writes; the rows it has read do not count. So there a statement changes the rows that it decides
-- by: the session's row for the key of a dead holder, and for a proof the row that it proves. And
-- no read of ours sees a state older than its beginning: `enter_galera` of session.sql.
-- fragment: share_skip_locked on cluster
FOR UPDATE SKIP LOCKED

-- After the proof of this death, in the same transaction.
-- fragment: touch_dead
-- fragment: touch_dead on cluster
;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_dead AND @leasehold_go = 1

-- The name that tells servers apart; MariaDB has no @@server_uuid.
-- fragment: server_uuid on mysql
@@server_uuid

-- fragment: server_uuid on mariadb
@@server_id

-- True if the session of lock row l exists and has been expired for the row's lock_delay. The
-- locking read makes this a proof: a plain read does not see a renewal that is being committed. It
-- passes over a locked row instead of waiting, which refuses. The plain test comes first, so that
-- no live session is locked.
-- fragment: proved_dead
(EXISTS (
    SELECT 1 FROM {prefix}session d
    WHERE d.id = l.session_id AND {closed_until d.expires_at} <= {now})
 AND EXISTS (
    SELECT 1 FROM {prefix}session d
    WHERE d.id = l.session_id AND {closed_until d.expires_at} <= {now}
    {share_skip_locked}))

-- The assignments that free lock row l; its fence and the name of its last holder stay.
-- fragment: free
l.owner = NULL, l.session_id = NULL, l.expires_at = NULL, l.reentrant_count = 0,
    l.changed_at = {now}

-- Describes the hold of lock row l with session row s.
-- A session whose row is gone counts as alive, with no time known to remain. A statement that found
-- the row held before sets the third column itself, since the clock advances between two looks at
-- it.
-- fragment: rest_of_hold
l.owner, l.session_id, l.node_info, l.reentrant_count, {since l.changed_at},
       COALESCE({until l.expires_at}, {until s.expires_at}, 0), l.metadata
-- fragment: hold
-- gives: key token is_held owner session node_info level held_for remaining metadata
l.lock_key, l.fence, l.owner IS NOT NULL AND {unexpired}, {rest_of_hold}

-- Tests by a plain read whether the key can be taken; the answer may be wrong either way.
-- fragment: takeable
COALESCE(l.owner IS NULL OR {closed_until COALESCE(l.expires_at, s.expires_at)} <= {now}, 0)

-- The live waiters in the queue of lock row l; looked for only if somebody may wait. Reads: 2 rows
-- for each waiter of that key.
-- fragment: waiters
IF(l.last_ticket = 0, 0, (
    SELECT COUNT(*) FROM {prefix}waiter w
    STRAIGHT_JOIN {prefix}session ws ON ws.id = w.session_id
    WHERE w.lock_key = l.lock_key AND ws.expires_at > {now}))

-- $1 key: inserts a free row for a key never seen, before the statements of a grant in one packet.
-- A reaper that removes a row has the mark locked FOR UPDATE, so the locking read of the mark waits
-- for the reaper, and reads the fence that it has left. The insert commits by itself, since rows
-- that are inserted within a longer transaction often deadlock. If another session was faster,
-- error 1062 ends the packet. If a removed row of the key has not been purged yet, two inserters
-- can still deadlock; that is rare, and one of them gets the row.
-- fragment: insert_key
INSERT INTO {prefix}lock
    (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, expires_at)
SELECT $1, f.fence, NULL, NULL, '', 0, {now}, NULL FROM {prefix}fence_mark f
WHERE f.id = 1 LOCK IN SHARE MODE

-- Microseconds since 1970 at which the statement began. A borrowed connection has the time zone of
-- its owner. Also used where a time bounds a range of an index, which {now} cannot.
-- fragment: utc
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
