-- Takes back 0019.
ALTER TABLE {prefix}grant_history_rule DROP CONSTRAINT IF EXISTS {bare}grant_history_rule_in_range;
ALTER TABLE {prefix}upkeep DROP CONSTRAINT IF EXISTS {bare}upkeep_numbers_in_range;
ALTER TABLE {prefix}fence_mark DROP CONSTRAINT IF EXISTS {bare}fence_mark_in_range;
