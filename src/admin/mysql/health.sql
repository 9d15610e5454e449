-- MySQL and MariaDB: how the server is run, and how our tables do there. Plain reads for people.

-- name: clock
SELECT {now};

-- name: variables
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'max_connections', 'wsrep_on', 'group_replication_single_primary_mode',
    'group_replication_group_name', 'read_only',
    'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled',
    'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_timeout',
    'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point',
    'rpl_semi_sync_master_wait_for_slave_count', 'rpl_semi_sync_source_wait_for_replica_count');

-- name: status
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'Threads_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment',
    'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status',
    'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients');

-- name: cipher
SHOW SESSION STATUS LIKE 'Ssl_cipher';

-- The number of connections that this user may have (0: no limit but the server's), and the number
-- that it has: each user may see its own connections.
-- name: own_connections
-- gives: most user used
SELECT @@SESSION.max_user_connections, SUBSTRING_INDEX(USER(), '@', 1),
       (SELECT COUNT(*) FROM information_schema.PROCESSLIST p
        WHERE p.USER = SUBSTRING_INDEX(USER(), '@', 1));

-- On MySQL alone: the members of a group.
-- name: members
-- gives: is_this state role
SELECT MEMBER_ID = @@server_uuid, MEMBER_STATE, MEMBER_ROLE
FROM performance_schema.replication_group_members;

-- The readers of the binary log. Without PROCESS a user sees only its own connections, so the
-- statement first reads a table that only users with that right may read. It counts all rows of
-- that table: under a condition that cannot be true MySQL would not open the table, and would
-- refuse nobody.
-- name: replicas
-- gives: transactions readers
SELECT (SELECT COUNT(*) FROM information_schema.INNODB_TRX),
       (SELECT COUNT(*) FROM information_schema.PROCESSLIST p WHERE p.COMMAND LIKE 'Binlog Dump%');

-- The servers whose changes this one applies, or tries to; without a group's own channels.
-- name: sources_mysql
-- gives: host port
SELECT c.HOST, c.PORT
FROM performance_schema.replication_connection_configuration c
JOIN performance_schema.replication_connection_status s ON s.CHANNEL_NAME = c.CHANNEL_NAME
WHERE s.SERVICE_STATE <> 'OFF' AND LEFT(c.CHANNEL_NAME, 18) <> 'group_replication_';

-- The third column is the state of the connection, and the fourth and the sixth name its other end.
-- name: sources_mariadb
SHOW ALL SLAVES STATUS;

-- $1 microseconds. The oldest open transaction: no version of a row that it may see is removed.
-- name: snapshot
-- gives: , connection user host state open_for
SELECT x.trx_mysql_thread_id, COALESCE(p.USER, ''), COALESCE(p.HOST, ''), COALESCE(p.COMMAND, ''),
       TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6))
FROM information_schema.INNODB_TRX x
LEFT JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id
WHERE x.trx_mysql_thread_id <> CONNECTION_ID()
  AND TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6)) >= $1
ORDER BY x.trx_started LIMIT 1;

-- name: history
SELECT m.COUNT FROM information_schema.INNODB_METRICS m WHERE m.NAME = 'trx_rseg_history_len';

-- {table}, {column}: EXPLAIN asks for the rights of its statement, and does nothing.
-- name: try_select
EXPLAIN SELECT 1 FROM {table};

-- name: try_insert
EXPLAIN INSERT IGNORE INTO {table} ({column}) SELECT {column} FROM {table} WHERE 1 = 0;

-- name: try_update
EXPLAIN UPDATE {table} SET {column} = {column} WHERE 1 = 0;

-- name: try_delete
EXPLAIN DELETE FROM {table} WHERE 1 = 0;

-- The third column is the sum of 1,000,000 / ttl in seconds over the live sessions. Reads: the
-- sessions once.
-- name: sessions
-- gives: live overdue beats_in_millionths
SELECT COALESCE(SUM(s.expires_at > {now}), 0), COALESCE(SUM({overdue}), 0),
       CAST(COALESCE(SUM(CASE WHEN s.expires_at > {now}
           THEN 1000000000000
               DIV GREATEST({finite s.expires_at} - {finite s.heartbeat_at}, 1000)
           ELSE 0 END), 0) AS SIGNED)
FROM {prefix}session s;

-- fragment: overdue
s.expires_at > {now}
    AND {since s.heartbeat_at} > ({finite s.expires_at} - {finite s.heartbeat_at}) DIV 2

-- Reads: the sessions once.
-- name: overdue
SELECT COALESCE((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                 ORDER BY s.heartbeat_at LIMIT 1), '');

-- Tests lock row l with session row s, which may be missing. $1 microseconds.
-- fragment: held_long
l.changed_at <= {now} - $1 AND l.owner IS NOT NULL AND {unexpired}

-- $1 microseconds, $2 limit. Reads: the lock rows once, and the session of each that is held: MySQL
-- tests a time of SYSDATE after the join.
-- name: long_holds
-- gives: key node_info held_for
SELECT l.lock_key, l.node_info, {since l.changed_at}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE {held_long}
ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds. Reads: as long_holds. It is a separate statement, since COUNT(*) OVER () copies
-- every row: with 1,000,000 rows that took MySQL 13 s, and these two statements take 3 s (9.7, two
-- busy cores).
-- name: count_long_holds
SELECT COUNT(*) FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE {held_long};

