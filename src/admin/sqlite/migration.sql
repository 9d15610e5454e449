-- SQLite: leasehold's own tables. DDL is transactional, and the write lock is the migrators' lock.

-- name: create_records
CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,  -- SHA-256 of the file
    applied_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    finished   INTEGER NOT NULL   -- 0: begun, and its end is not known
);

-- $1 version, $2 name, $3 checksum, $4 finished.
-- name: record
INSERT INTO {prefix}migration (version, name, checksum, finished) VALUES ($1, $2, $3, $4)
ON CONFLICT (version) DO UPDATE SET name = $2, checksum = $3, finished = $4;

-- $1 version.
-- name: forget
DELETE FROM {prefix}migration WHERE version = $1;

-- name: drop_records
DROP TABLE IF EXISTS {prefix}migration;

-- `record` and `forget` with their values written in, to be run by hand.
-- name: record_by_hand
INSERT INTO {prefix}migration (version, name, checksum, finished) VALUES ($1, $2, $3, 1);

-- name: forget_by_hand
DELETE FROM {prefix}migration WHERE version = $1;
