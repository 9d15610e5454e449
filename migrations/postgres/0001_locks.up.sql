-- Sessions, locks, and the mark that keeps fencing tokens growing.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
-- fillfactor: every heartbeat is a HOT update while the page has room, so expires_at has no index.
CREATE TABLE {prefix}session (
    id           bytea       NOT NULL,  -- 16 random bytes
    node_info    text        NOT NULL,  -- name@host:pid, for people
    started_at   timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,  -- dead from this instant on, by this server's clock
    notices      bigint      NOT NULL,  -- grows when somebody else changed what it holds
    CONSTRAINT {bare}session_pkey PRIMARY KEY (id),
    CONSTRAINT {bare}session_id_size CHECK (octet_length(id) = 16)
) WITH (fillfactor = 60);

-- One row per key ever locked, kept after release so that the fence goes on.
-- No foreign key to the session: its check would make heartbeats and grants wait for each other.
CREATE TABLE {prefix}lock (
    lock_key        bytea       NOT NULL,  -- UTF-8, compared byte by byte
    fence           bigint      NOT NULL,  -- the token of the last grant; only grows
    owner           bytea,                 -- 16 random bytes of this grant; null: free
    session_id      bytea,                 -- lives with this session; null: free or a fixed term
    node_info       text        NOT NULL,  -- of the last holder, for people
    reentrant_count bigint      NOT NULL,  -- 0: free
    changed_at      timestamptz NOT NULL,  -- of the last grant or, where free, release
    expires_at      timestamptz,           -- end of a fixed term; null: lives with its session
    kind            smallint    NOT NULL DEFAULT 1,  -- what the key is used as; see schema/README
    last_ticket     bigint      NOT NULL DEFAULT 0,  -- of its queue; 0: nobody waits
    lock_delay      bigint      NOT NULL DEFAULT 0,  -- microseconds it stays closed after a death
    revocations     bigint      NOT NULL DEFAULT 0,  -- requests to this holder to let go
    metadata        text,                  -- of the holder, for people and for followers
    CONSTRAINT {bare}lock_pkey PRIMARY KEY (lock_key),
    CONSTRAINT {bare}lock_key_size CHECK (octet_length(lock_key) BETWEEN 1 AND 255),
    CONSTRAINT {bare}lock_fence_positive CHECK (fence > 0),
    CONSTRAINT {bare}lock_free_or_held CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) WITH (fillfactor = 60);

-- One row: no removed lock row had a fence above this, so new rows start one higher.
CREATE TABLE {prefix}fence_mark (
    id    smallint NOT NULL,
    fence bigint   NOT NULL,
    CONSTRAINT {bare}fence_mark_pkey PRIMARY KEY (id),
    CONSTRAINT {bare}fence_mark_single CHECK (id = 1)
);

INSERT INTO {prefix}fence_mark (id, fence) VALUES (1, 0);
