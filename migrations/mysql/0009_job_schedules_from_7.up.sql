-- Schedules that enqueue jobs, and where the workers of queues hear of new ones.

-- One row per schedule; changed by each fire time. Null numbers have the values that
-- schema/README.md names.
CREATE TABLE IF NOT EXISTS {prefix}job_schedule (
    name            VARBINARY(200) NOT NULL,
    queue           VARBINARY(255) NOT NULL,
    is_paused       SMALLINT       NOT NULL DEFAULT 0,
    version         BIGINT         NOT NULL COMMENT 'another one with each change',
    cron            VARBINARY(1000)    NULL COMMENT 'null: period',
    zone            VARBINARY(255) NOT NULL DEFAULT 'UTC',
    period          BIGINT             NULL COMMENT 'microseconds; null: cron',
    misfire         SMALLINT       NOT NULL DEFAULT 2 COMMENT '1 skip, 2 once for all, 3 catch up',
    catch_up_max    INT            NOT NULL DEFAULT 10,
    late_max        BIGINT         NOT NULL DEFAULT 60000000 COMMENT 'microseconds',
    next_at         BIGINT         NOT NULL COMMENT 'the first fire time that has not fired',
    last_at         BIGINT             NULL COMMENT 'the latest that has',
    last_job        BIGINT             NULL COMMENT 'which it enqueued',
    kind            VARBINARY(255) NOT NULL DEFAULT '',
    priority        SMALLINT       NOT NULL DEFAULT 0,
    attempts_max    INT                NULL,
    rescues_max     INT                NULL,
    retry_delay     BIGINT             NULL,
    retry_delay_max BIGINT             NULL,
    time_limit      BIGINT             NULL,
    unique_until    SMALLINT           NULL,
    unique_conflict SMALLINT       NOT NULL DEFAULT 1 COMMENT '1 keep, 2 replace',
    unique_key      VARBINARY(255)     NULL COMMENT 'null: made of the fire time',
    ordering_key    VARBINARY(255)     NULL,
    payload         LONGBLOB       NOT NULL,
    PRIMARY KEY (name),
    KEY {bare}job_schedule_next (queue, is_paused, next_at),
    CONSTRAINT {bare}job_schedule_name_size CHECK (LENGTH(name) BETWEEN 1 AND 200),
    CONSTRAINT {bare}job_schedule_times CHECK ((cron IS NULL) <> (period IS NULL))
) ENGINE = InnoDB;

-- One row per queue of each worker that can be rung, while it works.
CREATE TABLE IF NOT EXISTS {prefix}job_bell (
    queue      VARBINARY(255) NOT NULL,
    bell       BINARY(16)     NOT NULL COMMENT 'random: what is rung with',
    session_id BINARY(16)     NOT NULL COMMENT 'hears while this session lives',
    address    VARBINARY(255) NOT NULL COMMENT 'where',
    PRIMARY KEY (queue, bell)
) ENGINE = InnoDB;
