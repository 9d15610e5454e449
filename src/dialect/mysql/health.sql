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

-- What this user may have of connections, 0: as many as the server, and how many it has: each sees
-- its own.
-- name: own_connections
SELECT @@SESSION.max_user_connections, SUBSTRING_INDEX(USER(), '@', 1),
       (SELECT COUNT(*) FROM information_schema.PROCESSLIST p
        WHERE p.USER = SUBSTRING_INDEX(USER(), '@', 1));

-- Of MySQL alone, and of a group.
-- name: members
SELECT MEMBER_ID = @@server_uuid, MEMBER_STATE, MEMBER_ROLE
FROM performance_schema.replication_group_members;

-- Who reads the binary log. Without PROCESS a user sees nobody but himself: so it is asked for
-- first, by a table that only those may read who have it. All of it: where a condition cannot be
-- true MySQL does not open the table, and refuses nobody.
-- name: replicas
SELECT (SELECT COUNT(*) FROM information_schema.INNODB_TRX),
       (SELECT COUNT(*) FROM information_schema.PROCESSLIST p WHERE p.COMMAND LIKE 'Binlog Dump%');

-- Whose changes this server applies, or tries to; a group's own channels are no such source.
-- name: sources_mysql
SELECT c.HOST, c.PORT
FROM performance_schema.replication_connection_configuration c
JOIN performance_schema.replication_connection_status s ON s.CHANNEL_NAME = c.CHANNEL_NAME
WHERE s.SERVICE_STATE <> 'OFF' AND LEFT(c.CHANNEL_NAME, 18) <> 'group_replication_';

-- Of it the third column says what the connection does, the fourth and the sixth where it goes.
-- name: sources_mariadb
SHOW ALL SLAVES STATUS;

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
EXPLAIN INSERT IGNORE INTO {table} ({column}) SELECT {column} FROM {table} WHERE 1 = 0;

-- name: try_update
EXPLAIN UPDATE {table} SET {column} = {column} WHERE 1 = 0;

-- name: try_delete
EXPLAIN DELETE FROM {table} WHERE 1 = 0;

-- The third: heartbeats a second, a third of a million of each. Reads: the sessions once.
-- name: sessions
SELECT COALESCE(SUM(s.expires_at > {now}), 0), COALESCE(SUM({overdue}), 0),
       CAST(COALESCE(SUM(CASE WHEN s.expires_at > {now}
           THEN 1000000000000 DIV GREATEST(s.expires_at - s.heartbeat_at, 1000) ELSE 0 END), 0)
           AS SIGNED)
FROM {prefix}session s;

-- word: overdue
s.expires_at > {now} AND {now} - s.heartbeat_at > (s.expires_at - s.heartbeat_at) DIV 2

-- Reads: the sessions once.
-- name: overdue
SELECT COALESCE((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                 ORDER BY s.heartbeat_at LIMIT 1), '');

-- Of a lock row l with the session row s joined to it, if there. $1 microseconds.
-- word: held_long
l.changed_at <= {now} - $1 AND l.owner IS NOT NULL AND {unexpired}

-- $1 microseconds, $2 how many. Reads: the lock rows once, and the session of each that is held:
-- MySQL tests a time of SYSDATE after the join.
-- name: long_holds
SELECT l.lock_key, l.node_info, {now} - l.changed_at
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE {held_long}
ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds. Reads: as long_holds. By itself, since COUNT(*) OVER () copies every row: of
-- 1,000,000 it took MySQL 13 s, both of these 3 s (9.7, two busy cores).
-- name: count_long_holds
SELECT COUNT(*) FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE {held_long};

-- $1 microseconds. Reads: the lock rows once, and the session of each that has one.
-- name: dead_holds
SELECT COUNT(*) FROM (
    SELECT 1 FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
    WHERE s.expires_at + l.lock_delay <= {now} - $1 LIMIT 1000) some_of_them;

-- Of a holder h with the session row s joined to it, if there. $1 microseconds.
-- word: shared_long
h.granted_at <= {now} - $1 AND h.fence > 0 AND (s.expires_at IS NULL OR s.expires_at > {now})

