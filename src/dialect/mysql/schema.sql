-- What differs between MySQL and MariaDB: nothing that is used here. GET_LOCK takes fractions of a
-- second on MariaDB and rounds them on MySQL, where names are also case-insensitive and at most 64
-- characters long; so waits are whole seconds, and names are hashed to 60 lower-case digits.
--
-- DDL commits by itself on both: a migration that fails leaves a part of itself behind, and its
-- record says that it is not finished.

-- $1 prefix, $2 seconds. The lock belongs to the connection, so a migrator that dies frees it. In
-- one form for both functions: what is locked is this prefix in this database.
-- name: get_lock
SELECT GET_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', $1), 256), 60), $2);

-- name: release_lock
SELECT RELEASE_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', $1), 256), 60));

-- $1 the table's name.
-- name: has_records
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = $1;

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

-- name: create_records
CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    INT          NOT NULL,
    name       VARCHAR(100) CHARACTER SET ascii NOT NULL,
    checksum   CHAR(64)     CHARACTER SET ascii NOT NULL COMMENT 'SHA-256 of the up file',
    applied_at BIGINT       NOT NULL COMMENT 'microseconds since 1970, UTC',
    finished   TINYINT      NOT NULL COMMENT '0: begun, its statements must be run again',
    PRIMARY KEY (version)
) ENGINE = InnoDB;

-- $1 version, $2 name, $3 checksum, $4 finished.
-- UNIX_TIMESTAMP() is in UTC whatever the time zone of whoever runs this by hand. The values are
-- named twice because the servers share no word for "the row that was to be inserted".
-- name: record
INSERT INTO {prefix}migration (version, name, checksum, applied_at, finished)
VALUES ($1, $2, $3, UNIX_TIMESTAMP() * 1000000, $4)
ON DUPLICATE KEY UPDATE
    name = $2, checksum = $3, applied_at = UNIX_TIMESTAMP() * 1000000, finished = $4;

-- $1 version.
-- name: forget
DELETE FROM {prefix}migration WHERE version = $1;

-- name: drop_records
DROP TABLE IF EXISTS {prefix}migration;

-- The same two with their values written in, to be run by hand.
-- name: record_by_hand
{record};

-- name: forget_by_hand
{forget};
