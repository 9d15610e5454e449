-- SQLite: how the file is kept, and how our tables do there. Plain reads for people. SQLite keeps
-- the order of a CROSS JOIN. It would begin a plain JOIN at a table in which ANALYZE has seen one
-- row, and read the whole other table for each row of that one.

-- name: clock
SELECT {wall};

-- name: journal
PRAGMA journal_mode;

-- name: file
SELECT file FROM pragma_database_list WHERE name = 'main';

-- Tells whether the file has tables of others. Reads: the file's schema, at most once.
-- name: other_tables
SELECT 1 FROM sqlite_schema
 WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
   AND substr(name, 1, length('{prefix}')) <> '{prefix}' LIMIT 1;

-- The third column is the sum of 1,000,000 / ttl in seconds over the live sessions. Reads: the
-- sessions once.
-- name: sessions
-- gives: live overdue beats_in_millionths
SELECT coalesce(sum(s.expires_at > {now}), 0), coalesce(sum({overdue}), 0),
       coalesce(sum(CASE WHEN s.expires_at > {now}
                         THEN 1000000000000 / max(s.expires_at - s.heartbeat_at, 1000) END), 0)
  FROM {prefix}session s
 WHERE {of_this_boot};

-- fragment: overdue
s.expires_at > {now} AND {now} - s.heartbeat_at > (s.expires_at - s.heartbeat_at) / 2

-- Reads: the sessions once.
-- name: overdue
SELECT coalesce((SELECT s.node_info FROM {prefix}session s WHERE {overdue} AND {of_this_boot}
                  ORDER BY s.heartbeat_at LIMIT 1), '');

-- Tests lock row l. $1 microseconds.
-- fragment: held_long
l.changed_at <= {now} - $1 AND {live_hold} AND {of_this_boot}

-- $1 microseconds, $2 limit. Reads: the lock rows once, and the session of each that is held for so
-- long.
-- name: long_holds
-- gives: key node_info held_for
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
    SELECT 1 FROM {prefix}lock l CROSS JOIN {prefix}session s ON s.id = l.session_id
     WHERE {closed_until s.expires_at} <= {now} - $1 AND {of_this_boot} LIMIT 1000);

-- Tests holder h. $1 microseconds.
-- fragment: shared_long
h.granted_at <= {now} - $1 AND h.fence > 0 AND {of_this_boot} AND NOT EXISTS (
    SELECT 1 FROM {prefix}session s WHERE s.id = h.session_id AND s.expires_at <= {now})

-- $1 microseconds, $2 limit. Keys that several hold, by their oldest holder. Reads: the holders
-- once, the session of each that is held for so long, and the holders of the keys that are listed.
-- name: long_shares
-- gives: key node_info held_for
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
    SELECT 1 FROM {prefix}holder h CROSS JOIN {prefix}session s ON s.id = h.session_id
     WHERE s.expires_at <= {now} - $1 AND {of_this_boot} LIMIT 1000);

-- $1 microseconds. For each queue, how long the job that would be claimed next has been there: a
-- walk from name to name along job_order. Reads: some rows for each queue.
-- name: waiting_queues
-- gives: queue waits is_paused
WITH RECURSIVE in_order (queue) AS (
    SELECT min(j.queue) FROM {prefix}job j
    UNION ALL
    SELECT (SELECT min(j.queue) FROM {prefix}job j WHERE j.queue > o.queue)
      FROM in_order o WHERE o.queue IS NOT NULL
)
SELECT w.queue, w.waits, w.is_paused
  FROM (
    SELECT o.queue, coalesce(q.is_paused, 0) AS is_paused,
           (SELECT CAST({wall} - max(coalesce(j.available_at, 0), j.enqueued_at) AS INTEGER)
              FROM {prefix}job j
             WHERE j.queue = o.queue AND j.state = 2
             ORDER BY j.priority, j.id LIMIT 1) AS waits
      FROM in_order o LEFT JOIN {prefix}queue q ON q.name = o.queue
     WHERE o.queue IS NOT NULL) AS w
 WHERE w.waits IS NOT NULL AND (w.is_paused = 1 OR w.waits > $1)
 ORDER BY w.queue;

-- $1 queue. Index: job_history_queue. Reads: 100 rows.
-- name: usual_time
SELECT CAST(avg(t.took) AS INTEGER)
  FROM (SELECT h.ended_at - h.enqueued_at AS took FROM {prefix}job_history h
         WHERE h.queue = $1 AND h.state = 6
         ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT 100) AS t;

-- $1 microseconds, $2 how many. A walk from name to name along job_history_queue. Reads: some rows
-- for each queue that has a history, and as many as are counted.
-- name: discarded
-- gives: queue jobs
WITH RECURSIVE with_history (queue) AS (
    SELECT min(h.queue) FROM {prefix}job_history h
    UNION ALL
    SELECT (SELECT min(h.queue) FROM {prefix}job_history h WHERE h.queue > o.queue)
      FROM with_history o WHERE o.queue IS NOT NULL
)
SELECT CAST(d.queue AS TEXT), d.discarded
  FROM (
    SELECT o.queue,
           (SELECT count(*)
              FROM (SELECT h.ended_at FROM {prefix}job_history h
                     WHERE h.queue = o.queue AND h.state = 7
                     ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT $2) AS t
             WHERE t.ended_at > {wall} - $1) AS discarded
      FROM with_history o WHERE o.queue IS NOT NULL) AS d
 WHERE d.discarded > 0
 ORDER BY d.queue;

-- $1 queue, $2 microseconds, $3 how many. Index: job_history_queue. Reads: as many rows.
-- name: discarded_of
SELECT count(*)
  FROM (SELECT h.ended_at FROM {prefix}job_history h
         WHERE h.queue = $1 AND h.state = 7
         ORDER BY h.queue DESC, h.state DESC, h.id DESC LIMIT $3) AS t
 WHERE t.ended_at > {wall} - $2;

-- $1 id. The columns of `list` in session.sql. Reads: 1 row.
-- name: session
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
  FROM {prefix}session WHERE id = $1 AND {of_this_boot};

-- $1 key. A hold that is over, but keeps the key closed for its lock_delay. Reads: 2 rows.
-- name: closed
SELECT {closed_until coalesce(l.expires_at, s.expires_at)} - {now}
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {of_this_boot}
   AND coalesce(l.expires_at, s.expires_at) <= {now}
   AND {closed_until coalesce(l.expires_at, s.expires_at)} > {now};
