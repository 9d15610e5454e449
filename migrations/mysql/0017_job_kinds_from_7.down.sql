-- Takes back 0017.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0', 'DROP INDEX {bare}job_kind ON {prefix}job')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}job'
      AND index_name = '{bare}job_kind');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