-- $1 microseconds, $2 how many. Keys that several hold, by the oldest of them. Reads: the holders
-- once, the session of each, and the holders of the keys that are listed.
-- name: long_shares
SELECT g.lock_key,
       (SELECT f.node_info FROM {prefix}holder f
        WHERE f.lock_key = g.lock_key AND f.granted_at = g.first_at LIMIT 1),
       {now} - g.first_at
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

-- $1 microseconds. Of each queue since when the job that would be claimed next is there: a walk
-- from name to name along job_order. Reads: some rows for each queue.
-- name: waiting_queues
SELECT w.queue, w.waits, w.is_paused
FROM (
    SELECT d.queue, COALESCE(q.is_paused, 0) AS is_paused,
           (SELECT COALESCE({now} - NULLIF(j.enqueued_at, 0), 0)
            FROM {prefix}job j FORCE INDEX ({bare}job_order)
            WHERE j.queue = d.queue AND j.state = 2
            ORDER BY j.queue, j.state, j.priority, j.id LIMIT 1) AS waits
    FROM (SELECT DISTINCT j.queue FROM {prefix}job j FORCE INDEX ({bare}job_order)) d
    LEFT JOIN {prefix}queue q ON q.name = d.queue) w
WHERE w.waits IS NOT NULL AND (w.is_paused = 1 OR w.waits > $1)
ORDER BY w.queue;

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
FROM {prefix}session WHERE id = $1;

-- $1 key. What is over, and is kept closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT COALESCE(l.expires_at, s.expires_at) + l.lock_delay - {now}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL
  AND COALESCE(l.expires_at, s.expires_at) <= {now}
  AND COALESCE(l.expires_at, s.expires_at) + l.lock_delay > {now};

