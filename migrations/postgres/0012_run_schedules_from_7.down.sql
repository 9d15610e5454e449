-- Takes back 0012.
ALTER TABLE {prefix}run DROP COLUMN schedule;
