-- Takes back 0014.
ALTER TABLE {prefix}job DROP CONSTRAINT IF EXISTS {bare}job_due_at_is_finite;
