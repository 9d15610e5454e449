-- Takes back 0023.
ALTER TABLE {prefix}job DROP COLUMN traceparent, DROP COLUMN checkpoint,
    DROP COLUMN checkpoint_at;
ALTER TABLE {prefix}job_history DROP COLUMN traceparent, DROP COLUMN checkpoint,
    DROP COLUMN checkpoint_at;
