-- MySQL and MariaDB differ only in {share_skip_locked}, see fragments.sql.
--
-- Every change of a queue is a transaction that begins and ends inside one packet: a client that is
-- paused or cut off between two round trips would keep the lock row locked, whatever its TTL. It
-- locks the lock row first, by primary key. At READ COMMITTED each statement after that has a
-- snapshot of its own, so it sees every waiter: nobody queues without that lock. Only a waiter that
-- leaves does not lock it, and deletes its own row by primary key. User variables hand decisions on
-- from statement to statement. A SELECT … INTO that always answers one row assigns each, so that no
-- value is left of an earlier packet. If a variable says no, the following statements lock nothing.
-- A row of the queue can be made inside a longer transaction, which a lock row cannot: two rows of
-- one key are never made at once, and tickets are never used again, so no insert meets what is left
-- of a deleted row.

-- The waiter that gets the key.
-- fragment: successor
-- gives: owner session term address

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term or null, $6 delay, $7 metadata or null, $8
-- address or null.
--
-- 1. Locks the lock row, or skips it if it is locked, since a proof may keep the lock for long.
-- 2. Reads under that lock what decides.
-- 3. Raises the mark, inserts the row, and answers.
-- name: enqueue
-- gives: ticket is_live kind looks_takeable
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = $1 FOR UPDATE SKIP LOCKED;
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now}),
       l.kind, {takeable}
INTO @leasehold_live, @leasehold_kind, @leasehold_takeable
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = $1
LEFT JOIN {prefix}session s ON s.id = l.session_id;
UPDATE {prefix}lock l SET l.last_ticket = LAST_INSERT_ID(GREATEST(l.last_ticket + 1, {now}))
WHERE l.lock_key = $1 AND @leasehold_locked = 1 AND @leasehold_live = 1 AND @leasehold_kind = 1;
INSERT INTO {prefix}waiter
    (lock_key, ticket, owner, session_id, node_info, hold_at_most, lock_delay, metadata, bell,
     queued_at)
SELECT $1, LAST_INSERT_ID(), $2, $3, $4, $5, $6, $7, $8, {now} FROM DUAL
WHERE @leasehold_locked = 1 AND @leasehold_live = 1 AND @leasehold_kind = 1;
COMMIT;
SELECT IF(@leasehold_locked = 1 AND @leasehold_live = 1 AND @leasehold_kind = 1,
          LAST_INSERT_ID(), NULL), @leasehold_live, @leasehold_kind,
       @leasehold_takeable;

-- $1 key, $2 owner, $3 token. Does the work of `hand_over` in fewer statements, if a live waiter
-- exists. If there is none, or the first one has just left, the packet answers no row and changes
-- nothing.
--
-- 1. Reads the first live waiter without a lock: later waiters come behind it, and while it lives
--    only its own process or a hand-over removes it. If the hold is not ours, it finds nobody, so a
--    call that comes too late does not wait.
-- 2. Makes the grant; it waits for proofs of the same hold, and does nothing if that waiter has
--    left. The mark is the newest ticket. If the waiter with that ticket is deleted, nobody is
--    left. If another waiter would be deleted and the read has nobody behind it, the newest waiter
--    has left or is just coming. Then nothing changes, and `hand_over` finds out.
-- 3. Deletes that waiter, and the dead ones before it.
-- Reads: 13 rows, and 4 for each waiter that goes with it.
-- name: pass_on
-- gives: token @successor
SELECT w.ticket, w.owner, w.session_id, w.hold_at_most, w.bell,
       EXISTS (SELECT 1 FROM {prefix}waiter b WHERE b.lock_key = $1 AND b.ticket > w.ticket)
INTO @leasehold_ticket, @leasehold_owner, @leasehold_session, @leasehold_term, @leasehold_bell,
     @leasehold_more
FROM (SELECT 1 AS one) o
LEFT JOIN (
    SELECT q.ticket, q.owner, q.session_id, q.hold_at_most, q.bell
    FROM {prefix}lock k STRAIGHT_JOIN {prefix}waiter q FORCE INDEX (PRIMARY)
        ON q.lock_key = k.lock_key
    STRAIGHT_JOIN {prefix}session s ON s.id = q.session_id
    WHERE k.lock_key = $1 AND k.owner = $2 AND k.fence = $3 AND s.expires_at > {now}
    ORDER BY q.ticket LIMIT 1) w ON TRUE;
