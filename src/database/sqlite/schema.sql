-- The migrations that were applied.

-- name: has_records
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{prefix}migration';

-- name: recorded
-- gives: version name checksum is_finished
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- The first database is the main one, whatever the program calls it.
-- name: place
SELECT file FROM pragma_database_list WHERE seq = 0;
