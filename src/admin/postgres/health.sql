-- PostgreSQL: how the server is run, and how our tables do there. Plain reads for people.

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- Reads the settings with which another program's transaction begins on a connection like ours:
-- those of the role or the database, not those that our driver has set since. The other columns say
-- how full the server is.
-- name: server
-- gives: isolation read_only commits vacuum connections connections_max standby_names standbys
-- gives: waited_for user sees_others has_patroni
SELECT (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_isolation'),
       (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only'),
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
       current_setting('autovacuum'),
       (SELECT sum(numbackends) FROM pg_stat_database)::bigint,
       current_setting('max_connections')::bigint
           - current_setting('superuser_reserved_connections')::bigint,
       current_setting('synchronous_standby_names'),
       (SELECT count(*) FROM pg_stat_replication r
         WHERE NOT EXISTS (SELECT FROM pg_replication_slots s
                            WHERE s.active_pid = r.pid AND s.slot_type = 'logical')),
       (SELECT count(*) FROM pg_stat_replication r WHERE r.sync_state IN ('sync', 'quorum')),
       current_user::text,
       pg_has_role('pg_read_all_stats', 'usage'),
       EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'Patroni');

-- The limits of this role or this database: the owner of each limit, the connections it has and may
-- have, and the statement that raises the limit. Superusers have none.
-- name: connection_limits
-- gives: whose used most remedy
SELECT 'role ' || quote_ident(r.rolname),
       (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid), r.rolconnlimit::bigint,
       'ALTER ROLE ' || quote_ident(r.rolname) || ' CONNECTION LIMIT'
  FROM pg_roles r
 WHERE r.rolname = session_user AND r.rolconnlimit >= 0 AND NOT r.rolsuper
UNION ALL
SELECT 'database ' || quote_ident(d.datname), s.numbackends::bigint, d.datconnlimit::bigint,
       'ALTER DATABASE ' || quote_ident(d.datname) || ' CONNECTION LIMIT'
  FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid
 WHERE d.datname = current_database() AND d.datconnlimit >= 0;

-- The remedies for a person: {user}, a role; {table}.
-- name: set_isolation
ALTER ROLE "{user}" SET default_transaction_isolation = 'read committed';

-- name: set_writable
ALTER ROLE "{user}" SET default_transaction_read_only = off;

-- name: set_commit
ALTER ROLE "{user}" SET synchronous_commit = on;

-- name: set_vacuum
ALTER SYSTEM SET autovacuum = on;

-- name: reset_vacuum
ALTER TABLE {table} RESET (autovacuum_enabled);

-- $1 microseconds. The oldest open transaction that keeps dead rows from being removed.
-- name: snapshot
-- gives: , pid user application host state open_for transactions
SELECT a.pid, coalesce(a.usename, '?')::text, coalesce(a.application_name, ''),
       coalesce(a.client_hostname, host(a.client_addr), ''), coalesce(a.state, ''),
       (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000000)::bigint,
       count(*) OVER ()
  FROM pg_stat_activity a
 WHERE a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
   AND a.xact_start <= clock_timestamp() - $1::bigint * interval '1 microsecond'
 ORDER BY a.xact_start
 LIMIT 1;

-- $1 microseconds.
-- name: prepared
-- gives: name owner database prepared_for
SELECT p.gid, p.owner::text, p.database::text,
       (extract(epoch FROM clock_timestamp() - p.prepared) * 1000000)::bigint
  FROM pg_prepared_xacts p
 WHERE p.prepared <= clock_timestamp() - $1::bigint * interval '1 microsecond'
 ORDER BY p.prepared
 LIMIT 1;

-- $1 bytes. Slots that nobody reads, and that keep dead rows, or at least that much of the log.
-- name: slots
-- gives: name bytes
SELECT s.slot_name::text, coalesce(pg_wal_lsn_diff(
           CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END, s.restart_lsn),
           0)::bigint
  FROM pg_replication_slots s
 WHERE NOT s.active
   AND (s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
        OR pg_wal_lsn_diff(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END,
                           s.restart_lsn) >= $1::bigint)
 ORDER BY 1;

-- name: tables
-- gives: name live dead vacuumed_ago has_no_vacuum
WITH ours AS ({ours})
SELECT ours.name, t.n_live_tup, t.n_dead_tup,
       coalesce((extract(epoch FROM clock_timestamp()
                         - greatest(t.last_vacuum, t.last_autovacuum)) * 1000000)::bigint, -1),
       coalesce(array_to_string(ours.reloptions, ',') LIKE '%autovacuum_enabled=false%', false)
  FROM ours JOIN pg_stat_all_tables t ON t.relid = ours.oid
 ORDER BY ours.name;

-- $1 table, $2 the right's name.
-- name: has_right
SELECT has_table_privilege($1, $2);

-- The third column is the sum of 1,000,000 / ttl in seconds over the live sessions. Reads: the
-- sessions once.
-- name: sessions
-- gives: live overdue beats_in_millionths
SELECT count(*) FILTER (WHERE s.expires_at > clock_timestamp()),
       count(*) FILTER (WHERE {overdue}),
       coalesce(sum(1000000 / greatest(
                    extract(epoch FROM {finite s.expires_at} - {finite s.heartbeat_at}), 0.001))
                FILTER (WHERE s.expires_at > clock_timestamp()), 0)::bigint
  FROM {prefix}session s;

-- fragment: overdue
s.expires_at > clock_timestamp()
    AND clock_timestamp() - {finite s.heartbeat_at}
        > ({finite s.expires_at} - {finite s.heartbeat_at}) / 2

-- Reads: the sessions once.
-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- Tests lock row l with session row s, which may be missing. $1 microseconds.
-- fragment: held_long
l.changed_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' AND {is_live}

-- $1 microseconds, $2 limit. Reads: the lock rows once, and as many sessions at most.
-- name: long_holds
-- gives: key node_info held_for
SELECT l.lock_key, l.node_info,
       {since l.changed_at}
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE {held_long}
 ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds. Reads: as long_holds.
-- name: count_long_holds
SELECT count(*) FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE {held_long};

-- $1 microseconds. Reads: the lock rows once, and as many sessions at most.
-- name: dead_holds
SELECT count(*) FROM (
    SELECT FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE {closed_until s.expires_at}
               <= clock_timestamp() - $1::bigint * interval '1 microsecond'
     LIMIT 1000) AS counted;

-- Tests holder h with session row s, which may be missing. $1 microseconds.
-- fragment: shared_long
h.granted_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' AND h.fence > 0
    AND (s.id IS NULL OR s.expires_at > clock_timestamp())

-- $1 microseconds, $2 limit. Keys that several hold, by the oldest of their holders. Reads: the
-- holders once, as many sessions at most, and the holders of the keys that are listed.
-- name: long_shares
-- gives: key node_info held_for
SELECT g.lock_key,
       (SELECT f.node_info FROM {prefix}holder f
         WHERE f.lock_key = g.lock_key AND f.granted_at = g.first_at LIMIT 1),
       {since g.first_at}
  FROM (
    SELECT h.lock_key, min(h.granted_at) AS first_at
      FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
     WHERE {shared_long}
     GROUP BY h.lock_key ORDER BY first_at LIMIT $2) AS g
 ORDER BY g.first_at;

-- $1 microseconds. Reads: the holders once, and as many sessions at most.
-- name: count_long_shares
SELECT count(DISTINCT h.lock_key)
  FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
 WHERE {shared_long};

-- $1 microseconds. Reads: the holders once, and as many sessions at most.
-- name: dead_shares
SELECT count(*) FROM (
    SELECT FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
     WHERE s.expires_at <= clock_timestamp() - $1::bigint * interval '1 microsecond'
     LIMIT 1000) AS counted;

-- $1 microseconds. For each queue, how long the job that would be claimed next has waited: a
-- walk from name to name along leasehold_job_order. Reads: some rows for each queue.
-- name: waiting_queues
-- gives: queue waits is_paused
WITH RECURSIVE {queues_in_order}
SELECT o.queue, n.waits, coalesce(q.is_paused, 0)
  FROM in_order o
 CROSS JOIN LATERAL (
    SELECT CASE WHEN isfinite(j.enqueued_at)
                THEN {since greatest(j.available_at, j.enqueued_at)}
                ELSE 0 END AS waits
      FROM {prefix}job j
     WHERE j.queue = o.queue AND j.state = 2 AND j.state IN (2, 3, 5)
     ORDER BY j.queue, j.state, j.priority, j.id LIMIT 1) AS n
  LEFT JOIN {prefix}queue q ON q.name = o.queue
 WHERE n.waits > $1 OR q.is_paused = 1
 ORDER BY o.queue;

-- $1 queue. Index: job_history_queue. Reads: 100 rows.
-- name: usual_time
SELECT (extract(epoch FROM avg(t.took)) * 1000000)::bigint
  FROM (SELECT h.ended_at - h.enqueued_at AS took FROM {prefix}job_history h
         WHERE h.queue = $1 AND h.state = 6
         ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT 100) AS t;

-- $1 microseconds, $2 how many. A walk from name to name along job_history_queue. Reads: some rows
-- for each queue that has a history, and as many as are counted.
-- name: discarded
-- gives: queue jobs
WITH RECURSIVE with_history AS (
    (SELECT h.queue FROM {prefix}job_history h ORDER BY h.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT h.queue FROM {prefix}job_history h
             WHERE h.queue > o.queue ORDER BY h.queue LIMIT 1)
      FROM with_history o WHERE o.queue IS NOT NULL
)
SELECT o.queue, d.discarded
  FROM with_history o
 CROSS JOIN LATERAL (
    SELECT count(*) AS discarded
      FROM (SELECT h.ended_at FROM {prefix}job_history h
             WHERE h.queue = o.queue AND h.state = 7
             ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT (SELECT $2::bigint)) AS t
     WHERE t.ended_at > clock_timestamp() - $1::bigint * interval '1 microsecond') AS d
 WHERE d.discarded > 0
 ORDER BY o.queue;

-- $1 queue, $2 microseconds, $3 how many. Index: job_history_queue. Reads: as many rows.
-- name: discarded_of
SELECT count(*)
  FROM (SELECT h.ended_at FROM {prefix}job_history h
         WHERE h.queue = $1 AND h.state = 7
         ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT (SELECT $3::bigint)) AS t
 WHERE t.ended_at > clock_timestamp() - $2::bigint * interval '1 microsecond';

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT id, node_info, expires_at > clock_timestamp(),
       {since started_at}, {since heartbeat_at}, {until expires_at}
  FROM {prefix}session WHERE id = $1;

-- $1 key. A hold that is over, but keeps the key closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT {until over.at}
  FROM (SELECT {closed_until coalesce(l.expires_at, s.expires_at)} AS at
          FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
         WHERE l.lock_key = $1 AND l.owner IS NOT NULL
           AND coalesce(l.expires_at, s.expires_at) <= clock_timestamp()) AS over
 WHERE over.at > clock_timestamp();

-- name: process
SELECT pg_backend_pid();
