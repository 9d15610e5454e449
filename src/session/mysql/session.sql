-- Sessions on MySQL and MariaDB.

-- NOW is the start of the statement, and SYSDATE the time at which it is evaluated. The two are
-- equal if less than a microsecond lies between them, or if the server runs with
-- `--sysdate-is-now`. No variable tells that option.
-- name: clock
SELECT SYSDATE(6) <> NOW(6);

-- The test for equal times: SYSDATE must have moved on after the sleep.
-- name: clock_after_sleep
SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) >= 5000 FROM (SELECT SLEEP(0.01)) AS slept;

-- SHOW passes over names a server does not know, where SELECT @@name would fail.
-- name: settings
SHOW VARIABLES WHERE Variable_name IN (
    'binlog_format', 'group_replication_single_primary_mode', 'innodb_flush_log_at_trx_commit',
    'innodb_read_only', 'log_bin', 'read_only', 'super_read_only', 'sync_binlog',
    'transaction_read_only', 'tx_read_only', 'wsrep_on');

-- For each connection of our own where several nodes are written to: a statement, or a transaction,
-- begins when this node has all that was committed anywhere before. Answers a row on Galera, which
-- builds of MySQL by others may contain, too.
-- name: galera
SHOW VARIABLES LIKE 'wsrep_sync_wait';

-- The statement also keeps the node from repeating statements. By default a node repeats a
-- statement that another node's change has rolled back. In a transaction inside one packet it may
-- repeat that statement alone, after the rest was rolled back, and the following COMMIT succeeds:
-- so two sessions were granted a key with one token (MariaDB 10.11.19). With this setting such a
-- statement fails.
-- name: enter_galera
SET SESSION wsrep_sync_wait = 15, SESSION wsrep_retry_autocommit = 0;

-- name: enter_group
SET SESSION group_replication_consistency = 'BEFORE';

-- $1 id, $2 node_info, $3 ttl. By primary key, committing by itself.
-- name: insert
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES ($1, $2, {now}, {now}, {now} + $3, 0);

-- As `insert`, for a start whose first answer was lost. A first attempt that arrives after its
-- session has ended revives nothing.
-- name: restart
UPDATE {prefix}session
SET heartbeat_at = {now}, expires_at = {now} + $3
WHERE id = $1 AND expires_at > {now};

-- $1 key, $2 owner, $3 id, $4 node_info, $5 null, $6 delay, $7 metadata or null, $8 ttl. One packet
-- and one transaction. 1062, a row of this id, ends the packet, and the transaction is rolled back.
--
-- 1. The pre-check may only refuse: see `try_acquire` of hold.sql. It does not wait for a key that
--    has an owner.
-- 2. Decides: takes X on the lock row, by primary key, and tests again. It tests no session, since
--    the one that gets the key begins here. A statement that has a session's row waits for no lock
--    row.
-- 3. Makes the session, only with the grant.
-- name: start_with_grant
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.kind = 1 AND l.owner IS NULL;
START TRANSACTION;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = $2, l.session_id = $3, l.node_info = $4,
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = {now} + $5, l.lock_delay = $6,
    l.metadata = $7, l.revocations = 0
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.kind = 1 AND l.owner IS NULL;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), NULL) INTO @leasehold_go;
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
SELECT $3, $4, {now}, {now}, {now} + $8, 0 FROM DUAL WHERE @leasehold_go IS NOT NULL;
SELECT @leasehold_go;
COMMIT;

-- Each start of a server is another incarnation. The last two parts of UUID() are the machine's
-- address and 14 bits that the server draws at each start (Uptime counts whole seconds, and moves
-- with the clock). In one case of 16,384 the bits are the same again; then a direct connection has
-- been replaced, which the caller tests, too. Another server differs in the other parts. The server
-- draws the bits anew if its clock steps back; then a session looks once more than it must.
-- fragment: incarnation
CAST(CONCAT_WS('/', @@hostname, @@port, {server_uuid}, RIGHT(UUID(), 17)) AS BINARY)

-- $1 id, $2 ttl, $3 notices, $4 incarnation. Takes X on its own row, by primary key, and only then
-- reads the clock, so a heartbeat that waited beyond its expiry changes nothing. No other statement
-- locks a live session's row, except the moment in which force_release() adds a notice.
-- name: heartbeat
UPDATE {prefix}session SET heartbeat_at = {now}, expires_at = {now} + $2
WHERE id = $1 AND expires_at > {now} AND notices = $3
  AND ($4 = '' OR {incarnation} = $4);

-- $1 id, $2 node_info, $3 ttl, $4 the node_info that it has. Tests and commits as `heartbeat` does.
-- name: take_over
UPDATE {prefix}session
SET node_info = $2, notices = notices + 1, heartbeat_at = {now}, expires_at = {now} + $3
WHERE id = $1 AND expires_at > {now} AND node_info = $4;

-- $1 id.
-- name: news
-- gives: notices incarnation
SELECT notices, {incarnation} FROM {prefix}session WHERE id = $1 AND expires_at > {now};

-- $1 id.
-- name: end
UPDATE {prefix}session SET expires_at = {now} WHERE id = $1 AND expires_at > {now};

-- $1 id. One packet, each statement by itself. Plain reads count the rows, since a DELETE would
-- lock all that it reads, and wait for proofs. Nothing is granted to the session afterwards: no
-- request of it is under way, and each waiter that could be handed a key is counted. {keys},
-- {owned} and {queued} are the last holds and waiters of the session. FORCE INDEX makes each read
-- use the primary key, since the planner prefers a scan of a small table. Reads: 3 rows for each
-- entry, and 2.
-- name: remove
SELECT (SELECT COUNT(*) FROM {prefix}lock l FORCE INDEX (PRIMARY)
        WHERE l.session_id = $1 AND l.lock_key IN ({keys}))
     + (SELECT COUNT(*) FROM {prefix}holder h FORCE INDEX (PRIMARY)
        WHERE h.session_id = $1 AND ({owned}))
     + (SELECT COUNT(*) FROM {prefix}waiter w FORCE INDEX (PRIMARY)
        WHERE w.session_id = $1 AND ({queued}))
INTO @leasehold_kept;
DELETE FROM {prefix}session WHERE id = $1 AND expires_at > {now} AND @leasehold_kept = 0;
UPDATE {prefix}session SET expires_at = {now} WHERE id = $1 AND expires_at > {now};

-- $1 key, $2 owner, $3 token, $4 id. One packet and one transaction: it does what `release` of
-- hold.sql does, for one level and a key without a ticket. It locks the lock row first, as a forced
-- release does.
-- name: end_with_release
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
  AND l.last_ticket = 0 AND l.reentrant_count = 1;
START TRANSACTION;
UPDATE {prefix}lock l SET {free}
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.last_ticket = 0 AND l.reentrant_count = 1;
SELECT ROW_COUNT() INTO @leasehold_go;
DELETE FROM {prefix}session WHERE id = $4 AND expires_at > {now} AND @leasehold_go = 1;
SELECT @leasehold_go = 1;
COMMIT;

-- There is a row for each session, so the table is read whole and sorted. Reads: 1 row for each.
-- name: list
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT id, node_info, expires_at > {now}, {since started_at}, {since heartbeat_at},
       {until expires_at}
FROM {prefix}session ORDER BY started_at, id;
