-- Sessions, locks, and the mark that keeps fencing tokens growing.
-- Times are microseconds of the machine's CLOCK_BOOTTIME, bound by the program.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
CREATE TABLE {prefix}session (
    id           BLOB    NOT NULL PRIMARY KEY,  -- 16 random bytes
    node_info    TEXT    NOT NULL,              -- name@host:pid, for people
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,              -- dead from this instant on
    notices      INTEGER NOT NULL,              -- grows when somebody else changed what it holds
    CHECK (length(id) = 16)
) WITHOUT ROWID;

-- One row per key ever locked, kept after release so that the fence goes on.
CREATE TABLE {prefix}lock (
    lock_key        BLOB    NOT NULL PRIMARY KEY,  -- UTF-8, compared byte by byte
    fence           INTEGER NOT NULL,              -- the token of the last grant; only grows
    owner           BLOB,                          -- 16 random bytes of this grant; null: free
    session_id      BLOB,                          -- lives with it; null: free or fixed term
    node_info       TEXT    NOT NULL,              -- of the last holder, for people
    reentrant_count INTEGER NOT NULL,              -- 0: free
    changed_at      INTEGER NOT NULL,              -- of the last grant or, where free, release
    expires_at      INTEGER,                       -- end of a fixed term, or null
    kind            INTEGER NOT NULL DEFAULT 1,    -- what the key is used as; see schema/README
    last_ticket     INTEGER NOT NULL DEFAULT 0,    -- of its queue; 0: nobody waits
    lock_delay      INTEGER NOT NULL DEFAULT 0,    -- microseconds it stays closed after a death
    revocations     INTEGER NOT NULL DEFAULT 0,    -- requests to this holder to let go
    metadata        TEXT,                          -- of the holder, for people and for followers
    capacity        INTEGER NOT NULL DEFAULT 0,    -- permits or places there are; 0: a mutex
    arrived         INTEGER NOT NULL DEFAULT 0,    -- at a latch
    CHECK (length(lock_key) BETWEEN 1 AND 255),
    CHECK (fence > 0),
    CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) WITHOUT ROWID;

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE {prefix}waiter (
    lock_key     BLOB    NOT NULL,
    ticket       INTEGER NOT NULL,            -- its place: the smallest is first; never used again
    owner        BLOB    NOT NULL,            -- 16 random bytes: of the grant it will be
    session_id   BLOB    NOT NULL,            -- waits while this session lives
    node_info    TEXT    NOT NULL,            -- for people
    mode         INTEGER NOT NULL DEFAULT 1,  -- 1: alone
    permits      INTEGER NOT NULL DEFAULT 1,
    hold_at_most INTEGER,                     -- microseconds of a fixed term, or null
    lock_delay   INTEGER NOT NULL DEFAULT 0,
    metadata     TEXT,
    queued_at    INTEGER NOT NULL,
    PRIMARY KEY (lock_key, ticket),
    CHECK (length(owner) = 16)
) WITHOUT ROWID;

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the gate, and its fence counts the grants.
CREATE TABLE {prefix}holder (
    lock_key   BLOB    NOT NULL,
    owner      BLOB    NOT NULL,  -- 16 random bytes of this grant
    session_id BLOB    NOT NULL,  -- lives with this session
    mode       INTEGER NOT NULL,  -- what it keeps out; see schema/README
    permits    INTEGER NOT NULL,  -- how much of the capacity it has
    fence      INTEGER NOT NULL,  -- its token; 0: it only waits
    node_info  TEXT    NOT NULL,  -- for people
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (lock_key, owner),
    CHECK (permits >= 0 AND fence >= 0)
) WITHOUT ROWID;

-- One row: no removed lock row had a fence above this, so new rows start one higher.
-- boot_id: the kernel's random id of the boot whose clock the times above belong to. The first
-- process of another boot frees everything, since whoever held it is gone.
CREATE TABLE {prefix}fence_mark (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    fence   INTEGER NOT NULL,
    boot_id TEXT    NOT NULL
);

INSERT INTO {prefix}fence_mark (id, fence, boot_id) VALUES (1, 0, '');
