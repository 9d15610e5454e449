-- Jobs that wait until others have ended.

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE IF NOT EXISTS {prefix}job_need (
    job_id   BIGINT   NOT NULL COMMENT 'waits',
    needs_id BIGINT   NOT NULL COMMENT 'for this one',
    wants    SMALLINT NOT NULL DEFAULT 1 COMMENT '1 that it completes, 2 that it ends, however',
    PRIMARY KEY (job_id, needs_id),
    KEY {bare}job_need_needs (needs_id, job_id)
) ENGINE = InnoDB;
