-- Sessions, locks, and the mark that keeps fencing tokens growing. For MySQL and MariaDB.
-- Times are microseconds since 1970 in UTC, by the server's clock: session time zones and daylight
-- saving cannot touch them. Each statement can be repeated: DDL commits by itself here.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
CREATE TABLE IF NOT EXISTS {prefix}session (
    id           BINARY(16)     NOT NULL COMMENT '16 random bytes',
    node_info    VARBINARY(255) NOT NULL COMMENT 'name@host:pid, UTF-8, for people',
    started_at   BIGINT         NOT NULL,
    heartbeat_at BIGINT         NOT NULL,
    expires_at   BIGINT         NOT NULL COMMENT 'dead from this instant on',
    notices      BIGINT         NOT NULL COMMENT 'grows when somebody else changed what it holds',
    PRIMARY KEY (id)
) ENGINE = InnoDB;

-- One row per key ever locked, kept after release so that the fence goes on. Keys are VARBINARY:
-- the default collations make 'Job', 'JOB' and 'Job ' one key. No foreign key to the session: its
-- check would make heartbeats and grants wait for each other.
CREATE TABLE IF NOT EXISTS {prefix}lock (
    lock_key        VARBINARY(255) NOT NULL COMMENT 'UTF-8, compared byte by byte',
    fence           BIGINT         NOT NULL COMMENT 'the token of the last grant; only grows',
    owner           BINARY(16)         NULL COMMENT '16 random bytes of this grant; null: free',
    session_id      BINARY(16)         NULL COMMENT 'null: free or held for a fixed term',
    node_info       VARBINARY(255) NOT NULL COMMENT 'of the last holder, for people',
    reentrant_count BIGINT         NOT NULL COMMENT '0: free',
    changed_at      BIGINT         NOT NULL COMMENT 'of the last grant or, where free, release',
    expires_at      BIGINT             NULL COMMENT 'end of a fixed term',
    kind            SMALLINT       NOT NULL DEFAULT 1 COMMENT 'what the key is used as',
    last_ticket     BIGINT         NOT NULL DEFAULT 0 COMMENT 'of its queue; 0: nobody waits',
    lock_delay      BIGINT         NOT NULL DEFAULT 0 COMMENT 'how long closed after a death',
    revocations     BIGINT         NOT NULL DEFAULT 0 COMMENT 'requests to the holder to let go',
    metadata        VARBINARY(4000)    NULL COMMENT 'of the holder, UTF-8',
    capacity        BIGINT         NOT NULL DEFAULT 0 COMMENT 'permits or places; 0: a mutex',
    arrived         BIGINT         NOT NULL DEFAULT 0 COMMENT 'at a latch',
    PRIMARY KEY (lock_key),
    CONSTRAINT {bare}lock_key_size CHECK (LENGTH(lock_key) BETWEEN 1 AND 255),
    CONSTRAINT {bare}lock_fence_not_negative CHECK (fence >= 0),
    CONSTRAINT {bare}lock_free_or_held CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) ENGINE = InnoDB;

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE IF NOT EXISTS {prefix}waiter (
    lock_key     VARBINARY(255)  NOT NULL,
    ticket       BIGINT          NOT NULL COMMENT 'the smallest is first; never used again',
    owner        BINARY(16)      NOT NULL COMMENT '16 random bytes: of the grant it will be',
    session_id   BINARY(16)      NOT NULL COMMENT 'waits while this session lives',
    node_info    VARBINARY(255)  NOT NULL COMMENT 'for people',
    mode         SMALLINT        NOT NULL DEFAULT 1 COMMENT '1: alone',
    permits      BIGINT          NOT NULL DEFAULT 1,
    hold_at_most BIGINT              NULL COMMENT 'microseconds of a fixed term, or null',
    lock_delay   BIGINT          NOT NULL DEFAULT 0,
    metadata     VARBINARY(4000)     NULL,
    queued_at    BIGINT          NOT NULL,
    PRIMARY KEY (lock_key, ticket)
) ENGINE = InnoDB;

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the gate, and its fence counts the grants.
CREATE TABLE IF NOT EXISTS {prefix}holder (
    lock_key   VARBINARY(255) NOT NULL,
    owner      BINARY(16)     NOT NULL COMMENT '16 random bytes of this grant',
    session_id BINARY(16)     NOT NULL COMMENT 'lives with this session',
    mode       SMALLINT       NOT NULL COMMENT 'what it keeps out; 0: of the dead',
    permits    BIGINT         NOT NULL COMMENT 'how much of the capacity it has',
    fence      BIGINT         NOT NULL COMMENT 'its token; 0: it only waits',
    node_info  VARBINARY(255) NOT NULL COMMENT 'for people',
    granted_at BIGINT         NOT NULL,
    PRIMARY KEY (lock_key, owner),
    CONSTRAINT {bare}holder_not_negative CHECK (permits >= 0 AND fence >= 0)
) ENGINE = InnoDB;

-- One row: no removed lock row had a fence above this, so new rows start there.
CREATE TABLE IF NOT EXISTS {prefix}fence_mark (
    id    TINYINT NOT NULL,
    fence BIGINT  NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT {bare}fence_mark_single CHECK (id = 1)
) ENGINE = InnoDB;

INSERT INTO {prefix}fence_mark (id, fence)
SELECT 1, 0 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM {prefix}fence_mark);
