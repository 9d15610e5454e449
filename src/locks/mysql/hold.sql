-- MySQL and MariaDB differ in {share_skip_locked}, see fragments.sql, and in INSERT … RETURNING of
-- MariaDB. Neither has UPDATE … RETURNING, so the token travels as LAST_INSERT_ID(fence + 1), and
-- is read in the same packet as ROW_COUNT(): after a refusal it is the number of an earlier
-- statement.
--
-- All of it runs at READ COMMITTED, each statement of a packet committing by itself unless the
-- packet has a transaction of its own. There, the nested SELECT of a single-table UPDATE reads a
-- snapshot opened after the wait for the lock row, and locks nothing unless it says so (tried on
-- MySQL 9.7 and MariaDB 10.11; the multi-table form, and DELETE, lock what they read).

-- sql_hold_store::try_small() chooses the order in which it tries the next statements that take a
-- key. Each is right by itself. The small ones do less than `try_acquire`, and answer no row if
-- that is not enough.

-- Takes a key that nobody has: the parameters of `try_acquire`. An UPDATE would wait for a row that
-- somebody is proving, so this is an INSERT that never inserts: its SELECT locks the free row, or
-- skips a locked one, and so the key is always a duplicate. Nothing is waited for, and the fence is
-- that of the locked row. The SELECT reads our own session without a lock, so that it neither waits
-- for a heartbeat nor skips its row. A refused try has locked the lock row for an instant. Neither
-- server takes a gap lock here at READ COMMITTED (tried on 10.11 and 9.7). Reads: 3 rows.
-- name: take_free
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at)
SELECT l.lock_key, l.fence, '', 0, 0 FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.kind = 1 AND l.owner IS NULL
  AND EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now})
FOR UPDATE SKIP LOCKED
ON DUPLICATE KEY UPDATE fence = LAST_INSERT_ID({prefix}lock.fence + 1), owner = $2,
    session_id = IF($5 IS NULL, $3, NULL), node_info = $4, reentrant_count = 1,
    changed_at = {now}, expires_at = {now} + $5, lock_delay = $6, metadata = $7,
    revocations = 0
{taken_token};

-- MariaDB answers with the row itself. On MySQL a changed row counts as two.
-- fragment: taken_token on mariadb
RETURNING fence
-- fragment: taken_token on mysql
;
SELECT LAST_INSERT_ID() FROM DUAL WHERE ROW_COUNT() = 2

-- Clusters keep the older form, which was tried there. The read before the change keeps the change
-- from waiting for a row that has an owner, who may be proving it. The read cannot be part of the
-- UPDATE: MariaDB would lock the rows that a subquery reads of the same table, and MySQL would read
-- after it has locked the row, and ignore the SKIP LOCKED of a derived table (tried on 10.11 and
-- 9.7).
-- name: take_free on cluster
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock f
WHERE f.lock_key = $1 AND f.kind = 1 AND f.owner IS NULL;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = $2,
    l.session_id = IF($5 IS NULL, $3, NULL), l.node_info = $4, l.reentrant_count = 1,
    l.changed_at = {now}, l.expires_at = {now} + $5, l.lock_delay = $6,
    l.metadata = $7, l.revocations = 0
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.kind = 1 AND l.owner IS NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = $3 AND m.expires_at > {now} AND l.fence >= 0);
SELECT LAST_INSERT_ID() FROM DUAL WHERE ROW_COUNT() = 1;

-- Lists of as many parameters: {keys}, {owners}, {sessions}, {node_infos}. `take_free` for requests
-- of several threads that ask for no term, no delay and no metadata. Of a key that is in the list
-- twice, only the first request gets it. A plain read for each row tests our own session: MySQL
-- would make an EXISTS a join that begins at the sessions. The answer has the owner ids that got a
-- key; no two of them are the same. Reads: 5 rows for each, and 1.
-- name: take_free_of
-- gives: owner token
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at)
SELECT l.lock_key, l.fence, '', 0, 0 FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.kind = 1 AND l.owner IS NULL
  AND (SELECT m.expires_at FROM {prefix}session m
       WHERE m.id = ELT(FIELD(l.lock_key, {keys}), {sessions})) > {now}
