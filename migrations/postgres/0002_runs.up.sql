-- Which fire time of a run-once task was started last, where, and with what result.

-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there. Rewritten twice per run.
CREATE TABLE {prefix}run (
    name        bytea       NOT NULL,  -- UTF-8; also the key that is locked while it runs
    tick        bigint      NOT NULL,  -- the fire time: microseconds since 1970, UTC; only grows
    token       bigint      NOT NULL,  -- of the lease it was started under; only grows
    owner       bytea       NOT NULL,  -- 16 random bytes of that lease
    node_info   text        NOT NULL,  -- name@host:pid, for people
    started_at  timestamptz NOT NULL,
    opens_at    timestamptz NOT NULL,  -- no other run starts before
    finished_at timestamptz,           -- null: it runs, or died
    state       smallint    NOT NULL,  -- 1 started, 2 succeeded, 3 failed
    exit_status bigint,                -- as its program gave it
    message     text        NOT NULL,  -- as its program gave it, for people
    CONSTRAINT {bare}run_pkey PRIMARY KEY (name),
    CONSTRAINT {bare}run_name_size CHECK (octet_length(name) BETWEEN 1 AND 255),
    CONSTRAINT {bare}run_token_positive CHECK (token > 0),
    CONSTRAINT {bare}run_started_or_finished CHECK ((finished_at IS NULL) = (state = 1))
) WITH (fillfactor = 60);
