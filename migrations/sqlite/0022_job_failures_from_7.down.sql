-- Takes back 0022.
ALTER TABLE {prefix}job DROP COLUMN failures;
ALTER TABLE {prefix}job_history DROP COLUMN failures;