FOR UPDATE SKIP LOCKED
ON DUPLICATE KEY UPDATE fence = {prefix}lock.fence + 1,
    owner = ELT(FIELD({prefix}lock.lock_key, {keys}), {owners}),
    session_id = ELT(FIELD({prefix}lock.lock_key, {keys}), {sessions}),
    node_info = ELT(FIELD({prefix}lock.lock_key, {keys}), {node_infos}),
    reentrant_count = 1, changed_at = {now}, expires_at = NULL, lock_delay = 0, metadata = NULL,
    revocations = 0
{taken_tokens};

-- fragment: taken_tokens on mariadb
RETURNING owner, fence
-- fragment: taken_tokens on mysql
;
SELECT l.owner, l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner IN ({owners})

-- A transaction inside one packet; see waiter.sql.
--
-- 1. Locks the free keys, and waits for nobody: the caller asks for a locked key by a statement of
--    its own. Each free key sets a bit; of a key that is in the list twice, only the first one
--    does.
-- 2. Takes them. {locked} has the keys again, and null for each key without a bit, since an UPDATE
--    waits for every row that its WHERE finds by key.
-- name: take_free_of on cluster
START TRANSACTION;
SELECT BIT_OR(1 << (FIELD(l.lock_key, {keys}) - 1)) INTO @leasehold_free
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.kind = 1 AND l.owner IS NULL FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY)
SET l.fence = l.fence + 1, l.owner = ELT(FIELD(l.lock_key, {keys}), {owners}),
    l.session_id = ELT(FIELD(l.lock_key, {keys}), {sessions}),
    l.node_info = ELT(FIELD(l.lock_key, {keys}), {node_infos}),
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = NULL, l.lock_delay = 0,
    l.metadata = NULL, l.revocations = 0
WHERE l.lock_key IN ({locked})
  AND (SELECT m.expires_at FROM {prefix}session m
       WHERE m.id = ELT(FIELD(l.lock_key, {keys}), {sessions})) > {now};
COMMIT;
SELECT l.owner, l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner IN ({owners});

-- $1 key, $2 session. Asks by plain reads whether somebody has a key that was refused lately.
-- Reads: 3 rows.
-- name: holder_of
-- gives: @hold
SELECT l.lock_key, l.fence, 1, {rest_of_hold}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.kind = 1 AND l.owner IS NOT NULL AND {unexpired}
  AND EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $2 AND m.expires_at > {now});

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term in microseconds or null, $6 delay, $7
-- metadata or null.
--
-- 1. The pre-check may only refuse. SELECT … INTO a variable takes no lock and does not wait; SET
--    @v = (SELECT …) would do both. It always assigns, and if it fails the packet ends, so the
--    value is never of an earlier packet.
-- 2. Locks the row of a dead holder for an instant: while a proof of the dead holder is open the
--    try is refused, as on PostgreSQL, and does not wait until the statement times out. As a
--    subquery of the pre-check it would read, and lock, the row of a live holder, too, whatever
--    condition stands before it (tried on MySQL 9.7 and MariaDB 10.11). As a statement it has an
--    impossible WHERE if there is no dead holder.
-- 3. Decides. If the key is not free and no death was proved, its WHERE is impossible, and it takes
--    no row lock and no transaction id, and does not wait behind a proof. Otherwise it takes X on
--    the lock row, by primary key, and only then tests again. The test of our own session is a
--    plain read, since a lock would block our heartbeat. It contains a condition on a column of the
--    lock row, which is always true: MariaDB would evaluate a subquery that depends on no column
--    before it waits for the row.
-- 4. Reports, and reads the holder of the key if it was refused.
-- name: try_acquire
-- gives: token is_live kind @hold
SELECT COALESCE(MAX(IF(l.owner IS NULL, 1, 2)), 0) INTO @leasehold_go
FROM {prefix}lock l
JOIN {prefix}session m ON m.id = $3 AND m.expires_at > {now}
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1
  AND l.kind = 1
  AND (l.owner IS NULL OR {closed_until COALESCE(l.expires_at, s.expires_at)} <= {now});
SELECT COUNT(*) INTO @leasehold_free FROM {prefix}lock l
WHERE l.lock_key = $1 AND @leasehold_go = 2 FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = $2,
    l.session_id = IF($5 IS NULL, $3, NULL), l.node_info = $4, l.reentrant_count = 1,
    l.changed_at = {now}, l.expires_at = {now} + $5, l.lock_delay = $6,
    l.metadata = $7, l.revocations = 0
