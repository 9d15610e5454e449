-- What a session waits for, and a call that does not know its ticket, are found without reading
-- the queues: by whoever looks for circles of waits, and by a call that gives up.
--
-- MySQL has no CREATE INDEX IF NOT EXISTS. So that they can be run again they are asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'CREATE INDEX {bare}waiter_session ON {prefix}waiter (session_id)')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter'
      AND index_name = '{bare}waiter_session');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'CREATE INDEX {bare}waiter_owner ON {prefix}waiter (owner)')
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = '{prefix}waiter'
      AND index_name = '{bare}waiter_owner');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
