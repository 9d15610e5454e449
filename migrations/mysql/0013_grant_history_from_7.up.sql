-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first.
CREATE TABLE IF NOT EXISTS {prefix}grant_history (
    lock_key  VARBINARY(255)  NOT NULL,
    token     BIGINT          NOT NULL COMMENT 'of this grant',
    kind      SMALLINT        NOT NULL COMMENT 'what the key was used as; see schema/README',
    mode      SMALLINT        NOT NULL COMMENT 'how it was held; see schema/README',
    permits   BIGINT          NOT NULL COMMENT 'of a semaphore; else 0',
    node_info VARBINARY(255)  NOT NULL COMMENT 'name@host:pid of the holder, for people',
    metadata  VARBINARY(4000)     NULL COMMENT 'the holder''s own words',
    ended_at  BIGINT          NOT NULL COMMENT 'microseconds since 1970, UTC',
    held_for  BIGINT              NULL COMMENT 'microseconds; null: not known',
    ending    SMALLINT        NOT NULL COMMENT '1 released, 2 expired, 3 forced, 4 replaced',
    PRIMARY KEY (lock_key, token),
    KEY {bare}grant_history_ended (ended_at)
) ENGINE = InnoDB;

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE IF NOT EXISTS {prefix}grant_history_rule (
    id    TINYINT  NOT NULL,
    is_on SMALLINT NOT NULL DEFAULT 0,
    keep  BIGINT   NOT NULL DEFAULT 2592000000000 COMMENT 'microseconds',
    PRIMARY KEY (id),
    CONSTRAINT {bare}grant_history_rule_single CHECK (id = 1)
) ENGINE = InnoDB;

INSERT INTO {prefix}grant_history_rule (id)
SELECT 1 FROM (SELECT 1 AS id) AS made
WHERE NOT EXISTS (SELECT 1 FROM {prefix}grant_history_rule there WHERE there.id = made.id);

-- The fence that the last forced release has left: what older grants end by is told from it. MySQL
-- has no ADD COLUMN IF NOT EXISTS. So that it can be run again it is asked for first.
SET @leasehold_change = (
    SELECT IF(COUNT(*) > 0, 'DO 0',
              'ALTER TABLE {prefix}lock ADD COLUMN forced BIGINT NOT NULL DEFAULT 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = '{prefix}lock' AND column_name = 'forced');
PREPARE leasehold_change FROM @leasehold_change;
EXECUTE leasehold_change;
DEALLOCATE PREPARE leasehold_change;
