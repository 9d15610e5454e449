-- Jobs that wait until others have ended.

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE {prefix}job_need (
    job_id   bigint   NOT NULL,            -- waits
    needs_id bigint   NOT NULL,            -- for this one
    wants    smallint NOT NULL DEFAULT 1,  -- 1 that it completes, 2 that it ends, however
    CONSTRAINT {bare}job_need_pkey PRIMARY KEY (job_id, needs_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX {bare}job_need_needs ON {prefix}job_need (needs_id, job_id);
