-- MySQL and MariaDB: the keys of any kind that nobody holds. A plain read of one snapshot.

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit. The
-- columns are name, fence, last holder, number of waiters, kind, and for how long the key has been
-- free. A dead session counts as a holder until it died. Reads: 2 rows for each key that is passed
-- over or listed, the queues, and the holders of keys that several can hold.
-- name: list
-- gives: key token node_info waiters kind free_for
SELECT l.lock_key, l.fence, l.node_info, {waiters}, l.kind,
       {since COALESCE(l.expires_at, s.expires_at, l.changed_at)}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key >= $1 AND l.lock_key < $2 AND NOT (l.owner IS NOT NULL AND {unexpired})
  AND (l.kind = 1 OR (l.arrived = 0 AND NOT EXISTS (
      SELECT 1 FROM {prefix}holder h LEFT JOIN {prefix}session hs ON hs.id = h.session_id
      WHERE h.lock_key = l.lock_key AND h.fence > 0
        AND (hs.expires_at IS NULL OR hs.expires_at > {now}))))
ORDER BY l.lock_key LIMIT $3;
