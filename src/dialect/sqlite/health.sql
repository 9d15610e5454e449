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

-- The third: heartbeats a second, a third of a million of each.
-- name: sessions
SELECT coalesce(sum(s.expires_at > {now}), 0), coalesce(sum({overdue}), 0),
       coalesce(sum(CASE WHEN s.expires_at > {now}
                         THEN 1000000000000 / max(s.expires_at - s.heartbeat_at, 1000) END), 0)
  FROM {prefix}session s
 WHERE {of_this_boot};

-- word: overdue
s.expires_at > {now} AND {now} - s.heartbeat_at > (s.expires_at - s.heartbeat_at) / 2

-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue} AND {of_this_boot}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- $1 microseconds, $2 how many. One pass over the lock rows.
-- name: long_holds
SELECT l.lock_key, l.node_info, {now} - l.changed_at, count(*) OVER ()
  FROM {prefix}lock l
 WHERE l.changed_at <= {now} - $1 AND {live_hold} AND {of_this_boot}
 ORDER BY l.changed_at LIMIT $2;

-- $1 microseconds.
-- name: dead_holds
SELECT count(*) FROM (
    SELECT 1 FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE s.expires_at + l.lock_delay <= {now} - $1 AND {of_this_boot} LIMIT 1000);

-- $1 queue. Reads: 1 row, by the index in the order of claims.
-- name: next_job
SELECT {wall} - j.enqueued_at
  FROM {prefix}job j
 WHERE j.queue = $1 AND j.state = 2
 ORDER BY j.priority, j.id LIMIT 1;

-- $1 id. The columns of `list` in session.sql.
-- name: session
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
  FROM {prefix}session WHERE id = $1 AND {of_this_boot};

-- $1 key. What is over, and is kept closed for its lock_delay.
-- name: closed
SELECT coalesce(l.expires_at, s.expires_at) + l.lock_delay - {now}
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {of_this_boot}
   AND coalesce(l.expires_at, s.expires_at) <= {now}
   AND coalesce(l.expires_at, s.expires_at) + l.lock_delay > {now};
