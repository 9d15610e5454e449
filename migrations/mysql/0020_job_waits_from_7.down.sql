-- Takes back 0020.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}job DROP COLUMN available_at')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND column_name = 'available_at');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
