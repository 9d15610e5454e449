-- MySQL and MariaDB: the transactions that lock a row. Only people ask for them, so these
-- statements may be slow.

-- $1 the first key, $2 the first after all of them, $3 limit. Lists the keys whose hold is over,
-- and that nobody has taken or cleaned up since.
-- name: list_passed
SELECT l.lock_key FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.owner IS NOT NULL AND NOT ({unexpired})
ORDER BY l.lock_key LIMIT $3;

-- $1 key. Asks whether a row that a taker would lock is locked: the row of the key, or a holder's.
-- It locks unlocked ones for an instant, and waits for no row. The INTO leaves the packet with one
-- answer.
-- name: is_locked
SELECT COUNT(*) INTO @leasehold_free FROM {prefix}lock l
WHERE l.lock_key = $1 FOR UPDATE SKIP LOCKED;
SELECT COUNT(*) + @leasehold_free INTO @leasehold_free FROM {prefix}holder h
WHERE h.lock_key = $1 FOR UPDATE SKIP LOCKED;
SELECT (SELECT COUNT(*) FROM {prefix}lock l WHERE l.lock_key = $1)
       + (SELECT COUNT(*) FROM {prefix}holder h WHERE h.lock_key = $1) - @leasehold_free;

-- $1 key. As `is_locked` for a user that may only read, and on a server that takes no writes: it
-- finds exclusively locked rows, and no shared locks, such as those of proofs.
-- name: is_locked_to_change
SELECT COUNT(*) INTO @leasehold_free FROM {prefix}lock l
WHERE l.lock_key = $1 {share_skip_locked};
SELECT COUNT(*) + @leasehold_free INTO @leasehold_free FROM {prefix}holder h
WHERE h.lock_key = $1 {share_skip_locked};
SELECT (SELECT COUNT(*) FROM {prefix}lock l WHERE l.lock_key = $1)
       + (SELECT COUNT(*) FROM {prefix}holder h WHERE h.lock_key = $1) - @leasehold_free;

-- $1 key. MySQL alone: MariaDB shows only locks that somebody waits for. The server names a record
-- by its primary key in hexadecimal digits: for a holder's row the key and then the owner.
-- Needs PROCESS, and SELECT on performance_schema.
-- name: lockers
-- gives: connection user host application state open_for transactions, statement
SELECT t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST,
       (SELECT a.ATTR_VALUE FROM performance_schema.session_connect_attrs a
        WHERE a.PROCESSLIST_ID = t.PROCESSLIST_ID AND a.ATTR_NAME = 'program_name' LIMIT 1),
       t.PROCESSLIST_COMMAND, TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6)), COUNT(*) OVER (),
       LEFT(t.PROCESSLIST_INFO, 200)
FROM (SELECT DISTINCT d.THREAD_ID, d.ENGINE_TRANSACTION_ID
      FROM performance_schema.data_locks d
      WHERE d.OBJECT_SCHEMA = DATABASE() AND d.INDEX_NAME = 'PRIMARY'
        AND d.LOCK_TYPE = 'RECORD' AND d.LOCK_STATUS = 'GRANTED'
        AND ((d.OBJECT_NAME = '{prefix}lock' AND d.LOCK_DATA = CONCAT('0x', HEX($1)))
             OR (d.OBJECT_NAME = '{prefix}holder'
                 AND d.LOCK_DATA LIKE CONCAT('0x', HEX($1), ', %')))) d
LEFT JOIN performance_schema.threads t ON t.THREAD_ID = d.THREAD_ID
LEFT JOIN information_schema.INNODB_TRX x ON x.trx_id = d.ENGINE_TRANSACTION_ID
ORDER BY x.trx_started, t.PROCESSLIST_ID LIMIT 1;

-- The columns of `lockers`, for every session that has rows locked; one of these has locked this
-- row. The server renews the list only if nobody has asked for 100 ms, so the statement first waits
-- that long. Needs PROCESS.
-- name: suspects
-- gives: connection user host application state open_for transactions statement
DO SLEEP(0.11);
SELECT x.trx_mysql_thread_id, p.USER, p.HOST, NULL, p.COMMAND,
       TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6)), COUNT(*) OVER (), LEFT(p.INFO, 200)
FROM information_schema.INNODB_TRX x
LEFT JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id
WHERE x.trx_rows_locked > 0 AND x.trx_mysql_thread_id <> CONNECTION_ID()
ORDER BY x.trx_started, x.trx_mysql_thread_id LIMIT 1;

-- {connection}: its number.
-- name: end_connection
KILL {connection};
