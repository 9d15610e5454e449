-- The traceparent of a job's enqueuer, the text with which the next attempt of the job goes on, and
-- the instant at which its handler saved that text: see schema/README.md. Null: none.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first. The
-- columns come at once.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}job '
              'ADD COLUMN traceparent VARBINARY(255) NULL, ADD COLUMN checkpoint MEDIUMBLOB NULL, '
              'ADD COLUMN checkpoint_at BIGINT NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND column_name = 'checkpoint');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}job_history '
              'ADD COLUMN traceparent VARBINARY(255) NULL, ADD COLUMN checkpoint MEDIUMBLOB NULL, '
              'ADD COLUMN checkpoint_at BIGINT NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job_history'
      AND column_name = 'checkpoint');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