WHERE l.lock_key = $1 AND @leasehold_go = 1 + @leasehold_free AND l.kind = 1
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = $3 AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.owner IS NULL OR {closed_until l.expires_at} <= {now} OR {proved_dead});
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), NULL),
       EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now}),
       l.kind, {hold}
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = $1
LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- If several nodes are written to, parts 2 and 3 and `touch_dead` are one transaction. It takes
-- only a key that part 2 has locked: a key that the pre-check found free may have got a holder
-- since.
-- name: try_acquire on cluster
SELECT COALESCE(MAX(IF(l.owner IS NULL, 1, 2)), 0) INTO @leasehold_go
FROM {prefix}lock l
JOIN {prefix}session m ON m.id = $3 AND m.expires_at > {now}
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1
  AND l.kind = 1
  AND (l.owner IS NULL OR {closed_until COALESCE(l.expires_at, s.expires_at)} <= {now});
START TRANSACTION;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_free, @leasehold_dead FROM {prefix}lock l
WHERE l.lock_key = $1 AND @leasehold_go = 2 FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = $2,
    l.session_id = IF($5 IS NULL, $3, NULL), l.node_info = $4, l.reentrant_count = 1,
    l.changed_at = {now}, l.expires_at = {now} + $5, l.lock_delay = $6,
    l.metadata = $7, l.revocations = 0
WHERE l.lock_key = $1 AND @leasehold_go = 1 + @leasehold_free AND l.kind = 1
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = $3 AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.owner IS NULL
       OR (@leasehold_free = 1 AND ({closed_until l.expires_at} <= {now} OR {proved_dead})));
SELECT ROW_COUNT() = 1, IF(ROW_COUNT() = 1, LAST_INSERT_ID(), NULL)
INTO @leasehold_go, @leasehold_token
{touch_dead};
COMMIT;
SELECT CAST(@leasehold_token AS SIGNED),
       EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = $3 AND m.expires_at > {now}),
       l.kind, {hold}
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = $1
LEFT JOIN {prefix}session s ON s.id = l.session_id;

-- name: insert_and_acquire
-- gives: @try_acquire
{insert_key};
{try_acquire};

-- $1 owner, {keys}: the keys from $2 on. Locking reads, so that a grant whose answer was lost is
-- seen even while its commit is still being written; S on the lock row does not wait for proofs,
-- which share it.
-- name: find_grants
SELECT l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner = $1
ORDER BY l.lock_key LOCK IN SHARE MODE;

-- $1 key, $2 owner, $3 token. A plain read tests whether the session lives. It can only refuse the
-- holder itself too early: nobody else can have been granted the key while owner and fence are the
-- same.
-- name: reenter
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND {unexpired};
UPDATE {prefix}lock l SET l.reentrant_count = LAST_INSERT_ID(l.reentrant_count + 1)
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND (l.expires_at IS NULL OR l.expires_at > {now})
  AND NOT EXISTS (
      SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= {now});
SELECT LAST_INSERT_ID() FROM DUAL WHERE ROW_COUNT() = 1;

-- $1 key, $2 owner, $3 token. Frees a key that is held once and that nobody waits for, in the form
-- of `take_free`. It skips a row that somebody is proving, so it cannot wait behind the proof of
-- another holder, and needs no look before. If it frees nothing, `hand_over` decides.
-- Reads: 2 rows.
-- name: release_last
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at)
SELECT l.lock_key, l.fence, '', 0, 0 FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND l.last_ticket = 0
  AND l.reentrant_count = 1 FOR UPDATE SKIP LOCKED
ON DUPLICATE KEY UPDATE {freed};

-- $1 key, $2 owner, $3 token. Frees one level; `release_last` is the usual release, except in a
-- cluster. Assignments run from left to right and see the earlier ones: the count comes last,
-- because the other assignments read it. The pre-check keeps a release that comes too late from
-- waiting behind the next holder's proof. It cannot miss our own grant, which is committed. The
-- change itself sees a ticket that was set after the pre-check.
-- name: release
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
  AND (l.last_ticket = 0 OR l.reentrant_count > 1);
