-- PostgreSQL: the keys of any kind that nobody holds. A plain read of one snapshot.

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 limit, which
-- the planner does not know: see job.sql. It takes a CASE for true in half of the rows.
-- The columns are name, fence, last holder, number of waiters, kind, and for how long the key has
-- been free. A dead session counts as a holder until it died. Reads: 2 rows for each key that is
-- passed over or listed, the queues, and the holders of keys that several can hold.
-- name: list
-- gives: key token node_info waiters kind free_for
SELECT l.lock_key, l.fence, l.node_info, {waiters}, l.kind,
       {since coalesce(l.expires_at, s.expires_at, l.changed_at)}
  FROM {prefix}lock l
  LEFT JOIN LATERAL (
    SELECT u.id, u.expires_at FROM {prefix}session u WHERE u.id = l.session_id LIMIT 1) AS s ON true
 WHERE l.lock_key >= $1 AND l.lock_key < $2
   AND CASE WHEN NOT ({is_live}) THEN (l.kind = 1 OR (l.arrived = 0 AND (
       SELECT true
         FROM (SELECT u.fence, (SELECT us.expires_at FROM {prefix}session us
                                 WHERE us.id = u.session_id) AS until
                 FROM {prefix}holder u WHERE u.lock_key = l.lock_key ORDER BY u.owner {all}) AS h
        WHERE h.fence > 0 AND coalesce(h.until > clock_timestamp(), true) LIMIT 1) IS NULL)) END
 ORDER BY l.lock_key
 LIMIT (SELECT $3::bigint);
