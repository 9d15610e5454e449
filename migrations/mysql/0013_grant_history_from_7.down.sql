-- Takes back 0013, also where history is being written.
DROP TRIGGER IF EXISTS {prefix}grant_ended;
DROP TRIGGER IF EXISTS {prefix}share_ended;
DROP TRIGGER IF EXISTS {prefix}share_replaced;
DROP TABLE IF EXISTS {prefix}grant_history;
DROP TABLE IF EXISTS {prefix}grant_history_rule;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}lock DROP COLUMN forced')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}lock' AND column_name = 'forced');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
