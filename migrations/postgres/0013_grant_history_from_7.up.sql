-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first.
CREATE TABLE {prefix}grant_history (
    lock_key  bytea       NOT NULL,
    token     bigint      NOT NULL,  -- of this grant
    kind      smallint    NOT NULL,  -- what the key was used as; see schema/README
    mode      smallint    NOT NULL,  -- how it was held; see schema/README
    permits   bigint      NOT NULL,  -- of a semaphore; else 0
    node_info text        NOT NULL,  -- name@host:pid of the holder, for people
    metadata  text,                  -- the holder's own words
    ended_at  timestamptz NOT NULL,
    held_for  bigint,                -- microseconds; null: not known
    ending    smallint    NOT NULL,  -- 1 released, 2 expired, 3 forced, 4 replaced
    CONSTRAINT {bare}grant_history_pkey PRIMARY KEY (lock_key, token)
);
CREATE INDEX {bare}grant_history_ended ON {prefix}grant_history (ended_at);

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE {prefix}grant_history_rule (
    id    smallint NOT NULL,
    is_on smallint NOT NULL DEFAULT 0,
    keep  bigint   NOT NULL DEFAULT 2592000000000,  -- microseconds
    CONSTRAINT {bare}grant_history_rule_pkey PRIMARY KEY (id),
    CONSTRAINT {bare}grant_history_rule_single CHECK (id = 1)
);
INSERT INTO {prefix}grant_history_rule (id) VALUES (1);

-- The fence that the last forced release has left: what older grants end by is told from it.
ALTER TABLE {prefix}lock ADD COLUMN forced bigint NOT NULL DEFAULT 0;
