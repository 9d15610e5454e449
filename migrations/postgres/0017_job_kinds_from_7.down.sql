-- Takes back 0017.
DROP INDEX {prefix}job_kind;
