-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE IF NOT EXISTS {prefix}upkeep (
    task       SMALLINT       NOT NULL COMMENT '1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle',
    turn       BIGINT         NOT NULL COMMENT 'grows with everybody who goes on with it',
    turned_at  BIGINT         NOT NULL COMMENT 'when that was',
    unfinished BIGINT         NOT NULL COMMENT 'turns less steps: smaller steps where it is high',
    place      VARBINARY(300) NOT NULL COMMENT 'of the last row looked at; empty: the beginning',
    passes     BIGINT         NOT NULL COMMENT 'how often it was through',
    sweeps_to  BIGINT         NOT NULL COMMENT 'what ended before is gone after this pass',
    swept_to   BIGINT         NOT NULL COMMENT 'what ended before is gone',
    PRIMARY KEY (task)
) ENGINE = InnoDB;

INSERT INTO {prefix}upkeep (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
SELECT made.task, 0, 0, 0, '', 0, 0, 0
FROM (SELECT 1 AS task UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)
    AS made
WHERE NOT EXISTS (SELECT 1 FROM {prefix}upkeep there WHERE there.task = made.task);
