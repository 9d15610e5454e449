-- Takes back 0016.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}job_schedule
               DROP CONSTRAINT {bare}job_schedule_numbers_in_range')
    FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job_schedule'
      AND constraint_name = '{bare}job_schedule_numbers_in_range');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}queue DROP CONSTRAINT {bare}queue_limits_in_range')
    FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = '{prefix}queue'
      AND constraint_name = '{bare}queue_limits_in_range');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
