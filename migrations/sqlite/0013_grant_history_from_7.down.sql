-- Takes back 0013, also where history is being written.
DROP TRIGGER IF EXISTS {prefix}grant_ended;
DROP TRIGGER IF EXISTS {prefix}share_ended;
DROP TRIGGER IF EXISTS {prefix}share_replaced;
DROP TABLE {prefix}grant_history;
DROP TABLE {prefix}grant_history_rule;
ALTER TABLE {prefix}lock DROP COLUMN forced;
