-- The migrations that were applied.

-- Asks without failing: an error would end the transaction.
-- to_regclass() alone answers from a cache. Within a transaction the cache may still have a table
-- that was dropped during the wait for the lock, until a statement that reads a table brings it up
-- to date.
-- name: has_records
SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass('{prefix}migration'));

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;
