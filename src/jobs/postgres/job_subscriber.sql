-- The subscribers of queues, on PostgreSQL. The rules of hold.sql; the contract:
-- src/jobs/job_subscriber_store.hpp.

-- $1 queue, $2 id, $3 session, $4 address. Reads: 1 row.
-- name: add
INSERT INTO {prefix}job_bell (queue, bell, session_id, address) VALUES ($1, $2, $3, $4)
ON CONFLICT (queue, bell) DO UPDATE SET session_id = $3, address = $4;

-- $1 queue, $2 id. Reads: 1 row.
-- name: remove
DELETE FROM {prefix}job_bell WHERE queue = $1 AND bell = $2;

-- Passes over what somebody has written by hand, and nobody can be told by.
-- fragment: is_subscriber
length(b.bell) = 16

-- $1 queue, $2 id, $3 how many: the subscribers from that one on whose sessions live. Reads: a
-- session for each, and those of the dead before them until they are pruned.
-- name: list_from
-- gives: id address
SELECT b.bell, b.address FROM {prefix}job_bell b
 WHERE b.queue = $1 AND b.bell >= $2 AND {is_subscriber}
   AND EXISTS (SELECT 1 FROM {prefix}session s
                WHERE s.id = b.session_id AND s.expires_at > clock_timestamp())
 ORDER BY b.bell LIMIT $3;

-- As `list_from` for the subscribers before that one.
-- name: list_until
-- gives: id address
SELECT b.bell, b.address FROM {prefix}job_bell b
 WHERE b.queue = $1 AND b.bell < $2 AND {is_subscriber}
   AND EXISTS (SELECT 1 FROM {prefix}session s
                WHERE s.id = b.session_id AND s.expires_at > clock_timestamp())
 ORDER BY b.bell LIMIT $3;

-- $1 queue. Subscribers whose sessions were removed. Reads: those of the queue, and a session for
-- each.
-- name: find_dead
SELECT 1 FROM {prefix}job_bell b
 WHERE b.queue = $1
   AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = b.session_id) LIMIT 1;

-- name: prune
DELETE FROM {prefix}job_bell AS b WHERE b.queue = $1
   AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = b.session_id);
