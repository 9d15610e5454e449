-- The migrations that were applied.

-- name: has_records
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = '{prefix}migration';

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- name: place
SELECT CONCAT_WS('/', @@hostname, @@port, {server_uuid}, DATABASE());
