-- Takes back 0007.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}lock DROP COLUMN proofs')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}lock' AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}holder DROP COLUMN proofs')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}holder' AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}fence_guard DROP COLUMN proofs')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}fence_guard'
      AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
