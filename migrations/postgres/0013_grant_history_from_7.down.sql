-- Takes back 0013, also where history is being written.
DROP TRIGGER IF EXISTS {bare}grant_ended ON {prefix}lock;
DROP TRIGGER IF EXISTS {bare}share_ended ON {prefix}holder;
DROP TRIGGER IF EXISTS {bare}share_replaced ON {prefix}holder;
DROP FUNCTION IF EXISTS {prefix}grant_ended();
DROP FUNCTION IF EXISTS {prefix}share_ended();
DROP TABLE {prefix}grant_history;
DROP TABLE {prefix}grant_history_rule;
ALTER TABLE {prefix}lock DROP COLUMN forced;
