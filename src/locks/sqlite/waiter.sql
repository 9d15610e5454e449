-- SQLite: the queue of a key. A read inside a write transaction sees the whole queue.

-- The waiter that gets the key.
-- fragment: successor
-- gives: owner session term address

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term or null, $6 delay, $7 metadata or null, $8
-- address or null: in these four; $9 in `queue`: the ticket.
-- name: session_is_live
SELECT 1 FROM {prefix}session WHERE id = $3 AND expires_at > {now};

-- name: find_key
-- gives: kind is_takeable
SELECT l.kind, {takeable} FROM {prefix}lock l WHERE l.lock_key = $1;

-- name: draw_ticket
UPDATE {prefix}lock SET last_ticket = max(last_ticket + 1, {now}) WHERE lock_key = $1
RETURNING last_ticket;

-- name: queue
INSERT INTO {prefix}waiter (lock_key, ticket, owner, session_id, node_info, hold_at_most,
                            lock_delay, metadata, bell, queued_at)
VALUES ($1, $9, $2, $3, $4, $5, $6, $7, $8, {now});

-- Sent before and after `queue`. A power cut that loses a waiter's row is harmless, since a boot
-- frees all keys anyway. In WAL mode the next flushed commit flushes this one, too.
-- name: commit_unflushed
PRAGMA synchronous = NORMAL;

-- name: commit_flushed
PRAGMA synchronous = FULL;

-- $1 key, $2 owner, $3 token.
-- name: find_hold
SELECT 1 FROM {prefix}lock WHERE lock_key = $1 AND owner = $2 AND fence = $3;

-- $1 key. By primary key, in its order. It is no join: SQLite may read the whole other table for a
-- Bloom filter before a join with many rows. Steps: 30, and 20 for each waiter that is passed over.
-- name: first_live
-- gives: ticket @successor
SELECT w.ticket, w.owner, w.session_id, {term w.hold_at_most}, CAST(w.bell AS TEXT)
  FROM {prefix}waiter w
 WHERE w.lock_key = $1
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > {now}
 ORDER BY w.ticket LIMIT 1;

-- $1 key, $2 ticket. The changes of a hand-over, in this order: `grant` reads the waiter's row.
-- Then `remove_until` deletes that row, and the rows before it, whose waiters are dead.
-- name: grant
UPDATE {prefix}lock AS l
   SET fence = l.fence + 1, owner = w.owner,
       session_id = CASE WHEN w.hold_at_most IS NULL THEN w.session_id END,
       node_info = w.node_info, reentrant_count = 1, changed_at = {now},
       expires_at = {now} + {term w.hold_at_most}, lock_delay = w.lock_delay, metadata = w.metadata,
       revocations = 0,
       last_ticket = CASE WHEN EXISTS (
           SELECT 1 FROM {prefix}waiter o WHERE o.lock_key = $1 AND o.ticket > $2)
           THEN l.last_ticket ELSE 0 END
  FROM {prefix}waiter w
 WHERE l.lock_key = $1 AND w.lock_key = $1 AND w.ticket = $2
RETURNING fence;

-- name: remove_until
DELETE FROM {prefix}waiter WHERE lock_key = $1 AND ticket <= $2;

-- $1 key.
-- name: free_key
UPDATE {prefix}lock SET {free}, last_ticket = 0 WHERE lock_key = $1;

-- name: remove_all
DELETE FROM {prefix}waiter WHERE lock_key = $1;

-- $1 key, $2 ticket, $3 owner.
-- name: leave
DELETE FROM {prefix}waiter WHERE lock_key = $1 AND ticket = $2 AND owner = $3;

-- $1 key, $2 owner. Index: waiter_owner.
-- name: find_waiter
SELECT ticket FROM {prefix}waiter WHERE lock_key = $1 AND owner = $2;

-- $1 key, $2 ticket, $3 limit.
-- name: list
-- gives: ticket owner session node_info waited
SELECT CAST(w.ticket AS INTEGER), CAST(w.owner AS BLOB), CAST(w.session_id AS BLOB),
       w.node_info, CAST({now} - w.queued_at AS INTEGER)
  FROM {prefix}waiter w
 WHERE w.lock_key = $1 AND w.ticket > $2
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > {now}
 ORDER BY w.ticket LIMIT $3;

-- $1 key and $2 ticket: the listed waiters come behind these; $3 the first key after all of them,
-- $4 limit.
-- name: list_all
-- gives: @list key
SELECT CAST(w.ticket AS INTEGER), CAST(w.owner AS BLOB), CAST(w.session_id AS BLOB),
       w.node_info, CAST({now} - w.queued_at AS INTEGER), w.lock_key
  FROM {prefix}waiter w
 WHERE (w.lock_key, w.ticket) > ($1, $2) AND w.lock_key < $3
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > {now}
 ORDER BY w.lock_key, w.ticket LIMIT $4;

-- A list of waiters: key, owner, ticket.
-- name: look
-- gives: number is_holder token term_left is_waiting looks_takeable
WITH asked (number, lock_key, owner, ticket) AS ({asked})
SELECT asked.number, l.owner = asked.owner, l.fence, l.expires_at - {now},
       EXISTS (SELECT 1 FROM {prefix}waiter w
                WHERE w.lock_key = asked.lock_key AND w.ticket = asked.ticket
                  AND w.owner = asked.owner), {takeable}
  FROM asked CROSS JOIN {prefix}lock l ON l.lock_key = asked.lock_key;

-- $1 key, $2 session, $3 ticket. Asks whether this waiter waits for its own session, directly or
-- through others. It finds no session if the waiter's row has become a grant meanwhile, since its
-- own session is then the holder. Indexes: waiter_session, and the primary keys. Steps: 200, and 60
-- for each call in which one of these sessions waits.
-- name: circle
WITH RECURSIVE blocker (session_id) AS (
    SELECT s.id FROM {prefix}lock l CROSS JOIN {prefix}session s ON s.id = l.session_id
     CROSS JOIN {prefix}waiter own ON own.lock_key = l.lock_key AND own.ticket = $3
     WHERE l.lock_key = $1 AND s.expires_at > {now}
    UNION
    SELECT (SELECT s.id FROM {prefix}lock l CROSS JOIN {prefix}session s ON s.id = l.session_id
             WHERE l.lock_key = w.lock_key AND s.expires_at > {now})
      FROM blocker b CROSS JOIN {prefix}waiter w ON w.session_id = b.session_id
)
SELECT 1 FROM blocker WHERE session_id = $2;
