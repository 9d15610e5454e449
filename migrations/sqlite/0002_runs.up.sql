-- Which fire time of a run-once task was started last, where, and with what result.
-- Times of this table are microseconds since 1970 in UTC, by the machine's wall clock: fire times
-- are dates, and must mean the same after a reboot. Who holds what stays with CLOCK_BOOTTIME.

-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there.
CREATE TABLE {prefix}run (
    name        BLOB    NOT NULL PRIMARY KEY,  -- UTF-8; also the key that is locked while it runs
    tick        INTEGER NOT NULL,              -- the fire time; only grows
    token       INTEGER NOT NULL,              -- of the lease it was started under; only grows
    owner       BLOB    NOT NULL,              -- 16 random bytes of that lease
    node_info   TEXT    NOT NULL,              -- name@host:pid, for people
    started_at  INTEGER NOT NULL,
    opens_at    INTEGER NOT NULL,              -- no other run starts before
    finished_at INTEGER,                       -- null: it runs, or died
    state       INTEGER NOT NULL,              -- 1 started, 2 succeeded, 3 failed
    exit_status INTEGER,                       -- as its program gave it
    message     TEXT    NOT NULL,              -- as its program gave it, for people
    CHECK (length(name) BETWEEN 1 AND 255),
    CHECK (token > 0),
    CHECK ((finished_at IS NULL) = (state = 1))
) WITHOUT ROWID;
