-- Jobs that wait until others have ended.

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE {prefix}job_need (
    job_id   INTEGER NOT NULL,            -- waits
    needs_id INTEGER NOT NULL,            -- for this one
    wants    INTEGER NOT NULL DEFAULT 1,  -- 1 that it completes, 2 that it ends, however
    PRIMARY KEY (job_id, needs_id)
) WITHOUT ROWID;
CREATE INDEX {bare}job_need_needs ON {prefix}job_need (needs_id, job_id);
