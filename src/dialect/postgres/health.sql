-- PostgreSQL: how the server is run, and how our tables do there. Plain reads for people.

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- What a transaction of somebody else begins with, on a connection like ours: a role's or a
-- database's setting, not what our driver has set since. And how full the server is.
-- name: server
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
       current_user::text;

-- $1 microseconds. The oldest open transaction that keeps what is dead from being removed.
-- name: snapshot
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
SELECT p.gid, p.owner::text, p.database::text,
       (extract(epoch FROM clock_timestamp() - p.prepared) * 1000000)::bigint
  FROM pg_prepared_xacts p
 WHERE p.prepared <= clock_timestamp() - $1::bigint * interval '1 microsecond'
 ORDER BY p.prepared
 LIMIT 1;

-- Slots that nobody reads, and that keep rows or log: log of more than 1 GiB.
-- name: slots
SELECT s.slot_name::text, coalesce(pg_wal_lsn_diff(
           CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END, s.restart_lsn),
           0)::bigint
  FROM pg_replication_slots s
 WHERE NOT s.active
   AND (s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
        OR pg_wal_lsn_diff(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END,
                           s.restart_lsn) > 1024 * 1024 * 1024)
 ORDER BY 1;

-- Of the schema that our table of records stands in: $1 the prefix.
-- word: ours
SELECT c.oid, c.reloptions, substr(c.relname::text, length(lower($1::text)) + 1) AS name
  FROM pg_class c
 WHERE c.relkind IN ('r', 'p') AND left(c.relname::text, length($1::text)) = lower($1::text)
   AND c.relnamespace = (SELECT m.relnamespace FROM pg_class m
                          WHERE m.oid = to_regclass('{prefix}migration'))

-- name: tables
WITH ours AS ({ours})
SELECT ours.name, t.n_live_tup, t.n_dead_tup,
       coalesce((extract(epoch FROM clock_timestamp()
                         - greatest(t.last_vacuum, t.last_autovacuum)) * 1000000)::bigint, -1),
       coalesce(array_to_string(ours.reloptions, ',') LIKE '%autovacuum_enabled=false%', false)
  FROM ours JOIN pg_stat_all_tables t ON t.relid = ours.oid
 ORDER BY ours.name;

-- A line for each column, index and check. Not the text of defaults and checks: servers spell it in
-- different ways. Nor storage options, which are for administrators to set.
-- name: shape
WITH ours AS ({ours})
SELECT ours.name || ' column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
           || CASE WHEN l.collname = 'C' THEN ' collate C' ELSE '' END
           || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
           || CASE WHEN a.atthasdef THEN ' default' ELSE '' END
           || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
  FROM ours JOIN pg_attribute a ON a.attrelid = ours.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
UNION ALL
SELECT ours.name || CASE WHEN i.indisunique THEN ' unique index (' ELSE ' index (' END
           || (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k)
                 FROM generate_series(1, i.indnkeyatts) AS k) || ')'
           || CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
           || CASE WHEN i.indisvalid THEN '' ELSE ' invalid' END
  FROM ours JOIN pg_index i ON i.indrelid = ours.oid
UNION ALL
SELECT ours.name || ' check ' || replace(k.conname::text, lower($1::text), '')
           || CASE WHEN k.convalidated THEN '' ELSE ' not valid' END
  FROM ours JOIN pg_constraint k ON k.conrelid = ours.oid AND k.contype = 'c';

-- $1 table, $2 the right's name.
-- name: has_right
SELECT has_table_privilege($1, $2);

-- The third: heartbeats a second, a third of a million of each.
-- name: sessions
SELECT count(*) FILTER (WHERE s.expires_at > clock_timestamp()),
       count(*) FILTER (WHERE {overdue}),
       coalesce(sum(1000000 / greatest(extract(epoch FROM s.expires_at - s.heartbeat_at), 0.001))
                FILTER (WHERE s.expires_at > clock_timestamp()), 0)::bigint
  FROM {prefix}session s;

-- word: overdue
s.expires_at > clock_timestamp()
    AND clock_timestamp() - s.heartbeat_at > (s.expires_at - s.heartbeat_at) / 2

-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- $1 microseconds, $2 how many. One pass over the lock rows.
-- name: long_holds
SELECT l.lock_key, l.node_info,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint, count(*) OVER ()
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.changed_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' AND {is_live}
 ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds.
-- name: dead_holds
SELECT count(*) FROM (
    SELECT FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE s.expires_at + l.lock_delay * interval '1 microsecond'
               <= clock_timestamp() - $1::bigint * interval '1 microsecond'
     LIMIT 1000) AS counted;

-- $1 queue. Reads: 1 row, by leasehold_job_order.
-- name: next_job
SELECT (extract(epoch FROM clock_timestamp() - j.enqueued_at) * 1000000)::bigint
  FROM {prefix}job j
 WHERE j.queue = $1 AND j.state = 2 AND j.state IN (2, 3, 5)
 ORDER BY j.queue, j.state, j.priority, j.id LIMIT 1;

-- $1 id. The columns of `list` in session.sql.
-- name: session
SELECT id, node_info, expires_at > clock_timestamp(),
       (extract(epoch FROM clock_timestamp() - started_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000000)::bigint,
       (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
  FROM {prefix}session WHERE id = $1;

-- $1 key. What is over, and is kept closed for its lock_delay.
-- name: closed
SELECT (extract(epoch FROM over.at - clock_timestamp()) * 1000000)::bigint
  FROM (SELECT coalesce(l.expires_at, s.expires_at) + l.lock_delay * interval '1 microsecond' AS at
          FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
         WHERE l.lock_key = $1 AND l.owner IS NOT NULL
           AND coalesce(l.expires_at, s.expires_at) <= clock_timestamp()) AS over
 WHERE over.at > clock_timestamp();

-- name: process
SELECT pg_backend_pid();
