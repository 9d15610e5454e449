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
       current_user::text,
       pg_has_role('pg_read_all_stats', 'usage');

-- Where this role or this database has a limit of its own: whose, how many it has, how many it may,
-- and what raises that. Superusers have none.
-- name: connection_limits
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

-- What a person may do about it: {user}, a role; {table}.
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

-- $1 bytes. Slots that nobody reads, and that keep rows, or as much of the log.
-- name: slots
SELECT s.slot_name::text, coalesce(pg_wal_lsn_diff(
           CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END, s.restart_lsn),
           0)::bigint
  FROM pg_replication_slots s
 WHERE NOT s.active
   AND (s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
        OR pg_wal_lsn_diff(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END,
                           s.restart_lsn) >= $1::bigint)
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
-- different ways. Nor storage options, which are for administrators to set. Names come without
-- quotes, which quote_all_identifiers would put around each.
-- name: shape
WITH ours AS ({ours})
SELECT ours.name || ' column ' || a.attname || ' '
           || replace(format_type(a.atttypid, a.atttypmod), '"', '')
           || CASE WHEN l.collname = 'C' THEN ' collate C' ELSE '' END
           || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
           || CASE WHEN a.atthasdef THEN ' default' ELSE '' END
           || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
  FROM ours JOIN pg_attribute a ON a.attrelid = ours.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
UNION ALL
SELECT ours.name || CASE WHEN i.indisunique THEN ' unique index (' ELSE ' index (' END
           || (SELECT string_agg(replace(pg_get_indexdef(i.indexrelid, k, true), '"', ''), ', '
                                 ORDER BY k)
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

-- The third: heartbeats a second, a third of a million of each. Reads: the sessions once.
-- name: sessions
SELECT count(*) FILTER (WHERE s.expires_at > clock_timestamp()),
       count(*) FILTER (WHERE {overdue}),
       coalesce(sum(1000000 / greatest(extract(epoch FROM s.expires_at - s.heartbeat_at), 0.001))
                FILTER (WHERE s.expires_at > clock_timestamp()), 0)::bigint
  FROM {prefix}session s;

-- word: overdue
s.expires_at > clock_timestamp()
    AND clock_timestamp() - s.heartbeat_at > (s.expires_at - s.heartbeat_at) / 2

-- Reads: the sessions once.
-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- Of a lock row l with the session row s joined to it, if there. $1 microseconds.
-- word: held_long
l.changed_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' AND {is_live}

-- $1 microseconds, $2 how many. Reads: the lock rows once, and as many sessions at most.
-- name: long_holds
SELECT l.lock_key, l.node_info,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint
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
     WHERE s.expires_at + l.lock_delay * interval '1 microsecond'
               <= clock_timestamp() - $1::bigint * interval '1 microsecond'
     LIMIT 1000) AS counted;

-- Of a holder h with the session row s joined to it, if there. $1 microseconds.
-- word: shared_long
h.granted_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' AND h.fence > 0
    AND (s.id IS NULL OR s.expires_at > clock_timestamp())

-- $1 microseconds, $2 how many. Keys that several hold, by the oldest of them. Reads: the holders
-- once, as many sessions at most, and the holders of the keys that are listed.
-- name: long_shares
SELECT g.lock_key,
       (SELECT f.node_info FROM {prefix}holder f
         WHERE f.lock_key = g.lock_key AND f.granted_at = g.first_at LIMIT 1),
       (extract(epoch FROM clock_timestamp() - g.first_at) * 1000000)::bigint
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

