-- Takes back 0016.
ALTER TABLE {prefix}job_schedule DROP CONSTRAINT IF EXISTS {bare}job_schedule_numbers_in_range;
ALTER TABLE {prefix}queue DROP CONSTRAINT IF EXISTS {bare}queue_limits_in_range;
ALTER TABLE {prefix}queue DROP CONSTRAINT IF EXISTS {bare}queue_times_are_finite;
ALTER TABLE {prefix}job_history DROP CONSTRAINT IF EXISTS {bare}job_history_times_are_finite;
ALTER TABLE {prefix}job DROP CONSTRAINT IF EXISTS {bare}job_enqueued_at_is_finite;
