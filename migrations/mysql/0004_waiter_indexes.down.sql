-- Takes back 0004.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0', 'DROP INDEX {bare}waiter_owner ON {prefix}waiter')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter'
      AND index_name = '{bare}waiter_owner');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0', 'DROP INDEX {bare}waiter_session ON {prefix}waiter')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter'
      AND index_name = '{bare}waiter_session');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
