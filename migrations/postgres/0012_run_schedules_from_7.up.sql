-- When the task of a run fires, as the schedule it was started by says it: "30 2 * * * (UTC)",
-- "every 3600 s". Null: an older program started it, or it is longer than 255 bytes.
ALTER TABLE {prefix}run ADD COLUMN schedule text;