UPDATE {prefix}lock l
SET l.session_id = IF(l.reentrant_count > 1, l.session_id, NULL),
    l.expires_at = IF(l.reentrant_count > 1, l.expires_at, NULL),
    l.changed_at = IF(l.reentrant_count > 1, l.changed_at, {now}),
    l.owner = IF(l.reentrant_count > 1, l.owner, NULL),
    l.reentrant_count = LAST_INSERT_ID(l.reentrant_count - 1)
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND (l.last_ticket = 0 OR l.reentrant_count > 1);
SELECT LAST_INSERT_ID() FROM DUAL WHERE ROW_COUNT() = 1;

-- Lists of as many parameters: {keys}, {owners}, {tokens}. `release` for several threads, of holds
-- that have one level. It waits for nobody, proofs above all, and the caller releases a locked row
-- alone. Each released hold sets a bit of the answer. MariaDB answers with the bit of each changed
-- row. MySQL reports only how many rows changed, so its packet is a transaction that locks the rows
-- first; {locked} has their keys. Reads: 4 rows for each, and 1.
-- name: release_of on mariadb
INSERT INTO {prefix}lock (lock_key, fence, node_info, reentrant_count, changed_at)
SELECT l.lock_key, l.fence, '', 0, 0 FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND {is_listed} FOR UPDATE SKIP LOCKED
ON DUPLICATE KEY UPDATE {freed}
RETURNING CAST(1 << (FIELD(lock_key, {keys}) - 1) AS SIGNED);

-- name: release_of on cluster
{release_in_packet};

-- name: release_of
{release_in_packet};

-- fragment: release_in_packet
START TRANSACTION;
SELECT BIT_OR(1 << (FIELD(l.lock_key, {keys}) - 1)) INTO @leasehold_free
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND {is_listed} FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key IN ({locked});
COMMIT;
SELECT CAST(@leasehold_free AS SIGNED)

-- fragment: is_listed
l.owner = ELT(FIELD(l.lock_key, {keys}), {owners})
  AND l.fence = CAST(ELT(FIELD(l.lock_key, {keys}), {tokens}) AS SIGNED)
  AND l.last_ticket = 0 AND l.reentrant_count = 1

-- fragment: freed
owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = {now}

-- $1 key, $2 owner. It has no pre-check: it has to wait for the row behind the acquire that it
-- settles, and so find the grant of that acquire. The acquire may still wait for a proof or for its
-- commit.
-- name: release_owner
UPDATE {prefix}lock l SET {free} WHERE l.lock_key = $1 AND l.owner = $2;

-- $1 key, $2 owner, $3 token; in the caller's transaction. It locks the lock row alone, since S on
-- the session's row would block the heartbeat. At any isolation level it reads the newest row, and
-- keeps out X, and so every takeover, until the caller's transaction ends. Both servers know this
-- spelling.
-- name: prove
SELECT fence FROM {prefix}lock
WHERE lock_key = $1 AND owner = $2 AND fence = $3 LOCK IN SHARE MODE;

-- The proof is that one row has changed. Two transactions of one holder wait for each other here,
-- or the second is refused at its commit.
-- name: prove on cluster
UPDATE {prefix}lock SET proofs = proofs + 1 WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- A list of holds: key, owner, token. Plain reads; STRAIGHT_JOIN, so that the list comes first and
-- each row is found by primary key. Reads: 3 rows for each, and 1.
-- name: standings
-- gives: number is_asked
SELECT asked.number, l.revocations > 0 FROM ({asked}) asked
STRAIGHT_JOIN {prefix}lock l
    ON l.lock_key = asked.lock_key AND l.owner = asked.owner AND l.fence = asked.amount
LEFT JOIN {prefix}session s ON s.id = l.session_id WHERE {unexpired};

-- $1 key, $2 whether to count the waiters. Plain reads, by primary key or in its order.
-- name: describe
-- gives: @hold waiters
SELECT {hold}, IF($2 = 0, 0, {waiters})
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1;

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit.
-- name: list
-- gives: @hold waiters
SELECT {hold}, {waiters} FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.owner IS NOT NULL AND {unexpired}
ORDER BY l.lock_key LIMIT $3;

-- A key is closed for two reasons: a live hold, or the lock_delay of a dead one.
-- fragment: closed
l.owner IS NOT NULL
  AND (l.expires_at IS NULL OR {closed_until l.expires_at} > {now})
  AND (s.expires_at IS NULL OR {closed_until s.expires_at} > {now})

