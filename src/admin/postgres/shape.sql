-- PostgreSQL: the shape of our tables, as they are and as the migrations make them.

-- Answers a line for each column, index and check. It leaves out the text of defaults and checks,
-- which servers spell in different ways, and storage options, which are for administrators to set.
-- Names come without the quotes that quote_all_identifiers would put around each.
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
  FROM ours JOIN pg_constraint k ON k.conrelid = ours.oid AND k.contype = 'c'
UNION ALL
SELECT 'enqueue function ('
           || replace(replace(oidvectortypes(p.proargtypes), '"', ''),
                      'timestamp with time zone', 'timestamptz') || ')'
  FROM pg_proc p
 WHERE p.proname = lower($1::text) || 'enqueue'
   AND p.pronamespace = (SELECT m.relnamespace FROM pg_class m
                          WHERE m.oid = to_regclass('{prefix}migration'));

-- $1 the prefix. The tables that have policies, and whether those are for this user.
-- name: hidden_rows
WITH ours AS ({ours})
SELECT ours.name, row_security_active(ours.oid)::int, current_user::text
  FROM ours WHERE ours.relrowsecurity
 ORDER BY ours.name;

-- name: show_rows
ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;

-- The indexes that are no primary keys, each by the statement that makes it.
-- name: known_indexes
CREATE INDEX {bare}waiter_session ON {prefix}waiter (session_id);
CREATE INDEX {bare}waiter_owner ON {prefix}waiter (owner);
CREATE INDEX {bare}job_order ON {prefix}job (queue, state, priority, id)
    WHERE state IN (2, 3, 5);
CREATE INDEX {bare}job_due ON {prefix}job (queue, due_at, id)
    WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX {bare}job_unique ON {prefix}job (queue, unique_slot)
    WHERE unique_slot IS NOT NULL;
CREATE INDEX {bare}job_ordering ON {prefix}job (queue, ordering_key, id)
    WHERE ordering_key IS NOT NULL;
CREATE INDEX {bare}job_kind ON {prefix}job (queue, kind, priority, id)
    WHERE state = 2;
CREATE INDEX {bare}job_history_prune ON {prefix}job_history (prune_at, id);
CREATE INDEX {bare}job_history_queue ON {prefix}job_history (queue, state, id);
CREATE INDEX {bare}job_schedule_next ON {prefix}job_schedule (queue, is_paused, next_at);
CREATE INDEX {bare}job_need_needs ON {prefix}job_need (needs_id, job_id);
CREATE INDEX {bare}grant_history_ended ON {prefix}grant_history (ended_at);

-- The answer of `shape` where the tables are as the migrations make them. A test of tests/upkeep
-- compares.
-- name: known_shape
SELECT 'enqueue function (text, text, text, timestamptz, text, text, integer, integer)'
UNION ALL SELECT 'fence_guard check fence_guard_fence_positive'
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
UNION ALL SELECT 'job check job_enqueued_at_is_finite'
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
UNION ALL SELECT 'job index (queue, kind, priority, id) partial'
UNION ALL SELECT 'job index (queue, ordering_key, id) partial'
UNION ALL SELECT 'job index (queue, state, priority, id) partial'
UNION ALL SELECT 'job unique index (id)'
UNION ALL SELECT 'job unique index (queue, unique_slot) partial'
UNION ALL SELECT 'job_bell column address text not null'
UNION ALL SELECT 'job_bell column bell bytea not null'
UNION ALL SELECT 'job_bell column queue text collate C not null'
UNION ALL SELECT 'job_bell column session_id bytea not null'
UNION ALL SELECT 'job_bell unique index (queue, bell)'
UNION ALL SELECT 'job_history check job_history_times_are_finite'
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
UNION ALL SELECT 'job_schedule check job_schedule_numbers_in_range'
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
UNION ALL SELECT 'queue check queue_limits_in_range'
UNION ALL SELECT 'queue check queue_name_size'
UNION ALL SELECT 'queue check queue_times_are_finite'
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
