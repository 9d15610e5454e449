-- Jobs and their queues, for MySQL and MariaDB. A job that has not ended is a row of `job`, one
-- that has is a row of `job_history` for as long as its queue keeps it.

-- One row per queue that has a worker or a setting.
CREATE TABLE IF NOT EXISTS {prefix}queue (
    name                VARBINARY(255) NOT NULL,
    is_paused           SMALLINT       NOT NULL DEFAULT 0,
    running_max         INT                NULL COMMENT 'in the whole cluster; null: no limit',
    running_per_key_max INT            NOT NULL DEFAULT 1,
    starts_max          INT                NULL COMMENT 'in each starts_per; null: no limit',
    starts_per          BIGINT         NOT NULL DEFAULT 1000000 COMMENT 'microseconds',
    starts_from         BIGINT         NOT NULL DEFAULT 0 COMMENT 'paid for until then',
    keep_completed      BIGINT         NOT NULL DEFAULT 0 COMMENT 'microseconds',
    keep_discarded      BIGINT         NOT NULL DEFAULT 604800000000,
    keep_cancelled      BIGINT         NOT NULL DEFAULT 604800000000,
    turn                BIGINT         NOT NULL DEFAULT 0 COMMENT 'grows with claims in turn',
    swept_at            BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (name),
    CONSTRAINT {bare}queue_name_size CHECK (LENGTH(name) BETWEEN 1 AND 255)
) ENGINE = InnoDB;

-- One row per job that has not ended: written by enqueue, claim and end. Null numbers have the
-- values that schema/README.md names. The order of each ORDER BY is that of an index, or more rows
-- than are claimed would be locked.
CREATE TABLE IF NOT EXISTS {prefix}job (
    id                  BIGINT         NOT NULL AUTO_INCREMENT,
    queue               VARBINARY(255) NOT NULL,
    kind                VARBINARY(255) NOT NULL DEFAULT '',
    state               SMALLINT       NOT NULL DEFAULT 1 COMMENT 'see schema/README',
    priority            SMALLINT       NOT NULL DEFAULT 0 COMMENT 'the smallest first',
    attempts            INT            NOT NULL DEFAULT 0 COMMENT 'begun',
    rescues             INT            NOT NULL DEFAULT 0,
    is_cancel_requested SMALLINT       NOT NULL DEFAULT 0,
    token               BIGINT         NOT NULL DEFAULT 0 COMMENT 'of the last claim; only grows',
    enqueued_at         BIGINT         NOT NULL DEFAULT 0 COMMENT '0: not known',
    due_at              BIGINT             NULL DEFAULT 0 COMMENT 'set while it waits for its time',
    session_id          BINARY(16)         NULL COMMENT 'null: does not run',
    claimed_at          BIGINT             NULL,
    attempts_max        INT                NULL,
    rescues_max         INT                NULL,
    retry_delay         BIGINT             NULL COMMENT 'microseconds, before the second attempt',
    retry_delay_max     BIGINT             NULL COMMENT 'microseconds',
    time_limit          BIGINT             NULL COMMENT 'microseconds of one attempt; null: none',
    unique_until        SMALLINT           NULL COMMENT '1: until it starts; null: until it ends',
    unique_slot         VARBINARY(255)     NULL COMMENT 'null: free',
    ordering_key        VARBINARY(255)     NULL,
    node_info           VARBINARY(255)     NULL COMMENT 'of the last claim, for people',
    progress            VARBINARY(4000)    NULL COMMENT 'the handler''s words',
    error               VARBINARY(4000)    NULL COMMENT 'of the last attempt that failed',
    payload             LONGBLOB       NOT NULL,
    PRIMARY KEY (id),
    KEY {bare}job_order (queue, state, priority, id),
    KEY {bare}job_due (queue, due_at, id),
    UNIQUE KEY {bare}job_unique (queue, unique_slot),
    KEY {bare}job_ordering (queue, ordering_key, id),
    CONSTRAINT {bare}job_names_size CHECK (LENGTH(queue) BETWEEN 1 AND 255),
    CONSTRAINT {bare}job_runs_or_waits CHECK (
        (state = 3) = (session_id IS NOT NULL) AND (state IN (1, 4)) = (due_at IS NOT NULL)
        AND state BETWEEN 1 AND 5)
) ENGINE = InnoDB;

-- One row per job that has ended, until its time is over. Never changed.
CREATE TABLE IF NOT EXISTS {prefix}job_history (
    id              BIGINT         NOT NULL,
    queue           VARBINARY(255) NOT NULL,
    kind            VARBINARY(255) NOT NULL,
    state           SMALLINT       NOT NULL COMMENT '6 completed, 7 discarded, 8 cancelled',
    priority        SMALLINT       NOT NULL,
    attempts        INT            NOT NULL,
    rescues         INT            NOT NULL,
    token           BIGINT         NOT NULL,
    enqueued_at     BIGINT         NOT NULL,
    ended_at        BIGINT         NOT NULL,
    prune_at        BIGINT         NOT NULL COMMENT 'gone from then on',
    attempts_max    INT                NULL,
    rescues_max     INT                NULL,
    retry_delay     BIGINT             NULL,
    retry_delay_max BIGINT             NULL,
    time_limit      BIGINT             NULL,
    unique_until    SMALLINT           NULL,
    unique_slot     VARBINARY(255)     NULL,
    ordering_key    VARBINARY(255)     NULL,
    node_info       VARBINARY(255)     NULL,
    progress        VARBINARY(4000)    NULL,
    error           VARBINARY(4000)    NULL,
    result          VARBINARY(4000)    NULL,
    payload         LONGBLOB       NOT NULL,
    PRIMARY KEY (id),
    KEY {bare}job_history_prune (prune_at, id),
    KEY {bare}job_history_queue (queue, state, id)
) ENGINE = InnoDB;
