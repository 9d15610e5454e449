-- Where a process hears that it is the turn of one of its waiting calls; null: nowhere, or as the
-- file itself says.
ALTER TABLE {prefix}waiter ADD COLUMN bell TEXT;