-- $1 microseconds. Reads: the lock rows once, and the session of each that has one.
-- name: dead_holds
SELECT COUNT(*) FROM (
    SELECT 1 FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
    WHERE {closed_until s.expires_at} <= {now} - $1
    LIMIT 1000) some_of_them;

-- Tests holder h with session row s, which may be missing. $1 microseconds.
-- fragment: shared_long
h.granted_at <= {now} - $1 AND h.fence > 0 AND (s.expires_at IS NULL OR s.expires_at > {now})

-- $1 microseconds, $2 limit. Keys that several hold, by the oldest of their holders. Reads: the
-- holders once, the session of each, and the holders of the keys that are listed.
-- name: long_shares
-- gives: key node_info held_for
SELECT g.lock_key,
       (SELECT f.node_info FROM {prefix}holder f
        WHERE f.lock_key = g.lock_key AND f.granted_at = g.first_at LIMIT 1),
       {since g.first_at}
FROM (
    SELECT h.lock_key, MIN(h.granted_at) AS first_at
    FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
    WHERE {shared_long}
    GROUP BY h.lock_key ORDER BY first_at LIMIT $2) g
ORDER BY g.first_at;

-- $1 microseconds. Reads: the holders once, and the session of each.
-- name: count_long_shares
SELECT COUNT(DISTINCT h.lock_key)
FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE {shared_long};

-- $1 microseconds. Reads: the holders once, and the session of each.
-- name: dead_shares
SELECT COUNT(*) FROM (
    SELECT 1 FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
    WHERE s.expires_at <= {now} - $1 LIMIT 1000) some_of_them;

-- $1 microseconds. For each queue, how long the job that would be claimed next has waited: a
-- walk from name to name along job_order. Reads: some rows for each queue.
-- name: waiting_queues
-- gives: queue waits is_paused
SELECT w.queue, w.waits, w.is_paused
FROM (
    SELECT d.queue, COALESCE(q.is_paused, 0) AS is_paused,
           (SELECT COALESCE({now} - NULLIF(GREATEST(COALESCE(j.available_at, 0), j.enqueued_at, 0),
                                            0), 0)
            FROM {prefix}job j FORCE INDEX ({bare}job_order)
            WHERE j.queue = d.queue AND j.state = 2
            ORDER BY j.queue, j.state, j.priority, j.id LIMIT 1) AS waits
    FROM (SELECT DISTINCT j.queue FROM {prefix}job j FORCE INDEX ({bare}job_order)) d
    LEFT JOIN {prefix}queue q ON q.name = d.queue) w
WHERE w.waits IS NOT NULL AND (w.is_paused = 1 OR w.waits > $1)
ORDER BY w.queue;

-- $1 queue. Index: job_history_queue. Reads: 100 rows, twice.
-- name: usual_time
SELECT CAST(AVG(t.took) AS SIGNED)
FROM (SELECT h.ended_at - GREATEST(h.enqueued_at, 0) AS took
      FROM {prefix}job_history h FORCE INDEX ({bare}job_history_queue)
      WHERE h.queue = $1 AND h.state = 6
      ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT 100) t;

-- $1 microseconds, $2 limit. For each queue first the oldest job that is counted, then the count;
-- the LIMIT keeps the two apart: otherwise MySQL would look for the oldest job at each counted row.
-- Reads: some rows for each queue that has a history, and three times as many as are counted.
-- name: discarded
-- gives: queue jobs
SELECT f.queue,
       (SELECT COUNT(*) FROM {prefix}job_history h FORCE INDEX ({bare}job_history_queue)
        WHERE h.queue = f.queue AND h.state = 7 AND h.id >= f.first_id
          AND h.ended_at > {now} - $1) AS discarded
FROM (
    SELECT d.queue,
           COALESCE((SELECT g.id
                     FROM {prefix}job_history g FORCE INDEX ({bare}job_history_queue)
                     WHERE g.queue = d.queue AND g.state = 7
                     ORDER BY g.queue DESC, g.state DESC, g.id DESC LIMIT 1 OFFSET $2),
                    0) AS first_id
    FROM (SELECT DISTINCT j.queue
          FROM {prefix}job_history j FORCE INDEX ({bare}job_history_queue)) d
    LIMIT 18446744073709551615) f
HAVING discarded > 0
ORDER BY f.queue;

-- $1 queue, $2 microseconds, $3 how many. Index: job_history_queue. Reads: as many rows, twice.
-- name: discarded_of
SELECT COUNT(*)
FROM (SELECT h.ended_at
      FROM {prefix}job_history h FORCE INDEX ({bare}job_history_queue)
      WHERE h.queue = $1 AND h.state = 7
      ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT $3) t
WHERE t.ended_at > {now} - $2;

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT id, node_info, expires_at > {now}, {since started_at}, {since heartbeat_at},
       {until expires_at}
FROM {prefix}session WHERE id = $1;

-- $1 key. A hold that is over, but keeps the key closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT {closed_until COALESCE(l.expires_at, s.expires_at)} - {now}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL
  AND COALESCE(l.expires_at, s.expires_at) <= {now}
  AND {closed_until COALESCE(l.expires_at, s.expires_at)} > {now};