-- What `shape` answers where the tables are as the migrations make them. A test of tests/upkeep
-- compares.
-- name: known_shape
SELECT 'fence_guard column fence bigint not null'
UNION ALL SELECT 'fence_guard column proofs bigint not null'
UNION ALL SELECT 'fence_guard column resource varbinary(255) not null'
UNION ALL SELECT 'fence_guard engine innodb'
UNION ALL SELECT 'fence_guard unique index (resource)'
UNION ALL SELECT 'fence_mark column fence bigint not null'
UNION ALL SELECT 'fence_mark column id tinyint not null'
UNION ALL SELECT 'fence_mark engine innodb'
UNION ALL SELECT 'fence_mark unique index (id)'
UNION ALL SELECT 'grant_history column ended_at bigint not null'
UNION ALL SELECT 'grant_history column ending smallint not null'
UNION ALL SELECT 'grant_history column held_for bigint'
UNION ALL SELECT 'grant_history column kind smallint not null'
UNION ALL SELECT 'grant_history column lock_key varbinary(255) not null'
UNION ALL SELECT 'grant_history column metadata varbinary(4000)'
UNION ALL SELECT 'grant_history column mode smallint not null'
UNION ALL SELECT 'grant_history column node_info varbinary(255) not null'
UNION ALL SELECT 'grant_history column permits bigint not null'
UNION ALL SELECT 'grant_history column token bigint not null'
UNION ALL SELECT 'grant_history engine innodb'
UNION ALL SELECT 'grant_history index (ended_at)'
UNION ALL SELECT 'grant_history unique index (lock_key, token)'
UNION ALL SELECT 'grant_history_rule column id tinyint not null'
UNION ALL SELECT 'grant_history_rule column is_on smallint not null'
UNION ALL SELECT 'grant_history_rule column keep bigint not null'
UNION ALL SELECT 'grant_history_rule engine innodb'
UNION ALL SELECT 'grant_history_rule unique index (id)'
UNION ALL SELECT 'holder column fence bigint not null'
UNION ALL SELECT 'holder column granted_at bigint not null'
UNION ALL SELECT 'holder column lock_key varbinary(255) not null'
UNION ALL SELECT 'holder column mode smallint not null'
UNION ALL SELECT 'holder column node_info varbinary(255) not null'
UNION ALL SELECT 'holder column owner binary(16) not null'
UNION ALL SELECT 'holder column permits bigint not null'
UNION ALL SELECT 'holder column proofs bigint not null'
UNION ALL SELECT 'holder column session_id binary(16) not null'
UNION ALL SELECT 'holder engine innodb'
UNION ALL SELECT 'holder unique index (lock_key, owner)'
UNION ALL SELECT 'job column attempts int not null'
UNION ALL SELECT 'job column attempts_max int'
UNION ALL SELECT 'job column claimed_at bigint'
UNION ALL SELECT 'job column due_at bigint'
UNION ALL SELECT 'job column enqueued_at bigint not null'
UNION ALL SELECT 'job column error varbinary(4000)'
UNION ALL SELECT 'job column id bigint not null auto_increment'
UNION ALL SELECT 'job column is_cancel_requested smallint not null'
UNION ALL SELECT 'job column kind varbinary(255) not null'
UNION ALL SELECT 'job column node_info varbinary(255)'
UNION ALL SELECT 'job column ordering_key varbinary(255)'
UNION ALL SELECT 'job column payload longblob not null'
UNION ALL SELECT 'job column priority smallint not null'
UNION ALL SELECT 'job column progress varbinary(4000)'
UNION ALL SELECT 'job column queue varbinary(255) not null'
UNION ALL SELECT 'job column rescues int not null'
UNION ALL SELECT 'job column rescues_max int'
UNION ALL SELECT 'job column retry_delay bigint'
UNION ALL SELECT 'job column retry_delay_max bigint'
UNION ALL SELECT 'job column session_id binary(16)'
UNION ALL SELECT 'job column state smallint not null'
UNION ALL SELECT 'job column time_limit bigint'
UNION ALL SELECT 'job column token bigint not null'
UNION ALL SELECT 'job column unique_slot varbinary(255)'
UNION ALL SELECT 'job column unique_until smallint'
UNION ALL SELECT 'job engine innodb'
UNION ALL SELECT 'job index (queue, due_at, id)'
UNION ALL SELECT 'job index (queue, ordering_key, id)'
UNION ALL SELECT 'job index (queue, state, priority, id)'
UNION ALL SELECT 'job unique index (id)'
UNION ALL SELECT 'job unique index (queue, unique_slot)'
UNION ALL SELECT 'job_bell column address varbinary(255) not null'
UNION ALL SELECT 'job_bell column bell binary(16) not null'
UNION ALL SELECT 'job_bell column queue varbinary(255) not null'
UNION ALL SELECT 'job_bell column session_id binary(16) not null'
UNION ALL SELECT 'job_bell engine innodb'
UNION ALL SELECT 'job_bell unique index (queue, bell)'
UNION ALL SELECT 'job_history column attempts int not null'
UNION ALL SELECT 'job_history column attempts_max int'
UNION ALL SELECT 'job_history column ended_at bigint not null'
UNION ALL SELECT 'job_history column enqueued_at bigint not null'
UNION ALL SELECT 'job_history column error varbinary(4000)'
UNION ALL SELECT 'job_history column id bigint not null'
UNION ALL SELECT 'job_history column kind varbinary(255) not null'
UNION ALL SELECT 'job_history column node_info varbinary(255)'
UNION ALL SELECT 'job_history column ordering_key varbinary(255)'
UNION ALL SELECT 'job_history column payload longblob not null'
UNION ALL SELECT 'job_history column priority smallint not null'
UNION ALL SELECT 'job_history column progress varbinary(4000)'
UNION ALL SELECT 'job_history column prune_at bigint not null'
UNION ALL SELECT 'job_history column queue varbinary(255) not null'
UNION ALL SELECT 'job_history column rescues int not null'
UNION ALL SELECT 'job_history column rescues_max int'
UNION ALL SELECT 'job_history column result varbinary(4000)'
UNION ALL SELECT 'job_history column retry_delay bigint'
UNION ALL SELECT 'job_history column retry_delay_max bigint'
UNION ALL SELECT 'job_history column state smallint not null'
UNION ALL SELECT 'job_history column time_limit bigint'
UNION ALL SELECT 'job_history column token bigint not null'
UNION ALL SELECT 'job_history column unique_slot varbinary(255)'
UNION ALL SELECT 'job_history column unique_until smallint'
UNION ALL SELECT 'job_history engine innodb'
UNION ALL SELECT 'job_history index (prune_at, id)'
UNION ALL SELECT 'job_history index (queue, state, id)'
UNION ALL SELECT 'job_history unique index (id)'
UNION ALL SELECT 'job_need column job_id bigint not null'
UNION ALL SELECT 'job_need column needs_id bigint not null'
UNION ALL SELECT 'job_need column wants smallint not null'
UNION ALL SELECT 'job_need engine innodb'
UNION ALL SELECT 'job_need index (needs_id, job_id)'
UNION ALL SELECT 'job_need unique index (job_id, needs_id)'
UNION ALL SELECT 'job_schedule column attempts_max int'
UNION ALL SELECT 'job_schedule column catch_up_max int not null'
UNION ALL SELECT 'job_schedule column cron varbinary(1000)'
UNION ALL SELECT 'job_schedule column is_paused smallint not null'
UNION ALL SELECT 'job_schedule column kind varbinary(255) not null'
UNION ALL SELECT 'job_schedule column last_at bigint'
UNION ALL SELECT 'job_schedule column last_job bigint'
UNION ALL SELECT 'job_schedule column late_max bigint not null'
UNION ALL SELECT 'job_schedule column misfire smallint not null'
UNION ALL SELECT 'job_schedule column name varbinary(200) not null'
UNION ALL SELECT 'job_schedule column next_at bigint not null'
UNION ALL SELECT 'job_schedule column ordering_key varbinary(255)'
UNION ALL SELECT 'job_schedule column payload longblob not null'
UNION ALL SELECT 'job_schedule column period bigint'
UNION ALL SELECT 'job_schedule column priority smallint not null'
UNION ALL SELECT 'job_schedule column queue varbinary(255) not null'
UNION ALL SELECT 'job_schedule column rescues_max int'
UNION ALL SELECT 'job_schedule column retry_delay bigint'
UNION ALL SELECT 'job_schedule column retry_delay_max bigint'
UNION ALL SELECT 'job_schedule column time_limit bigint'
UNION ALL SELECT 'job_schedule column unique_conflict smallint not null'
UNION ALL SELECT 'job_schedule column unique_key varbinary(255)'
UNION ALL SELECT 'job_schedule column unique_until smallint'
UNION ALL SELECT 'job_schedule column version bigint not null'
UNION ALL SELECT 'job_schedule column zone varbinary(255) not null'
UNION ALL SELECT 'job_schedule engine innodb'
UNION ALL SELECT 'job_schedule index (queue, is_paused, next_at)'
UNION ALL SELECT 'job_schedule unique index (name)'
UNION ALL SELECT 'lock column arrived bigint not null'
UNION ALL SELECT 'lock column capacity bigint not null'
UNION ALL SELECT 'lock column changed_at bigint not null'
UNION ALL SELECT 'lock column expires_at bigint'
UNION ALL SELECT 'lock column fence bigint not null'
UNION ALL SELECT 'lock column forced bigint not null'
UNION ALL SELECT 'lock column kind smallint not null'
UNION ALL SELECT 'lock column last_ticket bigint not null'
UNION ALL SELECT 'lock column lock_delay bigint not null'
UNION ALL SELECT 'lock column lock_key varbinary(255) not null'
UNION ALL SELECT 'lock column metadata varbinary(4000)'
UNION ALL SELECT 'lock column node_info varbinary(255) not null'
UNION ALL SELECT 'lock column owner binary(16)'
UNION ALL SELECT 'lock column proofs bigint not null'
UNION ALL SELECT 'lock column reentrant_count bigint not null'
UNION ALL SELECT 'lock column revocations bigint not null'
UNION ALL SELECT 'lock column session_id binary(16)'
UNION ALL SELECT 'lock engine innodb'
UNION ALL SELECT 'lock unique index (lock_key)'
UNION ALL SELECT 'migration column applied_at bigint not null'
UNION ALL SELECT 'migration column checksum char(64) ascii not null'
UNION ALL SELECT 'migration column finished tinyint not null'
UNION ALL SELECT 'migration column name varchar(100) ascii not null'
UNION ALL SELECT 'migration column version int not null'
UNION ALL SELECT 'migration engine innodb'
UNION ALL SELECT 'migration unique index (version)'
UNION ALL SELECT 'queue column is_paused smallint not null'
UNION ALL SELECT 'queue column keep_cancelled bigint not null'
UNION ALL SELECT 'queue column keep_completed bigint not null'
UNION ALL SELECT 'queue column keep_discarded bigint not null'
UNION ALL SELECT 'queue column name varbinary(255) not null'
UNION ALL SELECT 'queue column running_max int'
UNION ALL SELECT 'queue column running_per_key_max int not null'
UNION ALL SELECT 'queue column starts_from bigint not null'
UNION ALL SELECT 'queue column starts_max int'
UNION ALL SELECT 'queue column starts_per bigint not null'
UNION ALL SELECT 'queue column swept_at bigint not null'
UNION ALL SELECT 'queue column turn bigint not null'
UNION ALL SELECT 'queue engine innodb'
UNION ALL SELECT 'queue unique index (name)'
UNION ALL SELECT 'run column exit_status bigint'
UNION ALL SELECT 'run column finished_at bigint'
UNION ALL SELECT 'run column message varbinary(1000) not null'
UNION ALL SELECT 'run column name varbinary(255) not null'
UNION ALL SELECT 'run column node_info varbinary(255) not null'
UNION ALL SELECT 'run column opens_at bigint not null'
UNION ALL SELECT 'run column owner binary(16) not null'
UNION ALL SELECT 'run column schedule varbinary(255)'
UNION ALL SELECT 'run column started_at bigint not null'
UNION ALL SELECT 'run column state smallint not null'
UNION ALL SELECT 'run column tick bigint not null'
UNION ALL SELECT 'run column token bigint not null'
UNION ALL SELECT 'run engine innodb'
UNION ALL SELECT 'run unique index (name)'
UNION ALL SELECT 'session column expires_at bigint not null'
UNION ALL SELECT 'session column heartbeat_at bigint not null'
UNION ALL SELECT 'session column id binary(16) not null'
UNION ALL SELECT 'session column node_info varbinary(255) not null'
UNION ALL SELECT 'session column notices bigint not null'
UNION ALL SELECT 'session column started_at bigint not null'
UNION ALL SELECT 'session engine innodb'
UNION ALL SELECT 'session unique index (id)'
UNION ALL SELECT 'upkeep column passes bigint not null'
UNION ALL SELECT 'upkeep column place varbinary(300) not null'
UNION ALL SELECT 'upkeep column sweeps_to bigint not null'
UNION ALL SELECT 'upkeep column swept_to bigint not null'
UNION ALL SELECT 'upkeep column task smallint not null'
UNION ALL SELECT 'upkeep column turn bigint not null'
UNION ALL SELECT 'upkeep column turned_at bigint not null'
UNION ALL SELECT 'upkeep column unfinished bigint not null'
UNION ALL SELECT 'upkeep engine innodb'
UNION ALL SELECT 'upkeep unique index (task)'
UNION ALL SELECT 'waiter column bell varbinary(255)'
UNION ALL SELECT 'waiter column hold_at_most bigint'
UNION ALL SELECT 'waiter column lock_delay bigint not null'
UNION ALL SELECT 'waiter column lock_key varbinary(255) not null'
UNION ALL SELECT 'waiter column metadata varbinary(4000)'
UNION ALL SELECT 'waiter column mode smallint not null'
UNION ALL SELECT 'waiter column node_info varbinary(255) not null'
UNION ALL SELECT 'waiter column owner binary(16) not null'
UNION ALL SELECT 'waiter column permits bigint not null'
UNION ALL SELECT 'waiter column queued_at bigint not null'
UNION ALL SELECT 'waiter column session_id binary(16) not null'
UNION ALL SELECT 'waiter column ticket bigint not null'
UNION ALL SELECT 'waiter engine innodb'
UNION ALL SELECT 'waiter index (owner)'
UNION ALL SELECT 'waiter index (session_id)'
UNION ALL SELECT 'waiter unique index (lock_key, ticket)';
