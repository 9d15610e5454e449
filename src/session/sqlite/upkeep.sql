-- The clean-up. A look is made without the write lock: a clean-up that finds nothing must
-- not make writers wait.

-- name: progress
-- gives: task turn since_turn unfinished place passes
SELECT task, turn, CAST({now} - turned_at AS INTEGER), unfinished,
       CAST(place AS BLOB), passes FROM {prefix}upkeep;

-- $1 task, $2 turn, $3 every. When a pass begins the turn's owner has not looked at any row behind
-- the place yet.
-- name: begin_turn
UPDATE {prefix}upkeep
   SET turn = turn + 1, turned_at = {now}, unfinished = unfinished + 1,
       sweeps_to = CASE WHEN place = x'' THEN {now} ELSE sweeps_to END
 WHERE task = $1 AND turn = $2 AND (turned_at <= {now} - $3 OR turned_at > {now});

-- $1 task, $2 turn, $3 the place, $4 the oldest end of the rows left. An empty place ends the pass.
-- name: advance
UPDATE {prefix}upkeep
   SET place = $3, unfinished = max(unfinished - 1, 0), passes = passes + ($3 = x''),
       swept_to = CASE WHEN $3 = x'' THEN min(sweeps_to, $4) ELSE swept_to END,
       sweeps_to = CASE WHEN $3 = x'' THEN {now} ELSE min(sweeps_to, $4) END
 WHERE task = $1 AND turn = $2;

-- Looks: $1 and $2 the place, $3 rows, $4 retention. They read the rows behind the place in the
-- order of the primary key, and for each at most one session by its own. Each answers with the key
-- in two columns, whether there is something to clear, whether somebody may wait for it, and the
-- end of its session.
-- name: look_at_locks
-- gives: place rest is_found is_awaited ends_at
SELECT w.lock_key, NULL,
       CASE WHEN w.owner IS NULL THEN w.is_queued
            ELSE coalesce(w.ends_at + {term w.lock_delay} <= {now}, 1) END,
       w.is_queued,
       CASE WHEN w.session_id IS NOT NULL AND typeof(w.ends_at) = 'integer' THEN w.ends_at END
  FROM (SELECT l.lock_key, l.owner, l.session_id, l.lock_delay,
               l.last_ticket <> 0 AND l.kind = 1 AS is_queued,
               coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s
                                        WHERE s.id = l.session_id)) AS ends_at
          FROM {prefix}lock l WHERE l.lock_key > $1 ORDER BY l.lock_key LIMIT $3) w;

-- Holders and waiters: {table}, and {rest}, the second column of its key. Passes over a row whose
-- key somebody has written by hand, and that is no place in the table.
-- name: look_at_dead
-- gives: place rest is_found is_awaited ends_at
SELECT w.lock_key, w.{rest}, coalesce(w.ends_at <= {now}, 1), 0,
       CASE WHEN typeof(w.ends_at) = 'integer' THEN w.ends_at END
  FROM (SELECT h.lock_key, h.{rest},
               (SELECT s.expires_at FROM {prefix}session s WHERE s.id = h.session_id) AS ends_at
          FROM {prefix}{table} h
         WHERE (h.lock_key, h.{rest}) > ($1, $2)
           AND CASE '{rest}' WHEN 'ticket' THEN typeof(h.{rest}) = 'integer'
                    ELSE typeof(h.{rest}) = 'blob' AND length(h.{rest}) = 16 END
         ORDER BY h.lock_key, h.{rest} LIMIT $3) w;

-- Tasks 1 to 3 look at rows that refer to sessions.
-- name: look_at_sessions
-- gives: place rest is_found is_awaited ends_at
SELECT s.id, NULL, s.expires_at + $4
           <= min({now}, (SELECT CASE WHEN count(*) = 3 THEN min(u.swept_to) END
                         FROM {prefix}upkeep u WHERE u.task IN (1, 2, 3))),
       0, NULL
  FROM {prefix}session s WHERE s.id > $1 ORDER BY s.id LIMIT $3;

-- A row whose fence somebody has set near the end of its type stays: the mark takes no such number.
-- fragment: is_idle
l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at + $4 <= {now} AND l.fence < 1 << 62
    AND NOT EXISTS (SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key)

-- name: look_at_idle
-- gives: place rest is_found is_awaited ends_at
SELECT l.lock_key, NULL, {is_idle}, 0, NULL
  FROM {prefix}lock l WHERE l.lock_key > $1 ORDER BY l.lock_key LIMIT $3;

-- Clears: one row each. $1, $2 and $4 as above.
--
-- Frees a hold of a session proved dead, a hold past its fixed term, and a hold of a session
-- without a row. That row existed when the hold was granted, so somebody has removed it since.
-- name: free_lock
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = {now}
 WHERE lock_key = $1 AND owner IS NOT NULL
   AND coalesce(coalesce(expires_at, (SELECT s.expires_at FROM {prefix}session s
                                       WHERE s.id = session_id)) + {term lock_delay} <= {now}, 1)
RETURNING CAST(fence AS INTEGER);

-- name: remove_dead
DELETE FROM {prefix}{table}
 WHERE lock_key = $1 AND {rest} = $2
   AND coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = session_id) <= {now}, 1)
RETURNING 0;

-- name: remove_session
DELETE FROM {prefix}session WHERE id = $1 AND expires_at + $4 <= {now} RETURNING 0;

-- name: remove_idle
DELETE FROM {prefix}lock AS l WHERE l.lock_key = $1 AND {is_idle} RETURNING CAST(fence AS INTEGER);

-- $1 the highest fence that was removed.
-- name: raise_mark
UPDATE {prefix}fence_mark SET fence = max(fence, $1) WHERE id = 1;

-- Says whether `prune_history` or `note_clock` has anything to do. Reads: 2 rows.
-- name: look_at_history
SELECT 1
  FROM {prefix}grant_history_rule r
 WHERE r.id = 1
   AND ((r.is_on = 1 AND (r.boot_id <> {boot}
                          OR abs({wall} - {now} - r.clock_offset) > 10000))
        OR EXISTS (SELECT 1 FROM {prefix}grant_history h WHERE h.ended_at < {wall} - r.keep));

-- name: note_clock
UPDATE {prefix}grant_history_rule SET clock_offset = {wall} - {now}, boot_id = {boot} WHERE id = 1;

-- $1 how many. Index: grant_history_ended. Reads: 2 rows for each.
-- name: prune_history
DELETE FROM {prefix}grant_history WHERE (lock_key, token) IN (
    SELECT h.lock_key, h.token FROM {prefix}grant_history h
     WHERE h.ended_at < (SELECT {wall} - r.keep FROM {prefix}grant_history_rule r WHERE r.id = 1)
     ORDER BY h.ended_at LIMIT $1);
