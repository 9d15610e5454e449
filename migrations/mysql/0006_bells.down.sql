-- Takes back 0006.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0', 'ALTER TABLE {prefix}waiter DROP COLUMN bell')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter' AND column_name = 'bell');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
