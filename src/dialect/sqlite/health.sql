-- SQLite: how the file is kept, and how our tables do there. Plain reads for people.

-- name: clock
SELECT {wall};

-- name: journal
PRAGMA journal_mode;

-- name: file
SELECT file FROM pragma_database_list WHERE name = 'main';

-- $1 the prefix. A line for each column, index and table.
-- name: shape
WITH ours AS (
    SELECT m.name AS full_name, substr(m.name, length($1) + 1) AS name, m.sql
      FROM sqlite_schema m
     WHERE m.type = 'table' AND substr(m.name, 1, length($1)) = $1
)
SELECT ours.name || ' column ' || c.name || ' ' || lower(c.type)
           || CASE WHEN c."notnull" THEN ' not null' ELSE '' END
           || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END
           || CASE WHEN c.dflt_value IS NOT NULL THEN ' default' ELSE '' END
  FROM ours, pragma_table_info(ours.full_name) c
UNION ALL
SELECT ours.name || CASE WHEN i."unique" THEN ' unique index (' ELSE ' index (' END
           || (SELECT group_concat(coalesce(x.name, 'an expression'), ', ')
                 FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) x) || ')'
           || CASE WHEN i.partial THEN ' partial' ELSE '' END
  FROM ours, pragma_index_list(ours.full_name) i
UNION ALL
SELECT ours.name || ' without rowid' FROM ours WHERE ours.sql LIKE '%WITHOUT ROWID%';

-- The third: heartbeats a second, a third of a million of each. Reads: the sessions once.
-- name: sessions
SELECT coalesce(sum(s.expires_at > {now}), 0), coalesce(sum({overdue}), 0),
       coalesce(sum(CASE WHEN s.expires_at > {now}
                         THEN 1000000000000 / max(s.expires_at - s.heartbeat_at, 1000) END), 0)
  FROM {prefix}session s
 WHERE {of_this_boot};

-- word: overdue
s.expires_at > {now} AND {now} - s.heartbeat_at > (s.expires_at - s.heartbeat_at) / 2

-- Reads: the sessions once.
-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue} AND {of_this_boot}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- Of a lock row l. $1 microseconds.
-- word: held_long
l.changed_at <= {now} - $1 AND {live_hold} AND {of_this_boot}

-- $1 microseconds, $2 how many. Reads: the lock rows once, and the session of each that is held for
-- so long.
-- name: long_holds
SELECT l.lock_key, l.node_info, {now} - l.changed_at
  FROM {prefix}lock l
 WHERE {held_long}
 ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds. Reads: as long_holds.
-- name: count_long_holds
SELECT count(*) FROM {prefix}lock l WHERE {held_long};

-- $1 microseconds. Reads: the lock rows once, and the session of each that has one.
-- name: dead_holds
SELECT count(*) FROM (
    SELECT 1 FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE s.expires_at + l.lock_delay <= {now} - $1 AND {of_this_boot} LIMIT 1000);

-- Of a holder h. $1 microseconds.
-- word: shared_long
h.granted_at <= {now} - $1 AND h.fence > 0 AND {of_this_boot} AND NOT EXISTS (
    SELECT 1 FROM {prefix}session s WHERE s.id = h.session_id AND s.expires_at <= {now})

-- $1 microseconds, $2 how many. Keys that several hold, by the oldest of them. Reads: the holders
-- once, the session of each that is held for so long, and the holders of the keys that are listed.
-- name: long_shares
SELECT g.lock_key,
       (SELECT f.node_info FROM {prefix}holder f
         WHERE f.lock_key = g.lock_key AND f.granted_at = g.first_at LIMIT 1),
       {now} - g.first_at
  FROM (
    SELECT h.lock_key, min(h.granted_at) AS first_at
      FROM {prefix}holder h
     WHERE {shared_long}
     GROUP BY h.lock_key ORDER BY first_at LIMIT $2) AS g
 ORDER BY g.first_at;