-- $1 key, $2 the token that such a hold must have, or null. Sent before `force_release`, so that a
-- free key costs no lock and no wait.
-- name: is_closed
SELECT 1 FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.fence = COALESCE($2, l.fence) AND {closed};

-- A transaction inside one packet; see waiter.sql. It first takes X on the lock row, and waits for
-- proofs. Then nothing can change the holder, and the next statement has a snapshot with all that
-- was committed meanwhile. The answer is the former hold, since no other statement of the packet
-- gives rows. The session's row comes last: no statement waits for a lock row while it holds a
-- session row, so no circle of waits can close.
-- name: force_release
-- gives: @hold waiters
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = $1 FOR UPDATE;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_session
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.fence = COALESCE($2, l.fence) AND {closed};
SELECT {hold}, {waiters} FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}lock l SET l.fence = l.fence + 1, {free}
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_session AND @leasehold_go = 1;
COMMIT;

-- $1 key, $2 kind. It locks the row first. Grants to holders lock that row, too, so the next
-- statement sees all earlier grants. Then it changes the row, by primary key, if the key has no
-- holders.
-- name: change_kind
-- gives: kind is_idle is_changed
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = $1 FOR UPDATE;
UPDATE {prefix}lock l SET l.kind = $2
WHERE l.lock_key = $1 AND l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0
  AND NOT EXISTS (
      SELECT 1 FROM {prefix}holder h
      WHERE h.lock_key = l.lock_key AND (h.mode <> 0 OR h.fence > 0));
COMMIT;
SELECT l.kind, 0, 0 FROM {prefix}lock l WHERE l.lock_key = $1;

-- $1 key, $2 owner, $3 token, $4 metadata or null. The pre-check keeps a call that comes too late
-- from waiting behind the next holder's proof. The report asks the row itself, because metadata
-- that stays the same is not counted as a change.
-- name: set_metadata
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3;
UPDATE {prefix}lock l SET l.metadata = $4
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3;
SELECT 1 FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND @leasehold_go = 1;

-- $1 key. A transaction inside one packet, as `force_release`: the answer is the hold.
-- name: request_revoke
-- gives: @hold
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = $1 FOR UPDATE;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_session
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {unexpired};
SELECT l.lock_key, l.fence, 1, {rest_of_hold}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}lock l SET l.revocations = l.revocations + 1
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_session AND @leasehold_go = 1;
COMMIT;

-- $1 key, $2 owner, $3 token, $4 term in microseconds. It tests the session as `reenter` does. The
-- expiry is assigned before the session, since assignments run from left to right.
-- name: give_term
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND s.expires_at > {now};
UPDATE {prefix}lock l SET l.expires_at = {now} + $4, l.session_id = NULL
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.session_id IS NOT NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now});
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- As `give_term` for a hold with a fixed term.
-- name: extend_term
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND l.expires_at > {now};
UPDATE {prefix}lock l SET l.expires_at = {now} + $4
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.expires_at > {now};
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- The former session is compared on the row at the moment of the change, so if two sessions adopt
-- one hold, the second finds the session of the first. To adopt again changes nothing, and the
-- count of affected rows does not tell that from a refusal. So the report reads the row, and looks
-- for the name of our own session, which nobody else writes.
-- name: adopt
-- gives: is_adopted is_live
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session m ON m.id = $5 AND m.expires_at > {now}
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
  AND (l.session_id = $5 OR l.session_id <=> $4);
UPDATE {prefix}lock l SET l.session_id = $5, l.expires_at = NULL, l.node_info = $6
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.session_id <=> $4
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = $5 AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.expires_at > {now}
       OR EXISTS (
           SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now}));
SELECT (SELECT COUNT(*) FROM {prefix}lock l
        WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND l.session_id = $5),
       (SELECT COUNT(*) FROM {prefix}session m WHERE m.id = $5 AND m.expires_at > {now});

-- $1 key, $2 owner, $3 token, $4 the other owner; in the caller's transaction: without a clock, so
-- that neither the time zone nor the flags of the caller's connection matter. It takes one record
-- lock, by primary key. It waits for a session that has the row at this moment. Such a session ends
-- within one statement, and waits for nothing that the caller has, so no circle of waits can close.
-- SKIP LOCKED is not used, because MariaDB may report it as a deadlock, which rolls the caller's
-- transaction back. Reads: 1 row.
-- name: move
UPDATE {prefix}lock l SET l.owner = $4 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3;
