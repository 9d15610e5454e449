-- The highest tokens of resources, on MySQL and MariaDB. The rules of these statements: hold.sql.

-- $1 resource, $2 token.
-- Two statements, because the count of affected rows of the first does not tell a token that was
-- too low from one that is the highest already. The first takes X on the row and waits for its
-- writer; the locking read of the second is of the newest version at every isolation level. Each
-- reads 1 row, as does `highest`.
-- name: raise
INSERT INTO {prefix}fence_guard (resource, fence) VALUES ($1, $2)
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, $2);

-- name: raise on cluster
INSERT INTO {prefix}fence_guard (resource, fence) VALUES ($1, $2)
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, $2), proofs = proofs + 1;

-- name: admit
SELECT fence FROM {prefix}fence_guard WHERE resource = $1 AND fence = $2 FOR UPDATE;

-- $1 resource.
-- name: highest
SELECT fence FROM {prefix}fence_guard WHERE resource = $1;