-- $1 microseconds. Reads: the holders once, and the session of each that is held for so long.
-- name: count_long_shares
SELECT count(DISTINCT h.lock_key) FROM {prefix}holder h WHERE {shared_long};

-- $1 microseconds. Reads: the holders once, and the session of each.
-- name: dead_shares
SELECT count(*) FROM (
    SELECT 1 FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
     WHERE s.expires_at <= {now} - $1 AND {of_this_boot} LIMIT 1000);

-- $1 microseconds. Of each queue since when the job that would be claimed next is there: a walk
-- from name to name along job_order. Reads: some rows for each queue.
-- name: waiting_queues
WITH RECURSIVE in_order (queue) AS (
    SELECT min(j.queue) FROM {prefix}job j
    UNION ALL
    SELECT (SELECT min(j.queue) FROM {prefix}job j WHERE j.queue > o.queue)
      FROM in_order o WHERE o.queue IS NOT NULL
)
SELECT w.queue, w.waits, w.is_paused
  FROM (
    SELECT o.queue, coalesce(q.is_paused, 0) AS is_paused,
           (SELECT {wall} - j.enqueued_at FROM {prefix}job j
             WHERE j.queue = o.queue AND j.state = 2
             ORDER BY j.priority, j.id LIMIT 1) AS waits
      FROM in_order o LEFT JOIN {prefix}queue q ON q.name = o.queue
     WHERE o.queue IS NOT NULL) AS w
 WHERE w.waits IS NOT NULL AND (w.is_paused = 1 OR w.waits > $1)
 ORDER BY w.queue;

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
  FROM {prefix}session WHERE id = $1 AND {of_this_boot};

-- $1 key. What is over, and is kept closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT coalesce(l.expires_at, s.expires_at) + l.lock_delay - {now}
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {of_this_boot}
   AND coalesce(l.expires_at, s.expires_at) <= {now}
   AND coalesce(l.expires_at, s.expires_at) + l.lock_delay > {now};

