-- Takes back 0020.
ALTER TABLE {prefix}job DROP COLUMN available_at;
