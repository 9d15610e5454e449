-- The traceparent of a job's enqueuer, the text with which the next attempt of the job goes on, and
-- the instant at which its handler saved that text: see schema/README.md. Null: none.
ALTER TABLE {prefix}job ADD COLUMN traceparent TEXT;
ALTER TABLE {prefix}job_history ADD COLUMN traceparent TEXT;
ALTER TABLE {prefix}job ADD COLUMN checkpoint TEXT;
ALTER TABLE {prefix}job_history ADD COLUMN checkpoint TEXT;
ALTER TABLE {prefix}job ADD COLUMN checkpoint_at INTEGER;
ALTER TABLE {prefix}job_history ADD COLUMN checkpoint_at INTEGER;
