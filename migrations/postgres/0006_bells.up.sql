-- Where a process hears that it is the turn of one of its waiting calls; null: nowhere, or as the
-- database's own notifications say.
ALTER TABLE {prefix}waiter ADD COLUMN bell text;
