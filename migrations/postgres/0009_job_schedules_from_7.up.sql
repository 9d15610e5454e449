-- Schedules that enqueue jobs, and where the workers of queues hear of new ones.

-- One row per schedule; changed by each fire time. Instants are microseconds since 1970 in UTC.
-- Null numbers have the values that schema/README.md names.
CREATE TABLE {prefix}job_schedule (
    name            text     COLLATE "C" NOT NULL,
    queue           text     COLLATE "C" NOT NULL,
    is_paused       smallint NOT NULL DEFAULT 0,
    version         bigint   NOT NULL,           -- another one with each change
    cron            text,                        -- null: `period`
    zone            text     NOT NULL DEFAULT 'UTC',
    period          bigint,                      -- microseconds; null: `cron`
    misfire         smallint NOT NULL DEFAULT 2, -- 1 skip, 2 once for all, 3 catch up
    catch_up_max    integer  NOT NULL DEFAULT 10,
    late_max        bigint   NOT NULL DEFAULT 60000000,  -- microseconds
    next_at         bigint   NOT NULL,           -- the first fire time that has not fired
    last_at         bigint,                      -- the latest that has
    last_job        bigint,                      -- which it enqueued
    kind            text     COLLATE "C" NOT NULL DEFAULT '',
    priority        smallint NOT NULL DEFAULT 0,
    attempts_max    integer,
    rescues_max     integer,
    retry_delay     bigint,
    retry_delay_max bigint,
    time_limit      bigint,
    unique_until    smallint,
    unique_conflict smallint NOT NULL DEFAULT 1, -- 1 keep, 2 replace
    unique_key      text     COLLATE "C",        -- null: made of the fire time
    ordering_key    text     COLLATE "C",
    payload         text     NOT NULL DEFAULT '',
    CONSTRAINT {bare}job_schedule_pkey PRIMARY KEY (name),
    CONSTRAINT {bare}job_schedule_name_size CHECK (octet_length(name) BETWEEN 1 AND 200),
    CONSTRAINT {bare}job_schedule_times CHECK ((cron IS NULL) <> (period IS NULL))
);
CREATE INDEX {bare}job_schedule_next ON {prefix}job_schedule (queue, is_paused, next_at);

-- One row per queue of each worker that can be rung, while it works.
CREATE TABLE {prefix}job_bell (
    queue      text   COLLATE "C" NOT NULL,
    bell       bytea  NOT NULL,  -- 16 random bytes: what is rung with
    session_id bytea  NOT NULL,  -- hears while this session lives
    address    text   NOT NULL,  -- where; empty: by the database's notifications alone
    CONSTRAINT {bare}job_bell_pkey PRIMARY KEY (queue, bell)
);
