-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first. Times here are
-- microseconds since 1970.
CREATE TABLE {prefix}grant_history (
    lock_key  BLOB    NOT NULL,
    token     INTEGER NOT NULL,  -- of this grant
    kind      INTEGER NOT NULL,  -- what the key was used as; see schema/README
    mode      INTEGER NOT NULL,  -- how it was held; see schema/README
    permits   INTEGER NOT NULL,  -- of a semaphore; else 0
    node_info TEXT    NOT NULL,  -- name@host:pid of the holder, for people
    metadata  TEXT,              -- the holder's own words
    ended_at  INTEGER NOT NULL,
    held_for  INTEGER,           -- microseconds; null: not known
    ending    INTEGER NOT NULL,  -- 1 released, 2 expired, 3 forced, 4 replaced
    PRIMARY KEY (lock_key, token)
) WITHOUT ROWID;
CREATE INDEX {prefix}grant_history_ended ON {prefix}grant_history (ended_at);

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE {prefix}grant_history_rule (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    is_on INTEGER NOT NULL DEFAULT 0,
    keep  INTEGER NOT NULL DEFAULT 2592000000000,  -- microseconds
    -- From the boot's clock to the machine's, in microseconds, and of which boot that is.
    clock_offset INTEGER NOT NULL DEFAULT 0,
    boot_id      TEXT    NOT NULL DEFAULT ''
);
INSERT INTO {prefix}grant_history_rule (id) VALUES (1);

-- The fence that the last forced release has left: what older grants end by is told from it.
ALTER TABLE {prefix}lock ADD COLUMN forced INTEGER NOT NULL DEFAULT 0;
