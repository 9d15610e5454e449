-- MySQL and MariaDB: words of their statements. The differences between the two stand here and
-- nowhere else, except the differences of the servers' settings.

-- Microseconds since 1970 in UTC, our connections being at time_zone '+00:00'. SYSDATE is read anew
-- at each use, also after a wait for a row; NOW would be the start of the statement, and a
-- heartbeat that waited beyond the expiry of its session would revive the session.
-- word: now
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))

-- Tests lock row l with session row s. A missing session counts as alive.
-- word: unexpired
(l.expires_at IS NULL OR l.expires_at > {now})
 AND (s.expires_at IS NULL OR s.expires_at > {now})

-- Asks for a share lock that does not wait. Each server refuses the other's spelling with 1064.
-- word: share_skip_locked on mysql
FOR SHARE SKIP LOCKED

-- word: share_skip_locked on mariadb
LOCK IN SHARE MODE SKIP LOCKED

-- If several nodes of a cluster are written to (Galera, Group Replication), row locks are those of
-- one node, and a commit is refused if another commit, which it had not seen, changed a row it
-- writes; the rows it has read do not count. So there a statement changes the rows that it decides
-- by: the session's row for the key of a dead holder, and for a proof the row that it proves. And
-- no read of ours sees a state older than its beginning: `enter_galera` of session.sql.
-- word: share_skip_locked on cluster
FOR UPDATE SKIP LOCKED

-- After the proof of this death, in the same transaction.
-- word: touch_dead
-- word: touch_dead on cluster
;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_dead AND @leasehold_go = 1

-- The name that tells servers apart; MariaDB has no @@server_uuid.
-- word: server_uuid on mysql
@@server_uuid

-- word: server_uuid on mariadb
@@server_id

-- True if the session of lock row l exists and has been expired for the row's lock_delay. The
-- locking read makes this a proof: a plain read does not see a renewal that is being committed. It
-- passes over a locked row instead of waiting, which refuses. The plain test comes first, so that
-- no live session is locked.
-- word: proved_dead
(EXISTS (
    SELECT 1 FROM {prefix}session d
    WHERE d.id = l.session_id AND d.expires_at + l.lock_delay <= {now})
 AND EXISTS (
    SELECT 1 FROM {prefix}session d
    WHERE d.id = l.session_id AND d.expires_at + l.lock_delay <= {now} {share_skip_locked}))

-- The assignments that free lock row l; its fence and the name of its last holder stay.
-- word: free
l.owner = NULL, l.session_id = NULL, l.expires_at = NULL, l.reentrant_count = 0,
    l.changed_at = {now}

-- Describes the hold of lock row l with session row s, in the order of hold_in() in hold_rows.cpp.
-- A session whose row is gone counts as alive, with no time known to remain. A statement that found
-- the row held before sets the third column itself, since the clock advances between two looks at
-- it.
-- word: rest_of_hold
l.owner, l.session_id, l.node_info, l.reentrant_count, {now} - l.changed_at,
       COALESCE(l.expires_at - {now}, s.expires_at - {now}, 0), l.metadata
-- word: hold
l.lock_key, l.fence, l.owner IS NOT NULL AND {unexpired}, {rest_of_hold}

-- Tests by a plain read whether the key can be taken; the answer may be wrong either way.
-- word: takeable
COALESCE(l.owner IS NULL OR COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now}, 0)

-- The live waiters in the queue of lock row l; looked for only if somebody may wait. Reads: 2 rows
-- for each waiter of that key.
-- word: waiters
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
-- word: insert_key
INSERT INTO {prefix}lock
    (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, expires_at)
SELECT $1, f.fence, NULL, NULL, '', 0, {now}, NULL FROM {prefix}fence_mark f
WHERE f.id = 1 LOCK IN SHARE MODE

-- ---- jobs; see job.sql

-- Microseconds since 1970 at which the statement began. A borrowed connection has the time zone of
-- its owner. Also used where a time bounds a range of an index, which {now} cannot.
-- word: utc
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))

