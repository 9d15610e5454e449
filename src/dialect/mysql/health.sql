-- MySQL and MariaDB: how the server is run, and how our tables do there. Plain reads for people.

-- name: clock
SELECT {now};

-- name: variables
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'max_connections', 'wsrep_on', 'group_replication_single_primary_mode',
    'group_replication_group_name');

-- name: status
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment',
    'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status');

-- Of MySQL alone, and of a group.
-- name: members
SELECT MEMBER_ID = @@server_uuid, MEMBER_STATE FROM performance_schema.replication_group_members;

-- Who reads the binary log. Without PROCESS a user sees nobody but himself: so it is asked for
-- first, by a table that only those may read who have it.
-- name: replicas
SELECT (SELECT COUNT(*) FROM information_schema.INNODB_TRX x WHERE x.trx_mysql_thread_id < 0),
       (SELECT COUNT(*) FROM information_schema.PROCESSLIST p WHERE p.COMMAND LIKE 'Binlog Dump%');

-- $1 microseconds. The oldest open transaction: no version of a row that it may see is removed.
-- name: snapshot
SELECT x.trx_mysql_thread_id, COALESCE(p.USER, ''), COALESCE(p.HOST, ''), COALESCE(p.COMMAND, ''),
       TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6))
FROM information_schema.INNODB_TRX x
LEFT JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id
WHERE x.trx_mysql_thread_id <> CONNECTION_ID()
  AND TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6)) >= $1
ORDER BY x.trx_started LIMIT 1;

-- name: history
SELECT m.COUNT FROM information_schema.INNODB_METRICS m WHERE m.NAME = 'trx_rseg_history_len';

-- $1 the prefix. A line for each column, index and table. Not the text of defaults and checks:
-- servers spell it in different ways.
-- name: shape
SELECT CONCAT(SUBSTR(c.TABLE_NAME, CHAR_LENGTH($1) + 1), ' column ', c.COLUMN_NAME, ' ',
              LOWER(c.DATA_TYPE),
              CASE WHEN c.CHARACTER_MAXIMUM_LENGTH IS NULL OR c.CHARACTER_MAXIMUM_LENGTH > 65534
                   THEN '' ELSE CONCAT('(', c.CHARACTER_MAXIMUM_LENGTH, ')') END,
              CASE WHEN c.CHARACTER_SET_NAME IS NULL THEN ''
                   ELSE CONCAT(' ', c.CHARACTER_SET_NAME) END,
              CASE WHEN c.IS_NULLABLE = 'NO' THEN ' not null' ELSE '' END,
              CASE WHEN c.EXTRA LIKE '%auto_increment%' THEN ' auto_increment' ELSE '' END)
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = DATABASE() AND LEFT(c.TABLE_NAME, CHAR_LENGTH($1)) = $1
UNION ALL
SELECT CONCAT(SUBSTR(i.TABLE_NAME, CHAR_LENGTH($1) + 1),
              CASE WHEN MAX(i.NON_UNIQUE) = 0 THEN ' unique index (' ELSE ' index (' END,
              GROUP_CONCAT(i.COLUMN_NAME ORDER BY i.SEQ_IN_INDEX SEPARATOR ', '), ')')
FROM information_schema.STATISTICS i
WHERE i.TABLE_SCHEMA = DATABASE() AND LEFT(i.TABLE_NAME, CHAR_LENGTH($1)) = $1
GROUP BY i.TABLE_NAME, i.INDEX_NAME
UNION ALL
SELECT CONCAT(SUBSTR(t.TABLE_NAME, CHAR_LENGTH($1) + 1), ' engine ', LOWER(t.ENGINE))
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = DATABASE() AND LEFT(t.TABLE_NAME, CHAR_LENGTH($1)) = $1;

-- {table}, {column}: EXPLAIN asks for the rights of what it explains, and does nothing.
-- name: try_select
EXPLAIN SELECT 1 FROM {table};

-- name: try_insert
EXPLAIN INSERT INTO {table} ({column}) SELECT {column} FROM {table} WHERE 1 = 0;

-- name: try_update
EXPLAIN UPDATE {table} SET {column} = {column} WHERE 1 = 0;

-- name: try_delete
EXPLAIN DELETE FROM {table} WHERE 1 = 0;

-- The third: heartbeats a second, a third of a million of each.
-- name: sessions
SELECT COALESCE(SUM(s.expires_at > {now}), 0), COALESCE(SUM({overdue}), 0),
       CAST(COALESCE(SUM(CASE WHEN s.expires_at > {now}
           THEN 1000000000000 DIV GREATEST(s.expires_at - s.heartbeat_at, 1000) ELSE 0 END), 0)
           AS SIGNED)
FROM {prefix}session s;

-- word: overdue
s.expires_at > {now} AND {now} - s.heartbeat_at > (s.expires_at - s.heartbeat_at) DIV 2

-- name: overdue
SELECT COALESCE((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                 ORDER BY s.heartbeat_at LIMIT 1), '');

-- $1 microseconds, $2 how many. One pass over the lock rows.
-- name: long_holds
SELECT l.lock_key, l.node_info, {now} - l.changed_at, COUNT(*) OVER ()
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.changed_at <= {now} - $1 AND l.owner IS NOT NULL AND {unexpired}
ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds.
-- name: dead_holds
SELECT COUNT(*) FROM (
    SELECT 1 FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
    WHERE s.expires_at + l.lock_delay <= {now} - $1 LIMIT 1000) some_of_them;

-- $1 queue. Reads: 1 row, by the index in the order of claims. What was inserted by hand may not
-- say when.
-- name: next_job
SELECT COALESCE({now} - NULLIF(j.enqueued_at, 0), 0)
FROM {prefix}job j
WHERE j.queue = $1 AND j.state = 2
ORDER BY j.priority, j.id LIMIT 1;

-- $1 id. The columns of `list` in session.sql.
-- name: session
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
FROM {prefix}session WHERE id = $1;

-- $1 key. What is over, and is kept closed for its lock_delay.
-- name: closed
SELECT COALESCE(l.expires_at, s.expires_at) + l.lock_delay - {now}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL
  AND COALESCE(l.expires_at, s.expires_at) <= {now}
  AND COALESCE(l.expires_at, s.expires_at) + l.lock_delay > {now};
