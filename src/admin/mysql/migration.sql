-- The tables themselves. Of what is used here, MySQL and MariaDB differ in GET_LOCK alone. It takes
-- fractions of a second on MariaDB and rounds them on MySQL, so waits are whole seconds. On MySQL
-- names of locks are case-insensitive and have at most 64 characters, so names are hashed to 60
-- lower-case digits.
--
-- DDL commits by itself on both: a migration that fails leaves a part of itself behind, and its
-- record says that it is not finished.

-- $1 prefix, $2 seconds. The lock belongs to the connection, so a migrator that dies frees it. One
-- form for both functions: the lock is on this prefix in this database.
-- name: get_lock
SELECT GET_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', $1), 256), 60), $2);

-- name: release_lock
SELECT RELEASE_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', $1), 256), 60));

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
-- UNIX_TIMESTAMP() is in UTC in any time zone of a person who runs this by hand. The values are
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

-- `record` and `forget` with their values written in, to be run by hand.
-- name: record_by_hand
{record};

-- name: forget_by_hand
{forget};

-- The rights of a program. MySQL and MariaDB take one table at a time, of the database in use. The
-- printer quotes {user}. FOR UPDATE needs UPDATE or DELETE on the table beside SELECT.
-- name: grants
GRANT SELECT ON {prefix}migration TO {user};
GRANT SELECT ON {prefix}grant_history_rule TO {user};
GRANT SELECT, DELETE ON {prefix}grant_history TO {user};
GRANT SELECT, UPDATE ON {prefix}fence_mark TO {user};
GRANT SELECT, UPDATE ON {prefix}upkeep TO {user};
GRANT SELECT, INSERT, UPDATE ON {prefix}fence_guard TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}session TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}lock TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}holder TO {user};
GRANT SELECT, INSERT, DELETE ON {prefix}waiter TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}run TO {user};
GRANT SELECT, INSERT, UPDATE ON {prefix}queue TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}job TO {user};
GRANT SELECT, INSERT, DELETE ON {prefix}job_history TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}job_schedule TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE ON {prefix}job_bell TO {user};
GRANT SELECT, INSERT, DELETE ON {prefix}job_need TO {user};
