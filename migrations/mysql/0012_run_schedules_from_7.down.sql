-- Takes back 0012.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}run DROP COLUMN schedule')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}run' AND column_name = 'schedule');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
