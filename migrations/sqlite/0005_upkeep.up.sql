-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE {prefix}upkeep (
    task       INTEGER NOT NULL PRIMARY KEY,  -- 1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle
    turn       INTEGER NOT NULL,              -- grows with everybody who goes on with it
    turned_at  INTEGER NOT NULL,              -- when that was
    unfinished INTEGER NOT NULL,              -- turns less steps: smaller steps where it is high
    place      BLOB    NOT NULL,              -- of the last row looked at; empty: the beginning
    passes     INTEGER NOT NULL,              -- how often it was through
    sweeps_to  INTEGER NOT NULL,              -- what ended before is gone after this pass
    swept_to   INTEGER NOT NULL               -- what ended before is gone
) WITHOUT ROWID;

INSERT INTO {prefix}upkeep (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
VALUES
    (1, 0, 0, 0, x'', 0, 0, 0),
    (2, 0, 0, 0, x'', 0, 0, 0),
    (3, 0, 0, 0, x'', 0, 0, 0),
    (4, 0, 0, 0, x'', 0, 0, 0),
    (5, 0, 0, 0, x'', 0, 0, 0);
