-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE {prefix}upkeep (
    task       smallint    NOT NULL,  -- 1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle locks
    turn       bigint      NOT NULL,  -- grows with everybody who goes on with it
    turned_at  timestamptz NOT NULL,  -- when that was
    unfinished bigint      NOT NULL,  -- turns less steps: where it is high, steps become smaller
    place      bytea       NOT NULL,  -- of the last row that was looked at; empty: at the beginning
    passes     bigint      NOT NULL,  -- how often it was through
    sweeps_to  timestamptz NOT NULL,  -- what ended before is gone when this pass is through
    swept_to   timestamptz NOT NULL,  -- what ended before is gone
    CONSTRAINT {bare}upkeep_pkey PRIMARY KEY (task)
) WITH (fillfactor = 60);

INSERT INTO {prefix}upkeep
    (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
SELECT task, 0, 'epoch', 0, '', 0, 'epoch', 'epoch' FROM generate_series(1, 5) AS task;
