-- Jobs and their queues. A job that has not ended is a row of `job`, one that has is a row of
-- `job_history` for as long as its queue keeps it.
-- Times of these tables are microseconds since 1970 in UTC, by the machine's wall clock: when a job
-- is due is a date. Whether its session lives stays with CLOCK_BOOTTIME.

-- One row per queue that has a worker or a setting.
CREATE TABLE {prefix}queue (
    name                TEXT    NOT NULL PRIMARY KEY,
    is_paused           INTEGER NOT NULL DEFAULT 0,
    running_max         INTEGER,                          -- null: no limit
    running_per_key_max INTEGER NOT NULL DEFAULT 1,
    starts_max          INTEGER,                          -- in each starts_per; null: no limit
    starts_per          INTEGER NOT NULL DEFAULT 1000000,
    starts_from         INTEGER NOT NULL DEFAULT 0,       -- what has started is paid for until
    keep_completed      INTEGER NOT NULL DEFAULT 0,
    keep_discarded      INTEGER NOT NULL DEFAULT 604800000000,
    keep_cancelled      INTEGER NOT NULL DEFAULT 604800000000,
    turn                INTEGER NOT NULL DEFAULT 0,
    swept_at            INTEGER NOT NULL DEFAULT 0,
    CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255)
) WITHOUT ROWID;

-- One row per job that has not ended: written by enqueue, claim and end. Null numbers have the
-- values that schema/README.md names.
CREATE TABLE {prefix}job (
    id                  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    queue               TEXT    NOT NULL,
    kind                TEXT    NOT NULL DEFAULT '',
    state               INTEGER NOT NULL DEFAULT 1,  -- see schema/README
    priority            INTEGER NOT NULL DEFAULT 0,  -- the smallest first
    attempts            INTEGER NOT NULL DEFAULT 0,  -- begun
    rescues             INTEGER NOT NULL DEFAULT 0,
    is_cancel_requested INTEGER NOT NULL DEFAULT 0,
    token               INTEGER NOT NULL DEFAULT 0,  -- of the last claim; only grows
    enqueued_at         INTEGER NOT NULL DEFAULT 0,  -- 0: not known
    due_at              INTEGER DEFAULT 0,           -- set while it waits for its time
    session_id          BLOB,                        -- null: does not run
    claimed_at          INTEGER,
    attempts_max        INTEGER,
    rescues_max         INTEGER,
    retry_delay         INTEGER,                     -- before the second attempt
    retry_delay_max     INTEGER,
    time_limit          INTEGER,                     -- of one attempt; null: none
    unique_until        INTEGER,                     -- 1: until it starts; null: until it has ended
    unique_slot         TEXT,                        -- null: free
    ordering_key        TEXT,
    node_info           TEXT,                        -- of the last claim, for people
    progress            TEXT,                        -- the handler's words
    error               TEXT,                        -- of the last attempt that failed
    payload             TEXT    NOT NULL DEFAULT '',
    CHECK (length(CAST(queue AS BLOB)) BETWEEN 1 AND 255),
    CHECK ((state = 3) = (session_id IS NOT NULL) AND (state IN (1, 4)) = (due_at IS NOT NULL)
           AND state BETWEEN 1 AND 5)
);
CREATE INDEX {bare}job_order ON {prefix}job (queue, state, priority, id);
CREATE INDEX {bare}job_due ON {prefix}job (queue, due_at, id) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX {bare}job_unique ON {prefix}job (queue, unique_slot)
    WHERE unique_slot IS NOT NULL;
CREATE INDEX {bare}job_ordering ON {prefix}job (queue, ordering_key, id)
    WHERE ordering_key IS NOT NULL;

-- One row per job that has ended, until its time is over. Never changed.
CREATE TABLE {prefix}job_history (
    id              INTEGER NOT NULL PRIMARY KEY,
    queue           TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    state           INTEGER NOT NULL,  -- 6 completed, 7 discarded, 8 cancelled
    priority        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    rescues         INTEGER NOT NULL,
    token           INTEGER NOT NULL,
    enqueued_at     INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    prune_at        INTEGER NOT NULL,  -- gone from then on
    attempts_max    INTEGER,
    rescues_max     INTEGER,
    retry_delay     INTEGER,
    retry_delay_max INTEGER,
    time_limit      INTEGER,
    unique_until    INTEGER,
    unique_slot     TEXT,
    ordering_key    TEXT,
    node_info       TEXT,
    progress        TEXT,
    error           TEXT,
    result          TEXT,
    payload         TEXT    NOT NULL
);
CREATE INDEX {bare}job_history_prune ON {prefix}job_history (prune_at, id);
CREATE INDEX {bare}job_history_queue ON {prefix}job_history (queue, state, id);