-- $1 microseconds. Of each queue since when the job that would be claimed next is there: a walk
-- from name to name along leasehold_job_order. Reads: some rows for each queue.
-- name: waiting_queues
WITH RECURSIVE {queues_in_order}
SELECT o.queue, n.waits, coalesce(q.is_paused, 0)
  FROM in_order o
 CROSS JOIN LATERAL (
    SELECT (extract(epoch FROM clock_timestamp() - j.enqueued_at) * 1000000)::bigint AS waits
      FROM {prefix}job j
     WHERE j.queue = o.queue AND j.state = 2 AND j.state IN (2, 3, 5)
     ORDER BY j.queue, j.state, j.priority, j.id LIMIT 1) AS n
  LEFT JOIN {prefix}queue q ON q.name = o.queue
 WHERE n.waits > $1 OR q.is_paused = 1
 ORDER BY o.queue;

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
SELECT id, node_info, expires_at > clock_timestamp(),
       (extract(epoch FROM clock_timestamp() - started_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000000)::bigint,
       (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
  FROM {prefix}session WHERE id = $1;

-- $1 key. What is over, and is kept closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT (extract(epoch FROM over.at - clock_timestamp()) * 1000000)::bigint
  FROM (SELECT coalesce(l.expires_at, s.expires_at) + l.lock_delay * interval '1 microsecond' AS at
          FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
         WHERE l.lock_key = $1 AND l.owner IS NOT NULL
           AND coalesce(l.expires_at, s.expires_at) <= clock_timestamp()) AS over
 WHERE over.at > clock_timestamp();

-- name: process
SELECT pg_backend_pid();

-- What `shape` answers where the tables are as the migrations make them. A test of tests/upkeep
-- compares.
-- name: known_shape
SELECT 'fence_guard check fence_guard_fence_positive'
UNION ALL SELECT 'fence_guard check fence_guard_resource_size'
UNION ALL SELECT 'fence_guard column fence bigint not null'
UNION ALL SELECT 'fence_guard column proofs bigint not null default'
UNION ALL SELECT 'fence_guard column resource bytea not null'
UNION ALL SELECT 'fence_guard unique index (resource)'
UNION ALL SELECT 'fence_mark check fence_mark_single'
UNION ALL SELECT 'fence_mark column fence bigint not null'
UNION ALL SELECT 'fence_mark column id smallint not null'
UNION ALL SELECT 'fence_mark unique index (id)'
UNION ALL SELECT 'grant_history column ended_at timestamp with time zone not null'
UNION ALL SELECT 'grant_history column ending smallint not null'
UNION ALL SELECT 'grant_history column held_for bigint'
UNION ALL SELECT 'grant_history column kind smallint not null'
UNION ALL SELECT 'grant_history column lock_key bytea not null'
UNION ALL SELECT 'grant_history column metadata text'
UNION ALL SELECT 'grant_history column mode smallint not null'
UNION ALL SELECT 'grant_history column node_info text not null'
UNION ALL SELECT 'grant_history column permits bigint not null'
UNION ALL SELECT 'grant_history column token bigint not null'
UNION ALL SELECT 'grant_history index (ended_at)'
UNION ALL SELECT 'grant_history unique index (lock_key, token)'
UNION ALL SELECT 'grant_history_rule check grant_history_rule_single'
UNION ALL SELECT 'grant_history_rule column id smallint not null'
UNION ALL SELECT 'grant_history_rule column is_on smallint not null default'
UNION ALL SELECT 'grant_history_rule column keep bigint not null default'
UNION ALL SELECT 'grant_history_rule unique index (id)'
UNION ALL SELECT 'holder check holder_not_negative'
UNION ALL SELECT 'holder column fence bigint not null'
UNION ALL SELECT 'holder column granted_at timestamp with time zone not null'
UNION ALL SELECT 'holder column lock_key bytea not null'
UNION ALL SELECT 'holder column mode smallint not null'
UNION ALL SELECT 'holder column node_info text not null'
UNION ALL SELECT 'holder column owner bytea not null'
UNION ALL SELECT 'holder column permits bigint not null'
UNION ALL SELECT 'holder column proofs bigint not null default'
UNION ALL SELECT 'holder column session_id bytea not null'
UNION ALL SELECT 'holder unique index (lock_key, owner)'
UNION ALL SELECT 'job check job_due_at_is_finite'
UNION ALL SELECT 'job check job_names_size'
UNION ALL SELECT 'job check job_runs_or_waits'
UNION ALL SELECT 'job column attempts integer not null default'
UNION ALL SELECT 'job column attempts_max integer'
UNION ALL SELECT 'job column claimed_at timestamp with time zone'
UNION ALL SELECT 'job column due_at timestamp with time zone default'
UNION ALL SELECT 'job column enqueued_at timestamp with time zone not null default'
UNION ALL SELECT 'job column error text'
UNION ALL SELECT 'job column id bigint not null identity'
UNION ALL SELECT 'job column is_cancel_requested smallint not null default'
UNION ALL SELECT 'job column kind text collate C not null default'
UNION ALL SELECT 'job column node_info text'
UNION ALL SELECT 'job column ordering_key text collate C'
UNION ALL SELECT 'job column payload text not null default'
UNION ALL SELECT 'job column priority smallint not null default'
UNION ALL SELECT 'job column progress text'
UNION ALL SELECT 'job column queue text collate C not null'
UNION ALL SELECT 'job column rescues integer not null default'
UNION ALL SELECT 'job column rescues_max integer'
UNION ALL SELECT 'job column retry_delay bigint'
UNION ALL SELECT 'job column retry_delay_max bigint'
UNION ALL SELECT 'job column session_id bytea'
UNION ALL SELECT 'job column state smallint not null default'
UNION ALL SELECT 'job column time_limit bigint'
UNION ALL SELECT 'job column token bigint not null default'
UNION ALL SELECT 'job column unique_slot text collate C'
UNION ALL SELECT 'job column unique_until smallint'
UNION ALL SELECT 'job index (queue, due_at, id) partial'
UNION ALL SELECT 'job index (queue, ordering_key, id) partial'
UNION ALL SELECT 'job index (queue, state, priority, id) partial'
UNION ALL SELECT 'job unique index (id)'
UNION ALL SELECT 'job unique index (queue, unique_slot) partial'
UNION ALL SELECT 'job_bell column address text not null'
UNION ALL SELECT 'job_bell column bell bytea not null'
UNION ALL SELECT 'job_bell column queue text collate C not null'
UNION ALL SELECT 'job_bell column session_id bytea not null'
UNION ALL SELECT 'job_bell unique index (queue, bell)'
UNION ALL SELECT 'job_history column attempts integer not null'
UNION ALL SELECT 'job_history column attempts_max integer'
UNION ALL SELECT 'job_history column ended_at timestamp with time zone not null'
UNION ALL SELECT 'job_history column enqueued_at timestamp with time zone not null'
UNION ALL SELECT 'job_history column error text'
UNION ALL SELECT 'job_history column id bigint not null'
UNION ALL SELECT 'job_history column kind text collate C not null'
UNION ALL SELECT 'job_history column node_info text'
UNION ALL SELECT 'job_history column ordering_key text collate C'
UNION ALL SELECT 'job_history column payload text not null'
UNION ALL SELECT 'job_history column priority smallint not null'
UNION ALL SELECT 'job_history column progress text'
UNION ALL SELECT 'job_history column prune_at timestamp with time zone not null'
UNION ALL SELECT 'job_history column queue text collate C not null'
UNION ALL SELECT 'job_history column rescues integer not null'
UNION ALL SELECT 'job_history column rescues_max integer'
UNION ALL SELECT 'job_history column result text'
UNION ALL SELECT 'job_history column retry_delay bigint'
UNION ALL SELECT 'job_history column retry_delay_max bigint'
UNION ALL SELECT 'job_history column state smallint not null'
UNION ALL SELECT 'job_history column time_limit bigint'
UNION ALL SELECT 'job_history column token bigint not null'
UNION ALL SELECT 'job_history column unique_slot text collate C'
UNION ALL SELECT 'job_history column unique_until smallint'
UNION ALL SELECT 'job_history index (prune_at, id)'
UNION ALL SELECT 'job_history index (queue, state, id)'
UNION ALL SELECT 'job_history unique index (id)'
UNION ALL SELECT 'job_need column job_id bigint not null'
UNION ALL SELECT 'job_need column needs_id bigint not null'
UNION ALL SELECT 'job_need column wants smallint not null default'
UNION ALL SELECT 'job_need index (needs_id, job_id)'
UNION ALL SELECT 'job_need unique index (job_id, needs_id)'
UNION ALL SELECT 'job_schedule check job_schedule_name_size'
UNION ALL SELECT 'job_schedule check job_schedule_times'
UNION ALL SELECT 'job_schedule column attempts_max integer'
UNION ALL SELECT 'job_schedule column catch_up_max integer not null default'
UNION ALL SELECT 'job_schedule column cron text'
UNION ALL SELECT 'job_schedule column is_paused smallint not null default'
UNION ALL SELECT 'job_schedule column kind text collate C not null default'
UNION ALL SELECT 'job_schedule column last_at bigint'
UNION ALL SELECT 'job_schedule column last_job bigint'
UNION ALL SELECT 'job_schedule column late_max bigint not null default'
UNION ALL SELECT 'job_schedule column misfire smallint not null default'
UNION ALL SELECT 'job_schedule column name text collate C not null'
UNION ALL SELECT 'job_schedule column next_at bigint not null'
UNION ALL SELECT 'job_schedule column ordering_key text collate C'
UNION ALL SELECT 'job_schedule column payload text not null default'
UNION ALL SELECT 'job_schedule column period bigint'
UNION ALL SELECT 'job_schedule column priority smallint not null default'
UNION ALL SELECT 'job_schedule column queue text collate C not null'
UNION ALL SELECT 'job_schedule column rescues_max integer'
UNION ALL SELECT 'job_schedule column retry_delay bigint'
UNION ALL SELECT 'job_schedule column retry_delay_max bigint'
UNION ALL SELECT 'job_schedule column time_limit bigint'
UNION ALL SELECT 'job_schedule column unique_conflict smallint not null default'
UNION ALL SELECT 'job_schedule column unique_key text collate C'
UNION ALL SELECT 'job_schedule column unique_until smallint'
UNION ALL SELECT 'job_schedule column version bigint not null'
UNION ALL SELECT 'job_schedule column zone text not null default'
UNION ALL SELECT 'job_schedule index (queue, is_paused, next_at)'
UNION ALL SELECT 'job_schedule unique index (name)'
UNION ALL SELECT 'lock check lock_fence_positive'
UNION ALL SELECT 'lock check lock_free_or_held'
UNION ALL SELECT 'lock check lock_key_size'
UNION ALL SELECT 'lock column arrived bigint not null default'
UNION ALL SELECT 'lock column capacity bigint not null default'
UNION ALL SELECT 'lock column changed_at timestamp with time zone not null'
UNION ALL SELECT 'lock column expires_at timestamp with time zone'
UNION ALL SELECT 'lock column fence bigint not null'
UNION ALL SELECT 'lock column forced bigint not null default'
UNION ALL SELECT 'lock column kind smallint not null default'
UNION ALL SELECT 'lock column last_ticket bigint not null default'
UNION ALL SELECT 'lock column lock_delay bigint not null default'
UNION ALL SELECT 'lock column lock_key bytea not null'
UNION ALL SELECT 'lock column metadata text'
UNION ALL SELECT 'lock column node_info text not null'
UNION ALL SELECT 'lock column owner bytea'
UNION ALL SELECT 'lock column proofs bigint not null default'
UNION ALL SELECT 'lock column reentrant_count bigint not null'
UNION ALL SELECT 'lock column revocations bigint not null default'
UNION ALL SELECT 'lock column session_id bytea'
UNION ALL SELECT 'lock unique index (lock_key)'
UNION ALL SELECT 'migration column applied_at timestamp with time zone not null default'
UNION ALL SELECT 'migration column checksum text not null'
UNION ALL SELECT 'migration column finished boolean not null'
UNION ALL SELECT 'migration column name text not null'
UNION ALL SELECT 'migration column version integer not null'
UNION ALL SELECT 'migration unique index (version)'
UNION ALL SELECT 'queue check queue_name_size'
UNION ALL SELECT 'queue column is_paused smallint not null default'
UNION ALL SELECT 'queue column keep_cancelled bigint not null default'
UNION ALL SELECT 'queue column keep_completed bigint not null default'
UNION ALL SELECT 'queue column keep_discarded bigint not null default'
UNION ALL SELECT 'queue column name text collate C not null'
UNION ALL SELECT 'queue column running_max integer'
UNION ALL SELECT 'queue column running_per_key_max integer not null default'
UNION ALL SELECT 'queue column starts_from timestamp with time zone not null default'
UNION ALL SELECT 'queue column starts_max integer'
UNION ALL SELECT 'queue column starts_per bigint not null default'
UNION ALL SELECT 'queue column swept_at timestamp with time zone not null default'
UNION ALL SELECT 'queue column turn bigint not null default'
UNION ALL SELECT 'queue unique index (name)'
UNION ALL SELECT 'run check run_name_size'
UNION ALL SELECT 'run check run_started_or_finished'
UNION ALL SELECT 'run check run_token_positive'
UNION ALL SELECT 'run column exit_status bigint'
UNION ALL SELECT 'run column finished_at timestamp with time zone'
UNION ALL SELECT 'run column message text not null'
UNION ALL SELECT 'run column name bytea not null'
UNION ALL SELECT 'run column node_info text not null'
UNION ALL SELECT 'run column opens_at timestamp with time zone not null'
UNION ALL SELECT 'run column owner bytea not null'
UNION ALL SELECT 'run column schedule text'
UNION ALL SELECT 'run column started_at timestamp with time zone not null'
UNION ALL SELECT 'run column state smallint not null'
UNION ALL SELECT 'run column tick bigint not null'
UNION ALL SELECT 'run column token bigint not null'
UNION ALL SELECT 'run unique index (name)'
UNION ALL SELECT 'session check session_id_size'
UNION ALL SELECT 'session column expires_at timestamp with time zone not null'
UNION ALL SELECT 'session column heartbeat_at timestamp with time zone not null'
UNION ALL SELECT 'session column id bytea not null'
UNION ALL SELECT 'session column node_info text not null'
UNION ALL SELECT 'session column notices bigint not null'
UNION ALL SELECT 'session column started_at timestamp with time zone not null'
UNION ALL SELECT 'session unique index (id)'
UNION ALL SELECT 'upkeep column passes bigint not null'
UNION ALL SELECT 'upkeep column place bytea not null'
UNION ALL SELECT 'upkeep column sweeps_to timestamp with time zone not null'
UNION ALL SELECT 'upkeep column swept_to timestamp with time zone not null'
UNION ALL SELECT 'upkeep column task smallint not null'
UNION ALL SELECT 'upkeep column turn bigint not null'
UNION ALL SELECT 'upkeep column turned_at timestamp with time zone not null'
UNION ALL SELECT 'upkeep column unfinished bigint not null'
UNION ALL SELECT 'upkeep unique index (task)'
UNION ALL SELECT 'waiter check waiter_owner_size'
UNION ALL SELECT 'waiter column bell text'
UNION ALL SELECT 'waiter column hold_at_most bigint'
UNION ALL SELECT 'waiter column lock_delay bigint not null default'
UNION ALL SELECT 'waiter column lock_key bytea not null'
UNION ALL SELECT 'waiter column metadata text'
UNION ALL SELECT 'waiter column mode smallint not null default'
UNION ALL SELECT 'waiter column node_info text not null'
UNION ALL SELECT 'waiter column owner bytea not null'
UNION ALL SELECT 'waiter column permits bigint not null default'
UNION ALL SELECT 'waiter column queued_at timestamp with time zone not null'
UNION ALL SELECT 'waiter column session_id bytea not null'
UNION ALL SELECT 'waiter column ticket bigint not null'
UNION ALL SELECT 'waiter index (owner)'
UNION ALL SELECT 'waiter index (session_id)'
UNION ALL SELECT 'waiter unique index (lock_key, ticket)';
