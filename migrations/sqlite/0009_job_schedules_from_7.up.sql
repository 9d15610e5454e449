-- Schedules that enqueue jobs, and where the workers of queues hear of new ones.
-- Instants are microseconds since 1970 in UTC, by the machine's wall clock.

-- One row per schedule; changed by each fire time. Null numbers have the values that
-- schema/README.md names.
CREATE TABLE {prefix}job_schedule (
    name            TEXT    NOT NULL PRIMARY KEY,
    queue           TEXT    NOT NULL,
    is_paused       INTEGER NOT NULL DEFAULT 0,
    version         INTEGER NOT NULL,            -- another one with each change
    cron            TEXT,                        -- null: `period`
    zone            TEXT    NOT NULL DEFAULT 'UTC',
    period          INTEGER,                     -- null: `cron`
    misfire         INTEGER NOT NULL DEFAULT 2,  -- 1 skip, 2 once for all, 3 catch up
    catch_up_max    INTEGER NOT NULL DEFAULT 10,
    late_max        INTEGER NOT NULL DEFAULT 60000000,
    next_at         INTEGER NOT NULL,            -- the first fire time that has not fired
    last_at         INTEGER,                     -- the latest that has
    last_job        INTEGER,                     -- which it enqueued
    kind            TEXT    NOT NULL DEFAULT '',
    priority        INTEGER NOT NULL DEFAULT 0,
    attempts_max    INTEGER,
    rescues_max     INTEGER,
    retry_delay     INTEGER,
    retry_delay_max INTEGER,
    time_limit      INTEGER,
    unique_until    INTEGER,
    unique_conflict INTEGER NOT NULL DEFAULT 1,  -- 1 keep, 2 replace
    unique_key      TEXT,                        -- null: made of the fire time
    ordering_key    TEXT,
    payload         TEXT    NOT NULL DEFAULT '',
    CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    CHECK ((cron IS NULL) <> (period IS NULL))
) WITHOUT ROWID;
CREATE INDEX {bare}job_schedule_next ON {prefix}job_schedule (queue, is_paused, next_at);

-- One row per queue of each worker that can be rung, while it works.
CREATE TABLE {prefix}job_bell (
    queue      TEXT NOT NULL,
    bell       BLOB NOT NULL,  -- 16 random bytes: what is rung with
    session_id BLOB NOT NULL,  -- hears while this session lives
    address    TEXT NOT NULL,  -- where
    PRIMARY KEY (queue, bell)
) WITHOUT ROWID;
