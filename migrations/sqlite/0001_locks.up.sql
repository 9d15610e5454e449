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
    CHECK (length(lock_key) BETWEEN 1 AND 255),
    CHECK (fence > 0),
    CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
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
