-- Where a process hears that it is the turn of one of its waiting calls; null: nowhere.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}waiter ADD COLUMN bell VARBINARY(255) NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter' AND column_name = 'bell');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
