-- Takes back 0023.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}job '
              'DROP COLUMN traceparent, DROP COLUMN checkpoint, DROP COLUMN checkpoint_at')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND column_name = 'checkpoint');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}job_history '
              'DROP COLUMN traceparent, DROP COLUMN checkpoint, DROP COLUMN checkpoint_at')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job_history'
      AND column_name = 'checkpoint');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
