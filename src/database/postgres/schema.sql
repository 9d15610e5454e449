-- The migrations that were applied.

-- Asks without failing: an error would end the transaction.
-- to_regclass() alone answers from a cache. Within a transaction the cache may still have a table
-- that was dropped during the wait for the lock, until a statement that reads a table brings it up
-- to date.
-- name: has_records
SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass('{prefix}migration'));

-- name: recorded
-- gives: version name checksum is_finished
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- The server's start tells servers apart: as a number, since each connection has a time zone of its
-- own. A question for our tables would abort the transaction of a user who may not see the schema.
-- name: place
SELECT concat_ws(
    ' ', current_database(), (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint
);
