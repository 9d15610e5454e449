-- Takes back 0006.
ALTER TABLE {prefix}waiter DROP COLUMN bell;
