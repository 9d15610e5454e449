-- The migrations that were applied.

-- name: has_records
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = '{prefix}migration';

-- name: recorded
-- gives: version name checksum is_finished
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- Servers of MariaDB may be alike in all but the end of UUID(): see incarnation in session.sql.
-- name: place
SELECT CONCAT_WS('/', @@hostname, @@port, {server_uuid}, RIGHT(UUID(), 17), DATABASE());
