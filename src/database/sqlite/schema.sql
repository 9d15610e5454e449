-- The migrations that were applied.

-- name: has_records
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{prefix}migration';

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- SQLite has resolved the path.
-- name: place
SELECT file FROM pragma_database_list WHERE name = 'main';