START TRANSACTION;
UPDATE {prefix}lock l JOIN {prefix}waiter w
    ON w.lock_key = l.lock_key AND w.ticket = @leasehold_ticket
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = w.owner,
    l.session_id = IF(w.hold_at_most IS NULL, w.session_id, NULL), l.node_info = w.node_info,
    l.reentrant_count = 1, l.changed_at = {now},
    l.expires_at = {now} + LEAST(w.hold_at_most, {longest}),
    l.lock_delay = w.lock_delay, l.metadata = w.metadata, l.revocations = 0,
    l.last_ticket = IF(l.last_ticket = w.ticket, 0, l.last_ticket)
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND @leasehold_ticket IS NOT NULL
  AND (@leasehold_more OR l.last_ticket = w.ticket);
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
DELETE FROM {prefix}waiter
WHERE lock_key = $1 AND @leasehold_token > 0 AND ticket <= @leasehold_ticket;
COMMIT;
SELECT CAST(@leasehold_token AS SIGNED), @leasehold_owner, @leasehold_session, @leasehold_term,
       @leasehold_bell
FROM DUAL WHERE @leasehold_token > 0;

-- $1 key, $2 owner, $3 token. The pre-check keeps a hand-over that comes too late from waiting
-- behind the next holder's proof; see `release` of hold.sql. The lock waits for proofs of the same
-- hold.
-- name: hand_over
-- gives: is_locked token @successor
SELECT COUNT(*) INTO @leasehold_own FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3;
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND @leasehold_own = 1 AND l.owner = $2 AND l.fence = $3 FOR UPDATE;
{grant_next};

-- $1 key. Waits for nobody. First it tests whether the key is free or past its term. If not, it
-- finds the session whose death has to be proved, and then proves it: see {proved_dead} in
-- fragments.sql.
-- name: serve
-- gives: is_locked token @successor
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.kind = 1 FOR UPDATE SKIP LOCKED;
SELECT COALESCE(l.owner IS NULL OR {closed_until l.expires_at} <= {now}, 0),
       IF({closed_until s.expires_at} <= {now}, s.id, NULL), {delay}
INTO @leasehold_free, @leasehold_dead, @leasehold_delay
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = $1 AND @leasehold_locked = 1
LEFT JOIN {prefix}session s ON s.id = l.session_id;
SELECT @leasehold_locked * GREATEST(@leasehold_free, COUNT(*)) INTO @leasehold_go
FROM {prefix}session d
WHERE d.id = @leasehold_dead AND {finite d.expires_at} + @leasehold_delay <= {now}
{share_skip_locked}
{touch_dead};
{grant_next};

-- The lock row is locked if @leasehold_go is 1. Then this fragment does the following:
-- 1. Reads the first live waiter, and whether there are others behind it.
-- 2. Makes the grant. The multi-table form locks the waiter's row as well, and finds nothing if
--    that waiter has left since. Then nothing changes, and the caller sends the packet again.
-- 3. If no live waiter exists, frees the key.
-- 4. Deletes that waiter, and the dead ones before it; all rows if no live waiter exists.
-- Reads: 16 rows, and 4 for each waiter that goes with it. The joins are STRAIGHT_JOIN, so that
-- they never begin at the sessions, whatever the statistics say.
-- fragment: grant_next
SELECT w.ticket, w.owner, w.session_id, w.hold_at_most, w.bell,
       EXISTS (SELECT 1 FROM {prefix}waiter b WHERE b.lock_key = $1 AND b.ticket > w.ticket)
INTO @leasehold_ticket, @leasehold_owner, @leasehold_session, @leasehold_term, @leasehold_bell,
     @leasehold_more
FROM (SELECT 1 AS one) o
LEFT JOIN (
    SELECT q.ticket, q.owner, q.session_id, q.hold_at_most, q.bell
    FROM {prefix}waiter q FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN {prefix}session s ON s.id = q.session_id
    WHERE q.lock_key = $1 AND s.expires_at > {now} AND @leasehold_go = 1
    ORDER BY q.ticket LIMIT 1) w ON TRUE;
UPDATE {prefix}lock l JOIN {prefix}waiter w
    ON w.lock_key = l.lock_key AND w.ticket = @leasehold_ticket
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = w.owner,
    l.session_id = IF(w.hold_at_most IS NULL, w.session_id, NULL), l.node_info = w.node_info,
    l.reentrant_count = 1, l.changed_at = {now},
    l.expires_at = {now} + LEAST(w.hold_at_most, {longest}),
    l.lock_delay = w.lock_delay, l.metadata = w.metadata, l.revocations = 0,
    l.last_ticket = IF(@leasehold_more, l.last_ticket, 0)
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND @leasehold_ticket IS NOT NULL;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
UPDATE {prefix}lock l SET {free}, l.last_ticket = 0
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND @leasehold_ticket IS NULL;
SELECT CASE WHEN @leasehold_token > 0 THEN @leasehold_ticket
            WHEN @leasehold_ticket IS NULL THEN 1 << 62 ELSE 0 END
