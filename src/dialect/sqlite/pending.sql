-- SQLite: grants that stand or fall with a transaction of the caller's.

-- A write that changes no row: the write lock is taken before anything is read, and with it every
-- later read is of the newest version.
-- name: enter
DELETE FROM {prefix}lock WHERE 0;

-- $1 key, $2 owner, $3 token, $4 the other owner. Reads: 1 row, by primary key.
-- name: move
UPDATE {prefix}lock SET owner = $4 WHERE lock_key = $1 AND owner = $2 AND fence = $3;
