-- How often a hold was proved, or a token admitted, in a cluster with several nodes that are
-- written to: there a proof changes the row it is about. Elsewhere it stays 0.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again each is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}lock ADD COLUMN proofs BIGINT NOT NULL DEFAULT 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}lock' AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}holder ADD COLUMN proofs BIGINT NOT NULL DEFAULT 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}holder' AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}fence_guard ADD COLUMN proofs BIGINT NOT NULL DEFAULT 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}fence_guard'
      AND column_name = 'proofs');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
