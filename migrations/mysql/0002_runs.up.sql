-- Which fire time of a run-once task was started last, where, and with what result. For MySQL and
-- MariaDB.

-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there. Rewritten twice per run.
CREATE TABLE IF NOT EXISTS {prefix}run (
    name        VARBINARY(255)  NOT NULL COMMENT 'UTF-8; also the key that is locked meanwhile',
    tick        BIGINT          NOT NULL COMMENT 'the fire time; only grows',
    token       BIGINT          NOT NULL COMMENT 'of the lease it was started under; only grows',
    owner       BINARY(16)      NOT NULL COMMENT '16 random bytes of that lease',
    node_info   VARBINARY(255)  NOT NULL COMMENT 'name@host:pid, UTF-8, for people',
    started_at  BIGINT          NOT NULL,
    opens_at    BIGINT          NOT NULL COMMENT 'no other run starts before',
    finished_at BIGINT              NULL COMMENT 'null: it runs, or died',
    state       SMALLINT        NOT NULL COMMENT '1 started, 2 succeeded, 3 failed',
    exit_status BIGINT              NULL COMMENT 'as its program gave it',
    message     VARBINARY(1000) NOT NULL COMMENT 'as its program gave it, UTF-8, for people',
    PRIMARY KEY (name),
    CONSTRAINT {bare}run_name_size CHECK (LENGTH(name) BETWEEN 1 AND 255),
    CONSTRAINT {bare}run_token_positive CHECK (token > 0),
    CONSTRAINT {bare}run_started_or_finished CHECK ((finished_at IS NULL) = (state = 1))
) ENGINE = InnoDB;
