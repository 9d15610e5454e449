-- Takes back 0019.
DROP TRIGGER {prefix}grant_history_rule_numbers;
DROP TRIGGER {prefix}upkeep_numbers;
DROP TRIGGER {prefix}fence_mark_numbers;
