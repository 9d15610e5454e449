-- When the task of a run fires, as the schedule it was started by says it: "30 2 * * * (UTC)",
-- "every 3600 s". Null: an older program started it, or it is longer than 255 bytes.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}run ADD COLUMN schedule VARBINARY(255) NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}run' AND column_name = 'schedule');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
