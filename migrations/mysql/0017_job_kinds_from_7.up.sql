-- Claims find the available jobs of a kind, however many of other kinds stand before them.
-- MySQL has no CREATE INDEX IF NOT EXISTS: see 0004.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'CREATE INDEX {bare}job_kind ON {prefix}job (queue, kind, state, priority, id)')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND index_name = '{bare}job_kind');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
