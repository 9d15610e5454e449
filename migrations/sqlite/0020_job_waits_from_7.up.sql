-- Since when a job waits for a worker, for people and metrics: when it came due, was given back,
-- rescued or run again. Null: since it was enqueued; so it stays where an older program made the
-- job available.
ALTER TABLE {prefix}job ADD COLUMN available_at INTEGER;