-- The columns that a job's row and its row of the history have in common; the end of a job copies
-- them.
-- word: job_columns
id, queue, kind, priority, attempts, rescues, token, enqueued_at, attempts_max, rescues_max,
    retry_delay, retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info,
    progress, payload

-- Job row j has null for a default value: the defaults of new_job and retry_policy in
-- leasehold/job.hpp.
-- word: attempts_max
COALESCE(j.attempts_max, 20)
-- word: rescues_max
COALESCE(j.rescues_max, 3)

-- Job rows j of a list of ids in a variable: found by primary key, whatever the planner estimates,
-- since the list comes first.
-- word: listed
JSON_TABLE(@leasehold_ids, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- The locking clause: MySQL counts the list among the locked tables (3569), MariaDB has no OF.
-- word: update_listed on mysql
FOR UPDATE OF j
-- word: update_listed on mariadb
FOR UPDATE

-- word: listed_free
JSON_TABLE(@leasehold_free, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
-- word: listed_blocked
JSON_TABLE(@leasehold_blocked, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
    STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id

-- For a part `places`, the number of jobs of each ordering key that no longer hold others back:
-- finds as many of the first blocked jobs, one after the other. Plain reads. Index: job_ordering.
-- word: next_of_places
next_of AS (
    SELECT p.queue, p.ordering_key, p.places, 1 AS place, (
        SELECT b.id FROM {prefix}job b FORCE INDEX ({bare}job_ordering)
        WHERE b.queue = p.queue AND b.ordering_key = p.ordering_key AND b.state = 5
        ORDER BY b.queue, b.ordering_key, b.id LIMIT 1) AS id
    FROM places p
    UNION ALL
    SELECT f.queue, f.ordering_key, f.places, f.place + 1, (
        SELECT b.id FROM {prefix}job b FORCE INDEX ({bare}job_ordering)
        WHERE b.queue = f.queue AND b.ordering_key = f.ordering_key AND b.state = 5
          AND b.id > f.id
        ORDER BY b.queue, b.ordering_key, b.id LIMIT 1)
    FROM next_of f WHERE f.place < f.places AND f.id IS NOT NULL)

-- Ids as a list; null if there are none, or if the list was cut, which group_concat_max_len of a
-- borrowed connection may do. `unblock` later finds the jobs that were not freed.
-- word: next_ids
IF(LENGTH(GROUP_CONCAT(id)) = SUM(LENGTH(id)) + COUNT(id) - 1,
          CONCAT('[', GROUP_CONCAT(id), ']'), NULL)

-- Makes the jobs of @leasehold_next available that are still blocked, except locked ones, which a
-- long transaction may be replacing. @leasehold_free has the ids.
-- word: free_next
SELECT {next_ids} INTO @leasehold_free
FROM JSON_TABLE(@leasehold_next, '$[*]' COLUMNS (asked_id BIGINT PATH '$')) a
STRAIGHT_JOIN {prefix}job j FORCE INDEX (PRIMARY) ON j.id = a.asked_id
WHERE j.state = 5 {update_listed} SKIP LOCKED;
UPDATE {listed_free} SET j.state = 2 WHERE j.state = 5

-- Among the jobs of row j's ordering key, except those not due yet, the job behind the first
-- {skipped} in the order of ids: null if there are fewer. The first row behind j ends the walk.
-- Reads these, and the jobs before them that are not due.
-- word: one_behind
(SELECT p.id FROM {prefix}job p FORCE INDEX ({bare}job_ordering)
            WHERE p.queue = j.queue AND p.ordering_key = j.ordering_key
              AND (p.state <> 1 OR p.id >= j.id)
            ORDER BY p.queue, p.ordering_key, p.id LIMIT 1 OFFSET {skipped})

-- The due time of a job that waits for others: see job_need.sql.
-- word: never
253370764800000000