INTO @leasehold_last;
DELETE FROM {prefix}waiter
WHERE lock_key = $1 AND @leasehold_go = 1 AND @leasehold_last > 0 AND ticket <= @leasehold_last;
COMMIT;
SELECT @leasehold_go,
       CAST(IF(@leasehold_token > 0 OR @leasehold_ticket IS NULL, @leasehold_token, NULL)
            AS SIGNED),
       @leasehold_owner, @leasehold_session, @leasehold_term, @leasehold_bell

-- $1 key, $2 ticket, $3 owner.
-- name: leave
DELETE FROM {prefix}waiter WHERE lock_key = $1 AND ticket = $2 AND owner = $3;

-- $1 key, $2 owner. Finds the ticket first: a delete by another index would lock the rows that it
-- passes over. Reads: 2 rows, and `leave`. Index: waiter_owner.
-- name: find_waiter
SELECT ticket FROM {prefix}waiter WHERE lock_key = $1 AND owner = $2;

-- $1 key, $2 ticket, $3 limit. Index: the primary key, in its order.
-- name: list
-- gives: ticket owner session node_info waited
SELECT w.ticket, w.owner, w.session_id, w.node_info, {since w.queued_at}
FROM {prefix}waiter w
STRAIGHT_JOIN {prefix}session ws ON ws.id = w.session_id
WHERE w.lock_key = $1 AND w.ticket > $2 AND ws.expires_at > {now}
ORDER BY w.ticket LIMIT $3;

-- $1 key and $2 ticket: the listed waiters come behind these; $3 the first key after all of them,
-- $4 limit. The statement reads one range of the primary key for the
-- rest of that queue, and one for the other keys. By the comparison of a row value it would read
-- the whole queue in which a page ended. Reads: 2 rows for each waiter.
-- name: list_all
-- gives: @list key
SELECT w.ticket, w.owner, w.session_id, w.node_info, {since w.queued_at}, w.lock_key
FROM {prefix}waiter w
STRAIGHT_JOIN {prefix}session ws ON ws.id = w.session_id
WHERE ((w.lock_key = $1 AND w.ticket > $2) OR (w.lock_key > $1 AND w.lock_key < $3))
  AND ws.expires_at > {now}
ORDER BY w.lock_key, w.ticket LIMIT $4;

-- A list of waiters: key, owner, ticket. Plain reads of one snapshot: a derived row for each waiter
-- of the list, then rows by primary key. Reads: 4 rows for each.
-- name: look
-- gives: number is_holder token term_left is_waiting looks_takeable
SELECT asked.number, l.owner = asked.owner, l.fence, {until l.expires_at}, w.ticket IS NOT NULL,
       {takeable}
FROM ({asked}) asked
STRAIGHT_JOIN {prefix}lock l FORCE INDEX (PRIMARY) ON l.lock_key = asked.lock_key
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = l.session_id
LEFT JOIN {prefix}waiter w FORCE INDEX (PRIMARY)
    ON w.lock_key = asked.lock_key AND w.ticket = asked.amount AND w.owner = asked.owner;

-- $1 key, $2 session, $3 ticket. Asks whether this waiter waits for its own session, directly or
-- through others. It finds no session if the waiter's row has become a grant meanwhile, since its
-- own session is then the holder. Indexes: waiter_session, and the primary keys. Reads: 12 rows,
-- and 4 for each call in which one of these sessions waits.
-- name: circle
WITH RECURSIVE blocker (session_id) AS (
    SELECT s.id FROM {prefix}lock l STRAIGHT_JOIN {prefix}session s ON s.id = l.session_id
    STRAIGHT_JOIN {prefix}waiter own ON own.lock_key = l.lock_key AND own.ticket = $3
    WHERE l.lock_key = $1 AND s.expires_at > {now}
    UNION
    SELECT s.id FROM blocker b
    STRAIGHT_JOIN {prefix}waiter w ON w.session_id = b.session_id
    STRAIGHT_JOIN {prefix}lock l ON l.lock_key = w.lock_key
    STRAIGHT_JOIN {prefix}session s ON s.id = l.session_id
    WHERE s.expires_at > {now})
SELECT 1 FROM blocker WHERE session_id = $2;
