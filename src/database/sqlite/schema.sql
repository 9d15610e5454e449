-- The migrations that were applied.

-- name: has_records
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{prefix}migration';

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;
