-- The highest tokens of resources, on PostgreSQL. The rules of hold.sql.

-- $1 resource, $2 token. Waits for a writer of the row. At READ COMMITTED the condition is then
-- tested on the newest version; at a higher isolation level the wait ends with 40001. The row stays
-- locked until the caller's transaction ends, also where it is refused: that transaction rolls back
-- anyway. Reads: 1 row, as the other.
-- name: admit
INSERT INTO {prefix}fence_guard AS g (resource, fence) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE g.fence <= excluded.fence
RETURNING fence;

-- $1 resource.
-- name: highest
SELECT fence FROM {prefix}fence_guard WHERE resource = $1;
