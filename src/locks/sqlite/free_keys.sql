-- SQLite: the keys of any kind that nobody holds. A plain read of one snapshot.

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit. The
-- columns are name, fence, last holder, number of waiters, kind, and for how long the key has been
-- free. A dead session counts as a holder until it died. For a hold of another boot no time is
-- known.
-- name: list
-- gives: key token node_info waiters kind free_for
SELECT lock_key, CAST(fence AS INTEGER), node_info, waiters, CAST(kind AS INTEGER),
       CAST(free_for AS INTEGER) FROM (
    SELECT l.lock_key, l.fence, l.node_info, {waiters} AS waiters, l.kind, l.arrived,
           {live_hold} AND {of_this_boot} AS is_held,
           CASE WHEN {of_this_boot} THEN {now} - coalesce(
               l.expires_at,
               (SELECT s.expires_at FROM {prefix}session s WHERE s.id = l.session_id),
               l.changed_at) END AS free_for
      FROM {prefix}lock l
     WHERE l.lock_key >= $1 AND l.lock_key < $2 ORDER BY l.lock_key) AS l
 WHERE NOT is_held AND (kind = 1 OR (arrived = 0 AND NOT EXISTS (
     SELECT 1 FROM {prefix}holder h
      WHERE h.lock_key = l.lock_key AND h.fence > 0 AND {of_this_boot} AND NOT EXISTS (
          SELECT 1 FROM {prefix}session s WHERE s.id = h.session_id AND s.expires_at <= {now}))))
 LIMIT $3;
