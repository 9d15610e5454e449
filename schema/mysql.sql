-- The shape of leasehold's tables on MySQL and MariaDB today, in one file, with the default names.
--
-- For reading, and for loading into an empty database with mysql or mariadb. It leaves what
-- `leasehold migrate` leaves, down to the records of what is applied, so later versions migrate on
-- from here. Bring another prefix in with `leasehold --table-prefix P migrate sql`, which prints
-- the same. What the columns mean: README.md in this folder. A test proves, on both servers, that
-- this file and the migrations make the same tables.
--
-- Times are microseconds since 1970 in UTC, by the server's clock.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
CREATE TABLE leasehold_session (
    id           BINARY(16)     NOT NULL COMMENT '16 random bytes',
    node_info    VARBINARY(255) NOT NULL COMMENT 'name@host:pid, UTF-8, for people',
    started_at   BIGINT         NOT NULL,
    heartbeat_at BIGINT         NOT NULL,
    expires_at   BIGINT         NOT NULL COMMENT 'dead from this instant on',
    notices      BIGINT         NOT NULL COMMENT 'grows when somebody else changed what it holds',
    PRIMARY KEY (id)
) ENGINE = InnoDB;

-- One row per key ever locked, kept after release so that the fence goes on. Keys are VARBINARY:
-- the default collations make 'Job', 'JOB' and 'Job ' one key. No foreign key to the session: its
-- check would make heartbeats and grants wait for each other.
CREATE TABLE leasehold_lock (
    lock_key        VARBINARY(255) NOT NULL COMMENT 'UTF-8, compared byte by byte',
    fence           BIGINT         NOT NULL COMMENT 'the token of the last grant; only grows',
    owner           BINARY(16)         NULL COMMENT '16 random bytes of this grant; null: free',
    session_id      BINARY(16)         NULL COMMENT 'null: free or held for a fixed term',
    node_info       VARBINARY(255) NOT NULL COMMENT 'of the last holder, for people',
    reentrant_count BIGINT         NOT NULL COMMENT '0: free',
    changed_at      BIGINT         NOT NULL COMMENT 'of the last grant or, where free, release',
    expires_at      BIGINT             NULL COMMENT 'end of a fixed term',
    kind            SMALLINT       NOT NULL DEFAULT 1 COMMENT 'what the key is used as',
    last_ticket     BIGINT         NOT NULL DEFAULT 0 COMMENT 'of its queue; 0: nobody waits',
    lock_delay      BIGINT         NOT NULL DEFAULT 0 COMMENT 'how long closed after a death',
    revocations     BIGINT         NOT NULL DEFAULT 0 COMMENT 'requests to the holder to let go',
    metadata        VARBINARY(4000)    NULL COMMENT 'of the holder, UTF-8',
    capacity        BIGINT         NOT NULL DEFAULT 0 COMMENT 'permits or places; 0: a mutex',
    arrived         BIGINT         NOT NULL DEFAULT 0 COMMENT 'at a latch',
    proofs          BIGINT         NOT NULL DEFAULT 0,
    forced          BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (lock_key),
    CONSTRAINT leasehold_lock_key_size CHECK (LENGTH(lock_key) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_lock_fence_not_negative CHECK (fence >= 0),
    CONSTRAINT leasehold_lock_free_or_held CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) ENGINE = InnoDB;

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE leasehold_waiter (
    lock_key     VARBINARY(255)  NOT NULL,
    ticket       BIGINT          NOT NULL COMMENT 'the smallest is first; never used again',
    owner        BINARY(16)      NOT NULL COMMENT '16 random bytes: of the grant it will be',
    session_id   BINARY(16)      NOT NULL COMMENT 'waits while this session lives',
    node_info    VARBINARY(255)  NOT NULL COMMENT 'for people',
    mode         SMALLINT        NOT NULL DEFAULT 1 COMMENT '1: alone',
    permits      BIGINT          NOT NULL DEFAULT 1,
    hold_at_most BIGINT              NULL COMMENT 'microseconds of a fixed term, or null',
    lock_delay   BIGINT          NOT NULL DEFAULT 0,
    metadata     VARBINARY(4000)     NULL,
    queued_at    BIGINT          NOT NULL,
    bell         VARBINARY(255)      NULL,
    PRIMARY KEY (lock_key, ticket),
    KEY leasehold_waiter_session (session_id),
    KEY leasehold_waiter_owner (owner)
) ENGINE = InnoDB;

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the lock header, and its fence counts the grants.
CREATE TABLE leasehold_holder (
    lock_key   VARBINARY(255) NOT NULL,
    owner      BINARY(16)     NOT NULL COMMENT '16 random bytes of this grant',
    session_id BINARY(16)     NOT NULL COMMENT 'lives with this session',
    mode       SMALLINT       NOT NULL COMMENT 'what it keeps out; 0: of the dead',
    permits    BIGINT         NOT NULL COMMENT 'how much of the capacity it has',
    fence      BIGINT         NOT NULL COMMENT 'its token; 0: it only waits',
    node_info  VARBINARY(255) NOT NULL COMMENT 'for people',
    granted_at BIGINT         NOT NULL,
    proofs     BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (lock_key, owner),
    CONSTRAINT leasehold_holder_not_negative CHECK (permits >= 0 AND fence >= 0)
) ENGINE = InnoDB;

-- One row: no removed lock row had a fence above this, so new rows start there.
CREATE TABLE leasehold_fence_mark (
    id    TINYINT NOT NULL,
    fence BIGINT  NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT leasehold_fence_mark_single CHECK (id = 1),
    CONSTRAINT leasehold_fence_mark_in_range
        CHECK (fence BETWEEN 0 AND 4611686018427387904)
) ENGINE = InnoDB;

INSERT INTO leasehold_fence_mark (id, fence) VALUES (1, 0);

-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there. Rewritten twice per run.
CREATE TABLE leasehold_run (
    name        VARBINARY(255)  NOT NULL COMMENT 'UTF-8; also the key that is locked meanwhile',
    tick        BIGINT          NOT NULL COMMENT 'the fire time; only grows',
    token       BIGINT          NOT NULL COMMENT 'of the lease it was started under; only grows',
    owner       BINARY(16)      NOT NULL COMMENT '16 random bytes of that lease',
    node_info   VARBINARY(255)  NOT NULL COMMENT 'name@host:pid, UTF-8, for people',
    started_at  BIGINT          NOT NULL,
    opens_at    BIGINT          NOT NULL COMMENT 'no other run starts before',
    finished_at BIGINT              NULL COMMENT 'null: it runs, or died',
    state       SMALLINT        NOT NULL COMMENT '1 started, 2 succeeded, 3 failed',
    exit_status BIGINT              NULL COMMENT 'as its program gave it',
    message     VARBINARY(1000) NOT NULL COMMENT 'as its program gave it, UTF-8, for people',
    -- When it fires: "30 2 * * * (UTC)"; null: not known.
    schedule    VARBINARY(255)      NULL,
    PRIMARY KEY (name),
    CONSTRAINT leasehold_run_name_size CHECK (LENGTH(name) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_run_token_positive CHECK (token > 0),
    CONSTRAINT leasehold_run_started_or_finished CHECK ((finished_at IS NULL) = (state = 1))
) ENGINE = InnoDB;

-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE leasehold_fence_guard (
    resource VARBINARY(255) NOT NULL COMMENT 'UTF-8, compared byte by byte',
    fence    BIGINT         NOT NULL COMMENT 'only grows',
    proofs   BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (resource),
    CONSTRAINT leasehold_fence_guard_resource_size CHECK (LENGTH(resource) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_fence_guard_fence_positive CHECK (fence > 0)
) ENGINE = InnoDB;

-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE IF NOT EXISTS leasehold_upkeep (
    task       SMALLINT       NOT NULL COMMENT '1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle',
    turn       BIGINT         NOT NULL COMMENT 'grows with everybody who goes on with it',
    turned_at  BIGINT         NOT NULL COMMENT 'when that was',
    unfinished BIGINT         NOT NULL COMMENT 'turns less steps: smaller steps where it is high',
    place      VARBINARY(300) NOT NULL COMMENT 'of the last row looked at; empty: the beginning',
    passes     BIGINT         NOT NULL COMMENT 'how often it was through',
    sweeps_to  BIGINT         NOT NULL COMMENT 'what ended before is gone after this pass',
    swept_to   BIGINT         NOT NULL COMMENT 'what ended before is gone',
    PRIMARY KEY (task),
    CONSTRAINT leasehold_upkeep_numbers_in_range CHECK (
        turn BETWEEN 0 AND 4611686018427387904
        AND unfinished BETWEEN 0 AND 4611686018427387904
        AND passes BETWEEN 0 AND 4611686018427387904)
) ENGINE = InnoDB;

INSERT INTO leasehold_upkeep (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
SELECT made.task, 0, 0, 0, '', 0, 0, 0
FROM (SELECT 1 AS task UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)
    AS made
WHERE NOT EXISTS (SELECT 1 FROM leasehold_upkeep there WHERE there.task = made.task);

-- Jobs and their queues, for MySQL and MariaDB. A job that has not ended is a row of `job`, one
-- that has is a row of `job_history` for as long as its queue keeps it.

-- One row per queue that has a worker or a setting.
CREATE TABLE leasehold_queue (
    name                VARBINARY(255) NOT NULL,
    is_paused           SMALLINT       NOT NULL DEFAULT 0,
    running_max         INT                NULL COMMENT 'in the whole cluster; null: no limit',
    running_per_key_max INT            NOT NULL DEFAULT 1,
    starts_max          INT                NULL COMMENT 'in each starts_per; null: no limit',
    starts_per          BIGINT         NOT NULL DEFAULT 1000000 COMMENT 'microseconds',
    starts_from         BIGINT         NOT NULL DEFAULT 0 COMMENT 'paid for until then',
    keep_completed      BIGINT         NOT NULL DEFAULT 0 COMMENT 'microseconds',
    keep_discarded      BIGINT         NOT NULL DEFAULT 604800000000,
    keep_cancelled      BIGINT         NOT NULL DEFAULT 604800000000,
    turn                BIGINT         NOT NULL DEFAULT 0 COMMENT 'grows with claims in turn',
    swept_at            BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (name),
    CONSTRAINT leasehold_queue_name_size CHECK (LENGTH(name) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_queue_limits_in_range CHECK (
        running_per_key_max BETWEEN 1 AND 1000000 AND starts_max BETWEEN 1 AND 1000000
        AND starts_per BETWEEN 1 AND 31622400000000
        AND keep_completed BETWEEN 0 AND 3162240000000000
        AND keep_discarded BETWEEN 0 AND 3162240000000000
        AND keep_cancelled BETWEEN 0 AND 3162240000000000)
) ENGINE = InnoDB;

-- One row per job that has not ended: written by enqueue, claim and end. Null numbers have the
-- values that schema/README.md names. The order of each ORDER BY is that of an index, or more rows
-- than are claimed would be locked.
CREATE TABLE leasehold_job (
    id                  BIGINT         NOT NULL AUTO_INCREMENT,
    queue               VARBINARY(255) NOT NULL,
    kind                VARBINARY(255) NOT NULL DEFAULT '',
    state               SMALLINT       NOT NULL DEFAULT 1 COMMENT 'see schema/README',
    priority            SMALLINT       NOT NULL DEFAULT 0 COMMENT 'the smallest first',
    attempts            INT            NOT NULL DEFAULT 0 COMMENT 'begun',
    rescues             INT            NOT NULL DEFAULT 0,
    is_cancel_requested SMALLINT       NOT NULL DEFAULT 0,
    token               BIGINT         NOT NULL DEFAULT 0 COMMENT 'of the last claim; only grows',
    enqueued_at         BIGINT         NOT NULL DEFAULT 0 COMMENT '0: not known',
    due_at              BIGINT             NULL DEFAULT 0 COMMENT 'set while it waits for its time',
    session_id          BINARY(16)         NULL COMMENT 'null: does not run',
    claimed_at          BIGINT             NULL,
    attempts_max        INT                NULL,
    rescues_max         INT                NULL,
    retry_delay         BIGINT             NULL COMMENT 'microseconds, before the second attempt',
    retry_delay_max     BIGINT             NULL COMMENT 'microseconds',
    time_limit          BIGINT             NULL COMMENT 'microseconds of one attempt; null: none',
    unique_until        SMALLINT           NULL COMMENT '1: until it starts; null: until it ends',
    unique_slot         VARBINARY(255)     NULL COMMENT 'null: free',
    ordering_key        VARBINARY(255)     NULL,
    node_info           VARBINARY(255)     NULL COMMENT 'of the last claim, for people',
    progress            VARBINARY(4000)    NULL COMMENT 'the handler''s words',
    error               VARBINARY(4000)    NULL COMMENT 'of the last attempt that failed',
    payload             LONGBLOB       NOT NULL,
    available_at        BIGINT             NULL,
    failures            MEDIUMBLOB         NULL,
    traceparent         VARBINARY(255)     NULL,
    checkpoint          MEDIUMBLOB         NULL,
    checkpoint_at       BIGINT             NULL,
    PRIMARY KEY (id),
    KEY leasehold_job_order (queue, state, priority, id),
    KEY leasehold_job_due (queue, due_at, id),
    UNIQUE KEY leasehold_job_unique (queue, unique_slot),
    KEY leasehold_job_ordering (queue, ordering_key, id),
    KEY leasehold_job_kind (queue, kind, state, priority, id),
    CONSTRAINT leasehold_job_names_size CHECK (LENGTH(queue) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_job_runs_or_waits CHECK (
        (state = 3) = (session_id IS NOT NULL) AND (state IN (1, 4)) = (due_at IS NOT NULL)
        AND state BETWEEN 1 AND 5)
) ENGINE = InnoDB;

-- One row per job that has ended, until its time is over. Never changed.
CREATE TABLE leasehold_job_history (
    id              BIGINT         NOT NULL,
    queue           VARBINARY(255) NOT NULL,
    kind            VARBINARY(255) NOT NULL,
    state           SMALLINT       NOT NULL COMMENT '6 completed, 7 discarded, 8 cancelled',
    priority        SMALLINT       NOT NULL,
    attempts        INT            NOT NULL,
    rescues         INT            NOT NULL,
    token           BIGINT         NOT NULL,
    enqueued_at     BIGINT         NOT NULL,
    ended_at        BIGINT         NOT NULL,
    prune_at        BIGINT         NOT NULL COMMENT 'gone from then on',
    attempts_max    INT                NULL,
    rescues_max     INT                NULL,
    retry_delay     BIGINT             NULL,
    retry_delay_max BIGINT             NULL,
    time_limit      BIGINT             NULL,
    unique_until    SMALLINT           NULL,
    unique_slot     VARBINARY(255)     NULL,
    ordering_key    VARBINARY(255)     NULL,
    node_info       VARBINARY(255)     NULL,
    progress        VARBINARY(4000)    NULL,
    error           VARBINARY(4000)    NULL,
    result          VARBINARY(4000)    NULL,
    payload         LONGBLOB       NOT NULL,
    failures        MEDIUMBLOB         NULL,
    traceparent     VARBINARY(255)     NULL,
    checkpoint      MEDIUMBLOB         NULL,
    checkpoint_at   BIGINT             NULL,
    PRIMARY KEY (id),
    KEY leasehold_job_history_prune (prune_at, id),
    KEY leasehold_job_history_queue (queue, state, id)
) ENGINE = InnoDB;

-- One row per schedule; changed by each fire time. Null numbers have the values that
-- schema/README.md names.
CREATE TABLE leasehold_job_schedule (
    name            VARBINARY(200) NOT NULL,
    queue           VARBINARY(255) NOT NULL,
    is_paused       SMALLINT       NOT NULL DEFAULT 0,
    version         BIGINT         NOT NULL COMMENT 'another one with each change',
    cron            VARBINARY(1000)    NULL COMMENT 'null: period',
    zone            VARBINARY(255) NOT NULL DEFAULT 'UTC',
    period          BIGINT             NULL COMMENT 'microseconds; null: cron',
    misfire         SMALLINT       NOT NULL DEFAULT 2 COMMENT '1 skip, 2 once for all, 3 catch up',
    catch_up_max    INT            NOT NULL DEFAULT 10,
    late_max        BIGINT         NOT NULL DEFAULT 60000000 COMMENT 'microseconds',
    next_at         BIGINT         NOT NULL COMMENT 'the first fire time that has not fired',
    last_at         BIGINT             NULL COMMENT 'the latest that has',
    last_job        BIGINT             NULL COMMENT 'which it enqueued',
    kind            VARBINARY(255) NOT NULL DEFAULT '',
    priority        SMALLINT       NOT NULL DEFAULT 0,
    attempts_max    INT                NULL,
    rescues_max     INT                NULL,
    retry_delay     BIGINT             NULL,
    retry_delay_max BIGINT             NULL,
    time_limit      BIGINT             NULL,
    unique_until    SMALLINT           NULL,
    unique_conflict SMALLINT       NOT NULL DEFAULT 1 COMMENT '1 keep, 2 replace',
    unique_key      VARBINARY(255)     NULL COMMENT 'null: made of the fire time',
    ordering_key    VARBINARY(255)     NULL,
    payload         LONGBLOB       NOT NULL,
    PRIMARY KEY (name),
    KEY leasehold_job_schedule_next (queue, is_paused, next_at),
    CONSTRAINT leasehold_job_schedule_name_size CHECK (LENGTH(name) BETWEEN 1 AND 200),
    CONSTRAINT leasehold_job_schedule_times CHECK ((cron IS NULL) <> (period IS NULL)),
    CONSTRAINT leasehold_job_schedule_numbers_in_range CHECK (
        misfire BETWEEN 1 AND 3 AND catch_up_max BETWEEN 1 AND 1000
        AND late_max BETWEEN 0 AND 31622400000000
        AND next_at BETWEEN 0 AND 253402300799999999
        AND last_at BETWEEN 0 AND 253402300799999999 AND unique_conflict BETWEEN 1 AND 2)
) ENGINE = InnoDB;

-- One row per queue of each worker that can be notified, while it works.
CREATE TABLE leasehold_job_bell (
    queue      VARBINARY(255) NOT NULL,
    bell       BINARY(16)     NOT NULL COMMENT 'random: what is rung with',
    session_id BINARY(16)     NOT NULL COMMENT 'hears while this session lives',
    address    VARBINARY(255) NOT NULL COMMENT 'where',
    PRIMARY KEY (queue, bell)
) ENGINE = InnoDB;

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE leasehold_job_need (
    job_id   BIGINT   NOT NULL COMMENT 'waits',
    needs_id BIGINT   NOT NULL COMMENT 'for this one',
    wants    SMALLINT NOT NULL DEFAULT 1 COMMENT '1 that it completes, 2 that it ends, however',
    PRIMARY KEY (job_id, needs_id),
    KEY leasehold_job_need_needs (needs_id, job_id)
) ENGINE = InnoDB;

-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first.
CREATE TABLE leasehold_grant_history (
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
    KEY leasehold_grant_history_ended (ended_at)
) ENGINE = InnoDB;

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE leasehold_grant_history_rule (
    id    TINYINT  NOT NULL,
    is_on SMALLINT NOT NULL DEFAULT 0,
    keep  BIGINT   NOT NULL DEFAULT 2592000000000 COMMENT 'microseconds',
    PRIMARY KEY (id),
    CONSTRAINT leasehold_grant_history_rule_single CHECK (id = 1),
    CONSTRAINT leasehold_grant_history_rule_in_range
        CHECK (is_on BETWEEN 0 AND 1 AND keep BETWEEN 0 AND 3162240000000000)
) ENGINE = InnoDB;

INSERT INTO leasehold_grant_history_rule (id) VALUES (1);

-- Which migrations were applied, one row each.
CREATE TABLE leasehold_migration (
    version    INT          NOT NULL,
    name       VARCHAR(100) CHARACTER SET ascii NOT NULL,
    checksum   CHAR(64)     CHARACTER SET ascii NOT NULL COMMENT 'SHA-256 of the up file',
    applied_at BIGINT       NOT NULL COMMENT 'microseconds since 1970, UTC',
    finished   TINYINT      NOT NULL COMMENT '0: begun, its statements must be run again',
    PRIMARY KEY (version)
) ENGINE = InnoDB;

INSERT INTO leasehold_migration (version, name, checksum, applied_at, finished)
VALUES (
    1, 'locks', '0d6046ffb809a964bee109b11cf93da614552b049b29769e95c254e7bb316a8d',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    2, 'runs', '1b8b0f7b9a213df682fa8def6f5af3a8d68c678885b7a3388be99b355212ad76',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    3, 'fence_guard', 'f9975867f5be708f1b61d20c7315a2610f21b1a43881da01ed8670b341cc08d1',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    4, 'waiter_indexes', 'aa5b636cdfece48176a1943fa481a697c6d4f01f5d73492250dc1c7ce16ebc2c',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    5, 'upkeep', 'c2fd2f910f2ae96fc67a5776147b75b9f96623ea4da9e526005472a355222513',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    6, 'bells', '1e9743758ea9e57657716a70e624a4b6a9a9b7aa0c409e7cd1e6e7902e9896ac',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    7, 'proofs_from_6', '88f808235e8f4eb2c092aba4473e1e9eeb0e56d874598097d218aa8b6475e50b',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    8, 'jobs_from_7', 'fa3f3841b1117462db35aceda95b41ea4811855bdc3ee82d955c6bf6cfb974a0',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    9, 'job_schedules_from_7', '82665e5540442e5e10870164ea573db8bc11175ce4cfeaa667119711615e57f6',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    10, 'enqueue_from_7', '4b4c46dd4406ac29b770682bd2c655f33cdce0fd11eeb7cb176cfd50aa5e0d76',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    11, 'job_needs_from_7', '28e77c1020ea4ac793e503e1194af8c140cc0e391593d72ca79401ff2943f20f',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    12, 'run_schedules_from_7', 'e0b4b4c6eff9b521f86703c9df7849bd5ad8080ecc021f26139996288ec811de',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    13, 'grant_history_from_7', '01d3e04352f6f59f91180139d4d04179630ab03e951dd0de1727fac327923249',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    14, 'job_values_from_7', '7638e7bb8be5bb8c0f7d2cefaf5aa2f4cfed59f40084fb9afbabc18246f74f3e',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    15, 'enqueue_by_index_from_7',
    '17f777ceaf129e07b102f0923e4f8844707273d55338dc0622b96a9983a95afc',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    16, 'numbers_by_hand_from_7',
    '993d613fc5f72576bf13f71e99ed5bc5ac3f2ad4333535666b9c266158bc064e',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    17, 'job_kinds_from_7', '7c5907c204e48214191d9d127b6d49396895c10a8dfa85b253f332b31cc063d9',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    18, 'job_texts_from_7', '5b5f987800899fbaba5f01ff86948262a3ac45cccb683727b1cb59836287abfd',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    19, 'own_numbers_from_7',
    '1f5a7202f9bb4669f828976cdfd7eb2719095cd167ef017a617a4cbef2d1a620',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    20, 'job_waits_from_7', '11e37cc503c3eccf7dd6a33109268326850ad1f8846b9f23180984dbc8c1ec8a',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    21, 'prove_from_7', '9a711a9373eda1b2a53e27f864429cdc1777116c38c57109a8e56bc1e1a7a918',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    22, 'job_failures_from_7', 'd3aad47cb764a47af46df48dd37308c80a48a43abd131b5b361091e65174186b',
    UNIX_TIMESTAMP() * 1000000, 1
), (
    23, 'job_traces_from_7', 'bc0fbea2eac6a59f4e8210fa10fee2b31f192d633b6e36e9ae7b8db5f29a8b13',
    UNIX_TIMESTAMP() * 1000000, 1
);
