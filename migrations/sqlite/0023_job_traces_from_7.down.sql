-- Takes back 0023.
ALTER TABLE {prefix}job DROP COLUMN traceparent;
ALTER TABLE {prefix}job_history DROP COLUMN traceparent;
ALTER TABLE {prefix}job DROP COLUMN checkpoint;
ALTER TABLE {prefix}job_history DROP COLUMN checkpoint;
ALTER TABLE {prefix}job DROP COLUMN checkpoint_at;
ALTER TABLE {prefix}job_history DROP COLUMN checkpoint_at;
