-- Takes back 0019.
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}grant_history_rule
               DROP CONSTRAINT {bare}grant_history_rule_in_range')
    FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = '{prefix}grant_history_rule'
      AND constraint_name = '{bare}grant_history_rule_in_range');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}upkeep
               DROP CONSTRAINT {bare}upkeep_numbers_in_range')
    FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = '{prefix}upkeep'
      AND constraint_name = '{bare}upkeep_numbers_in_range');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
SET @leasehold_change = (
    SELECT IF(COUNT(*) = 0, 'DO 0',
              'ALTER TABLE {prefix}fence_mark
               DROP CONSTRAINT {bare}fence_mark_in_range')
    FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = '{prefix}fence_mark'
      AND constraint_name = '{bare}fence_mark_in_range');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
