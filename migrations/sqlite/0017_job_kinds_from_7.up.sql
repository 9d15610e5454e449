-- Claims find the available jobs of a kind, however many of other kinds stand before them.
CREATE INDEX {bare}job_kind ON {prefix}job (queue, kind, priority, id) WHERE state = 2;
