-- Numbers that somebody has written by hand, and with which no claim can count and no fire time
-- can be found: a period of 0, a time after the year 9999. They ended the workers of their queue,
-- and are refused from now on, by constraints that say so. A queue or a schedule that has one is
-- paused, and has the usual numbers.
-- An instant that is none is the beginning of 1970.
UPDATE {prefix}job SET enqueued_at = 'epoch' WHERE NOT isfinite(enqueued_at);
ALTER TABLE {prefix}job ADD CONSTRAINT {bare}job_enqueued_at_is_finite
    CHECK (isfinite(enqueued_at));
UPDATE {prefix}job_history SET enqueued_at = 'epoch' WHERE NOT isfinite(enqueued_at);
UPDATE {prefix}job_history SET ended_at = clock_timestamp() WHERE NOT isfinite(ended_at);
ALTER TABLE {prefix}job_history ADD CONSTRAINT {bare}job_history_times_are_finite
    CHECK (isfinite(enqueued_at) AND isfinite(ended_at));
UPDATE {prefix}queue SET swept_at = 'epoch', starts_from = 'epoch'
 WHERE NOT (isfinite(swept_at) AND isfinite(starts_from));
ALTER TABLE {prefix}queue ADD CONSTRAINT {bare}queue_times_are_finite
    CHECK (isfinite(swept_at) AND isfinite(starts_from));
UPDATE {prefix}queue
   SET is_paused = 1, running_per_key_max = 1, starts_max = NULL, starts_per = 1000000,
       keep_completed = 0, keep_discarded = 604800000000, keep_cancelled = 604800000000
 WHERE NOT (running_per_key_max BETWEEN 1 AND 1000000 AND starts_max BETWEEN 1 AND 1000000
            AND starts_per BETWEEN 1 AND 31622400000000
            AND keep_completed BETWEEN 0 AND 3162240000000000
            AND keep_discarded BETWEEN 0 AND 3162240000000000
            AND keep_cancelled BETWEEN 0 AND 3162240000000000);
UPDATE {prefix}job_schedule
   SET is_paused = 1, misfire = 2, catch_up_max = 10, late_max = 60000000, next_at = 0,
       last_at = NULL, unique_conflict = 1
 WHERE NOT (misfire BETWEEN 1 AND 3 AND catch_up_max BETWEEN 1 AND 1000
            AND late_max BETWEEN 0 AND 31622400000000
            AND next_at BETWEEN 0 AND 253402300799999999
            AND last_at BETWEEN 0 AND 253402300799999999 AND unique_conflict BETWEEN 1 AND 2);
ALTER TABLE {prefix}queue ADD CONSTRAINT {bare}queue_limits_in_range CHECK (
    running_per_key_max BETWEEN 1 AND 1000000 AND starts_max BETWEEN 1 AND 1000000
    AND starts_per BETWEEN 1 AND 31622400000000
    AND keep_completed BETWEEN 0 AND 3162240000000000
    AND keep_discarded BETWEEN 0 AND 3162240000000000
    AND keep_cancelled BETWEEN 0 AND 3162240000000000);
ALTER TABLE {prefix}job_schedule ADD CONSTRAINT {bare}job_schedule_numbers_in_range CHECK (
    misfire BETWEEN 1 AND 3 AND catch_up_max BETWEEN 1 AND 1000
    AND late_max BETWEEN 0 AND 31622400000000
    AND next_at BETWEEN 0 AND 253402300799999999
    AND last_at BETWEEN 0 AND 253402300799999999 AND unique_conflict BETWEEN 1 AND 2);
