-- Since when a job waits for a worker, for people and metrics: when it came due, was given back,
-- rescued or run again. Null: since it was enqueued; so it stays where an older program made the
-- job available.
--
-- MySQL has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}job ADD COLUMN available_at BIGINT NULL')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND column_name = 'available_at');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
