-- Takes back 0017.
DROP INDEX {bare}job_kind;
