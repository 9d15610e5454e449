-- The attempts of a job that failed, at most 20, for people: see schema/README.md. Null: none, or
-- an older program has recorded them nowhere.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}job ADD COLUMN failures MEDIUMBLOB NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND column_name = 'failures');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}job_history ADD COLUMN failures MEDIUMBLOB NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job_history'
      AND column_name = 'failures');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
