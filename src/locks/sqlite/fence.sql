-- SQLite: the highest tokens of resources.

-- $1 resource, $2 token. Each of the two reads 1 row, by primary key.
-- name: admit
INSERT INTO {prefix}fence_guard AS g (resource, fence) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE g.fence <= excluded.fence
RETURNING fence;

-- $1 resource.
-- name: highest
SELECT fence FROM {prefix}fence_guard WHERE resource = $1;
