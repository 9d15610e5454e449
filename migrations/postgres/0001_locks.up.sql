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
    capacity        bigint      NOT NULL DEFAULT 0,  -- permits or places there are; 0: a mutex
    arrived         bigint      NOT NULL DEFAULT 0,  -- at a latch
    CONSTRAINT {bare}lock_pkey PRIMARY KEY (lock_key),
    CONSTRAINT {bare}lock_key_size CHECK (octet_length(lock_key) BETWEEN 1 AND 255),
    CONSTRAINT {bare}lock_fence_positive CHECK (fence > 0),
    CONSTRAINT {bare}lock_free_or_held CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) WITH (fillfactor = 60);

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE {prefix}waiter (
    lock_key     bytea       NOT NULL,
    ticket       bigint      NOT NULL,  -- its place: the smallest is first; never used again
    owner        bytea       NOT NULL,  -- 16 random bytes: of the grant it will be
    session_id   bytea       NOT NULL,  -- waits while this session lives
    node_info    text        NOT NULL,  -- for people
    mode         smallint    NOT NULL DEFAULT 1,  -- 1: alone
    permits      bigint      NOT NULL DEFAULT 1,
    hold_at_most bigint,                -- microseconds of a fixed term; null: with its session
    lock_delay   bigint      NOT NULL DEFAULT 0,
    metadata     text,
    queued_at    timestamptz NOT NULL,
    CONSTRAINT {bare}waiter_pkey PRIMARY KEY (lock_key, ticket),
    CONSTRAINT {bare}waiter_owner_size CHECK (octet_length(owner) = 16)
);

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the gate, and its fence counts the grants.
CREATE TABLE {prefix}holder (
    lock_key   bytea       NOT NULL,
    owner      bytea       NOT NULL,  -- 16 random bytes of this grant
    session_id bytea       NOT NULL,  -- lives with this session
    mode       smallint    NOT NULL,  -- what it keeps out; see schema/README
    permits    bigint      NOT NULL,  -- how much of the capacity it has
    fence      bigint      NOT NULL,  -- its token; 0: it only waits
    node_info  text        NOT NULL,  -- for people
    granted_at timestamptz NOT NULL,
    CONSTRAINT {bare}holder_pkey PRIMARY KEY (lock_key, owner),
    CONSTRAINT {bare}holder_not_negative CHECK (permits >= 0 AND fence >= 0)
) WITH (fillfactor = 60);

-- One row: no removed lock row had a fence above this, so new rows start one higher.
CREATE TABLE {prefix}fence_mark (
    id    smallint NOT NULL,
    fence bigint   NOT NULL,
    CONSTRAINT {bare}fence_mark_pkey PRIMARY KEY (id),
    CONSTRAINT {bare}fence_mark_single CHECK (id = 1)
);

INSERT INTO {prefix}fence_mark (id, fence) VALUES (1, 0);
