-- The attempts of a job that failed, at most 20, for people: see schema/README.md. Null: none, or
-- an older program has recorded them nowhere.
ALTER TABLE {prefix}job ADD COLUMN failures text;
ALTER TABLE {prefix}job_history ADD COLUMN failures text;