-- What `shape` answers where the tables are as the migrations make them. A test of tests/upkeep
-- compares.
-- name: known_shape
SELECT 'fence_guard column fence integer not null'
UNION ALL SELECT 'fence_guard column proofs integer not null default'
UNION ALL SELECT 'fence_guard column resource blob not null key 1'
UNION ALL SELECT 'fence_guard unique index (resource)'
UNION ALL SELECT 'fence_guard without rowid'
UNION ALL SELECT 'fence_mark column boot_id text not null'
UNION ALL SELECT 'fence_mark column fence integer not null'
UNION ALL SELECT 'fence_mark column id integer not null key 1'
UNION ALL SELECT 'grant_history column ended_at integer not null'
UNION ALL SELECT 'grant_history column ending integer not null'
UNION ALL SELECT 'grant_history column held_for integer'
UNION ALL SELECT 'grant_history column kind integer not null'
UNION ALL SELECT 'grant_history column lock_key blob not null key 1'
UNION ALL SELECT 'grant_history column metadata text'
UNION ALL SELECT 'grant_history column mode integer not null'
UNION ALL SELECT 'grant_history column node_info text not null'
UNION ALL SELECT 'grant_history column permits integer not null'
UNION ALL SELECT 'grant_history column token integer not null key 2'
UNION ALL SELECT 'grant_history index (ended_at)'
UNION ALL SELECT 'grant_history unique index (lock_key, token)'
UNION ALL SELECT 'grant_history without rowid'
UNION ALL SELECT 'grant_history_rule column boot_id text not null default'
UNION ALL SELECT 'grant_history_rule column clock_offset integer not null default'
UNION ALL SELECT 'grant_history_rule column id integer not null key 1'
UNION ALL SELECT 'grant_history_rule column is_on integer not null default'
UNION ALL SELECT 'grant_history_rule column keep integer not null default'
UNION ALL SELECT 'holder column fence integer not null'
UNION ALL SELECT 'holder column granted_at integer not null'
UNION ALL SELECT 'holder column lock_key blob not null key 1'
UNION ALL SELECT 'holder column mode integer not null'
UNION ALL SELECT 'holder column node_info text not null'
UNION ALL SELECT 'holder column owner blob not null key 2'
UNION ALL SELECT 'holder column permits integer not null'
UNION ALL SELECT 'holder column proofs integer not null default'
UNION ALL SELECT 'holder column session_id blob not null'
UNION ALL SELECT 'holder unique index (lock_key, owner)'
UNION ALL SELECT 'holder without rowid'
UNION ALL SELECT 'job column attempts integer not null default'
UNION ALL SELECT 'job column attempts_max integer'
UNION ALL SELECT 'job column claimed_at integer'
UNION ALL SELECT 'job column due_at integer default'
UNION ALL SELECT 'job column enqueued_at integer not null default'
UNION ALL SELECT 'job column error text'
UNION ALL SELECT 'job column id integer not null key 1'
UNION ALL SELECT 'job column is_cancel_requested integer not null default'
UNION ALL SELECT 'job column kind text not null default'
UNION ALL SELECT 'job column node_info text'
UNION ALL SELECT 'job column ordering_key text'
UNION ALL SELECT 'job column payload text not null default'
UNION ALL SELECT 'job column priority integer not null default'
UNION ALL SELECT 'job column progress text'
UNION ALL SELECT 'job column queue text not null'
UNION ALL SELECT 'job column rescues integer not null default'
UNION ALL SELECT 'job column rescues_max integer'
UNION ALL SELECT 'job column retry_delay integer'
UNION ALL SELECT 'job column retry_delay_max integer'
UNION ALL SELECT 'job column session_id blob'
UNION ALL SELECT 'job column state integer not null default'
UNION ALL SELECT 'job column time_limit integer'
UNION ALL SELECT 'job column token integer not null default'
UNION ALL SELECT 'job column unique_slot text'
UNION ALL SELECT 'job column unique_until integer'
UNION ALL SELECT 'job index (queue, due_at, id) partial'
UNION ALL SELECT 'job index (queue, ordering_key, id) partial'
UNION ALL SELECT 'job index (queue, state, priority, id)'
UNION ALL SELECT 'job unique index (queue, unique_slot) partial'
UNION ALL SELECT 'job_bell column address text not null'
UNION ALL SELECT 'job_bell column bell blob not null key 2'
UNION ALL SELECT 'job_bell column queue text not null key 1'
UNION ALL SELECT 'job_bell column session_id blob not null'
UNION ALL SELECT 'job_bell unique index (queue, bell)'
UNION ALL SELECT 'job_bell without rowid'
UNION ALL SELECT 'job_history column attempts integer not null'
UNION ALL SELECT 'job_history column attempts_max integer'
UNION ALL SELECT 'job_history column ended_at integer not null'
UNION ALL SELECT 'job_history column enqueued_at integer not null'
UNION ALL SELECT 'job_history column error text'
UNION ALL SELECT 'job_history column id integer not null key 1'
UNION ALL SELECT 'job_history column kind text not null'
UNION ALL SELECT 'job_history column node_info text'
UNION ALL SELECT 'job_history column ordering_key text'
UNION ALL SELECT 'job_history column payload text not null'
UNION ALL SELECT 'job_history column priority integer not null'
UNION ALL SELECT 'job_history column progress text'
UNION ALL SELECT 'job_history column prune_at integer not null'
UNION ALL SELECT 'job_history column queue text not null'
UNION ALL SELECT 'job_history column rescues integer not null'
UNION ALL SELECT 'job_history column rescues_max integer'
UNION ALL SELECT 'job_history column result text'
UNION ALL SELECT 'job_history column retry_delay integer'
UNION ALL SELECT 'job_history column retry_delay_max integer'
UNION ALL SELECT 'job_history column state integer not null'
UNION ALL SELECT 'job_history column time_limit integer'
UNION ALL SELECT 'job_history column token integer not null'
UNION ALL SELECT 'job_history column unique_slot text'
UNION ALL SELECT 'job_history column unique_until integer'
UNION ALL SELECT 'job_history index (prune_at, id)'
UNION ALL SELECT 'job_history index (queue, state, id)'
UNION ALL SELECT 'job_need column job_id integer not null key 1'
UNION ALL SELECT 'job_need column needs_id integer not null key 2'
UNION ALL SELECT 'job_need column wants integer not null default'
UNION ALL SELECT 'job_need index (needs_id, job_id)'
UNION ALL SELECT 'job_need unique index (job_id, needs_id)'
UNION ALL SELECT 'job_need without rowid'
UNION ALL SELECT 'job_schedule column attempts_max integer'
UNION ALL SELECT 'job_schedule column catch_up_max integer not null default'
UNION ALL SELECT 'job_schedule column cron text'
UNION ALL SELECT 'job_schedule column is_paused integer not null default'
UNION ALL SELECT 'job_schedule column kind text not null default'
UNION ALL SELECT 'job_schedule column last_at integer'
UNION ALL SELECT 'job_schedule column last_job integer'
UNION ALL SELECT 'job_schedule column late_max integer not null default'
UNION ALL SELECT 'job_schedule column misfire integer not null default'
UNION ALL SELECT 'job_schedule column name text not null key 1'
UNION ALL SELECT 'job_schedule column next_at integer not null'
UNION ALL SELECT 'job_schedule column ordering_key text'
UNION ALL SELECT 'job_schedule column payload text not null default'
UNION ALL SELECT 'job_schedule column period integer'
UNION ALL SELECT 'job_schedule column priority integer not null default'
UNION ALL SELECT 'job_schedule column queue text not null'
UNION ALL SELECT 'job_schedule column rescues_max integer'
UNION ALL SELECT 'job_schedule column retry_delay integer'
UNION ALL SELECT 'job_schedule column retry_delay_max integer'
UNION ALL SELECT 'job_schedule column time_limit integer'
UNION ALL SELECT 'job_schedule column unique_conflict integer not null default'
UNION ALL SELECT 'job_schedule column unique_key text'
UNION ALL SELECT 'job_schedule column unique_until integer'
UNION ALL SELECT 'job_schedule column version integer not null'
UNION ALL SELECT 'job_schedule column zone text not null default'
UNION ALL SELECT 'job_schedule index (queue, is_paused, next_at)'
UNION ALL SELECT 'job_schedule unique index (name)'
UNION ALL SELECT 'job_schedule without rowid'
UNION ALL SELECT 'lock column arrived integer not null default'
UNION ALL SELECT 'lock column capacity integer not null default'
UNION ALL SELECT 'lock column changed_at integer not null'
UNION ALL SELECT 'lock column expires_at integer'
UNION ALL SELECT 'lock column fence integer not null'
UNION ALL SELECT 'lock column forced integer not null default'
UNION ALL SELECT 'lock column kind integer not null default'
UNION ALL SELECT 'lock column last_ticket integer not null default'
UNION ALL SELECT 'lock column lock_delay integer not null default'
UNION ALL SELECT 'lock column lock_key blob not null key 1'
UNION ALL SELECT 'lock column metadata text'
UNION ALL SELECT 'lock column node_info text not null'
UNION ALL SELECT 'lock column owner blob'
UNION ALL SELECT 'lock column proofs integer not null default'
UNION ALL SELECT 'lock column reentrant_count integer not null'
UNION ALL SELECT 'lock column revocations integer not null default'
UNION ALL SELECT 'lock column session_id blob'
UNION ALL SELECT 'lock unique index (lock_key)'
UNION ALL SELECT 'lock without rowid'
UNION ALL SELECT 'migration column applied_at text not null default'
UNION ALL SELECT 'migration column checksum text not null'
UNION ALL SELECT 'migration column finished integer not null'
UNION ALL SELECT 'migration column name text not null'
UNION ALL SELECT 'migration column version integer not null key 1'
UNION ALL SELECT 'queue column is_paused integer not null default'
UNION ALL SELECT 'queue column keep_cancelled integer not null default'
UNION ALL SELECT 'queue column keep_completed integer not null default'
UNION ALL SELECT 'queue column keep_discarded integer not null default'
UNION ALL SELECT 'queue column name text not null key 1'
UNION ALL SELECT 'queue column running_max integer'
UNION ALL SELECT 'queue column running_per_key_max integer not null default'
UNION ALL SELECT 'queue column starts_from integer not null default'
UNION ALL SELECT 'queue column starts_max integer'
UNION ALL SELECT 'queue column starts_per integer not null default'
UNION ALL SELECT 'queue column swept_at integer not null default'
UNION ALL SELECT 'queue column turn integer not null default'
UNION ALL SELECT 'queue unique index (name)'
UNION ALL SELECT 'queue without rowid'
UNION ALL SELECT 'run column exit_status integer'
UNION ALL SELECT 'run column finished_at integer'
UNION ALL SELECT 'run column message text not null'
UNION ALL SELECT 'run column name blob not null key 1'
UNION ALL SELECT 'run column node_info text not null'
UNION ALL SELECT 'run column opens_at integer not null'
UNION ALL SELECT 'run column owner blob not null'
UNION ALL SELECT 'run column schedule text'
UNION ALL SELECT 'run column started_at integer not null'
UNION ALL SELECT 'run column state integer not null'
UNION ALL SELECT 'run column tick integer not null'
UNION ALL SELECT 'run column token integer not null'
UNION ALL SELECT 'run unique index (name)'
UNION ALL SELECT 'run without rowid'
UNION ALL SELECT 'session column expires_at integer not null'
UNION ALL SELECT 'session column heartbeat_at integer not null'
UNION ALL SELECT 'session column id blob not null key 1'
UNION ALL SELECT 'session column node_info text not null'
UNION ALL SELECT 'session column notices integer not null'
UNION ALL SELECT 'session column started_at integer not null'
UNION ALL SELECT 'session unique index (id)'
UNION ALL SELECT 'session without rowid'
UNION ALL SELECT 'upkeep column passes integer not null'
UNION ALL SELECT 'upkeep column place blob not null'
UNION ALL SELECT 'upkeep column sweeps_to integer not null'
UNION ALL SELECT 'upkeep column swept_to integer not null'
UNION ALL SELECT 'upkeep column task integer not null key 1'
UNION ALL SELECT 'upkeep column turn integer not null'
UNION ALL SELECT 'upkeep column turned_at integer not null'
UNION ALL SELECT 'upkeep column unfinished integer not null'
UNION ALL SELECT 'upkeep unique index (task)'
UNION ALL SELECT 'upkeep without rowid'
UNION ALL SELECT 'waiter column bell text'
UNION ALL SELECT 'waiter column hold_at_most integer'
UNION ALL SELECT 'waiter column lock_delay integer not null default'
UNION ALL SELECT 'waiter column lock_key blob not null key 1'
UNION ALL SELECT 'waiter column metadata text'
UNION ALL SELECT 'waiter column mode integer not null default'
UNION ALL SELECT 'waiter column node_info text not null'
UNION ALL SELECT 'waiter column owner blob not null'
UNION ALL SELECT 'waiter column permits integer not null default'
UNION ALL SELECT 'waiter column queued_at integer not null'
UNION ALL SELECT 'waiter column session_id blob not null'
UNION ALL SELECT 'waiter column ticket integer not null key 2'
UNION ALL SELECT 'waiter index (owner)'
UNION ALL SELECT 'waiter index (session_id)'
UNION ALL SELECT 'waiter unique index (lock_key, ticket)'
UNION ALL SELECT 'waiter without rowid';
