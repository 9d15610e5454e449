-- The shape of leasehold's tables on SQLite today, in one file, with the default names.
--
-- For reading, and for loading into an empty file with sqlite3. It leaves what `leasehold migrate`
-- leaves, down to the records of what is applied, so later versions migrate on from here; only the
-- mode of the log is a property of the file, and set by `PRAGMA journal_mode = WAL`. Bring another
-- prefix in with `leasehold --table-prefix P migrate sql`, which prints the same. What the columns
-- mean: README.md in this folder. A test proves that this file and the migrations make the same
-- tables.
--
-- Times are microseconds of the machine's CLOCK_BOOTTIME, bound by the program, where nothing else
-- is said.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
CREATE TABLE leasehold_session (
    id           BLOB    NOT NULL PRIMARY KEY,  -- 16 random bytes
    node_info    TEXT    NOT NULL,              -- name@host:pid, for people
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,              -- dead from this instant on
    notices      INTEGER NOT NULL,              -- grows when somebody else changed what it holds
    CHECK (length(id) = 16)
) WITHOUT ROWID;

-- One row per key ever locked, kept after release so that the fence goes on.
CREATE TABLE leasehold_lock (
    lock_key        BLOB    NOT NULL PRIMARY KEY,  -- UTF-8, compared byte by byte
    fence           INTEGER NOT NULL,              -- the token of the last grant; only grows
    owner           BLOB,                          -- 16 random bytes of this grant; null: free
    session_id      BLOB,                          -- lives with it; null: free or fixed term
    node_info       TEXT    NOT NULL,              -- of the last holder, for people
    reentrant_count INTEGER NOT NULL,              -- 0: free
    changed_at      INTEGER NOT NULL,              -- of the last grant or, where free, release
    expires_at      INTEGER,                       -- end of a fixed term, or null
    kind            INTEGER NOT NULL DEFAULT 1,    -- what the key is used as; see schema/README
    last_ticket     INTEGER NOT NULL DEFAULT 0,    -- of its queue; 0: nobody waits
    lock_delay      INTEGER NOT NULL DEFAULT 0,    -- microseconds it stays closed after a death
    revocations     INTEGER NOT NULL DEFAULT 0,    -- requests to this holder to let go
    metadata        TEXT,                          -- of the holder, for people and for followers
    capacity        INTEGER NOT NULL DEFAULT 0,    -- permits or places there are; 0: a mutex
    arrived         INTEGER NOT NULL DEFAULT 0,    -- at a latch
    proofs          INTEGER NOT NULL DEFAULT 0,    -- 0: a cluster of MySQL's family counts them
    forced          INTEGER NOT NULL DEFAULT 0,    -- what a forced release made of fence; 0: none
    CHECK (length(lock_key) BETWEEN 1 AND 255),
    CHECK (fence > 0),
    CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) WITHOUT ROWID;

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE leasehold_waiter (
    lock_key     BLOB    NOT NULL,
    ticket       INTEGER NOT NULL,            -- its place: the smallest is first; never used again
    owner        BLOB    NOT NULL,            -- 16 random bytes: of the grant it will be
    session_id   BLOB    NOT NULL,            -- waits while this session lives
    node_info    TEXT    NOT NULL,            -- for people
    mode         INTEGER NOT NULL DEFAULT 1,  -- 1: alone
    permits      INTEGER NOT NULL DEFAULT 1,
    hold_at_most INTEGER,                     -- microseconds of a fixed term, or null
    lock_delay   INTEGER NOT NULL DEFAULT 0,
    metadata     TEXT,
    queued_at    INTEGER NOT NULL,
    bell         TEXT,                        -- where its process hears that it is its turn
    PRIMARY KEY (lock_key, ticket),
    CHECK (length(owner) = 16)
) WITHOUT ROWID;
CREATE INDEX leasehold_waiter_session ON leasehold_waiter (session_id);
CREATE INDEX leasehold_waiter_owner ON leasehold_waiter (owner);

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the lock header, and its fence counts the grants.
CREATE TABLE leasehold_holder (
    lock_key   BLOB    NOT NULL,
    owner      BLOB    NOT NULL,  -- 16 random bytes of this grant
    session_id BLOB    NOT NULL,  -- lives with this session
    mode       INTEGER NOT NULL,  -- what it keeps out; see schema/README
    permits    INTEGER NOT NULL,  -- how much of the capacity it has
    fence      INTEGER NOT NULL,  -- its token; 0: it only waits
    node_info  TEXT    NOT NULL,  -- for people
    granted_at INTEGER NOT NULL,
    proofs     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (lock_key, owner),
    CHECK (permits >= 0 AND fence >= 0)
) WITHOUT ROWID;

-- One row: no removed lock row had a fence above this, so new rows start one higher.
-- boot_id: the kernel's random id of the boot whose clock the times above belong to. The first
-- process of another boot frees everything, since whoever held it is gone.
CREATE TABLE leasehold_fence_mark (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    fence   INTEGER NOT NULL,
    boot_id TEXT    NOT NULL
);
CREATE TRIGGER leasehold_fence_mark_numbers
BEFORE UPDATE OF fence ON leasehold_fence_mark
WHEN typeof(NEW.fence) <> 'integer' OR NEW.fence NOT BETWEEN 0 AND 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'fence: a whole number from 0 on'); END;

INSERT INTO leasehold_fence_mark (id, fence, boot_id) VALUES (1, 0, '');

-- Times of this table are microseconds since 1970 in UTC, by the machine's wall clock: fire times
-- are dates, and must mean the same after a reboot. Who holds what stays with CLOCK_BOOTTIME.
--
-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there.
CREATE TABLE leasehold_run (
    name        BLOB    NOT NULL PRIMARY KEY,  -- UTF-8; also the key that is locked while it runs
    tick        INTEGER NOT NULL,              -- the fire time; only grows
    token       INTEGER NOT NULL,              -- of the lease it was started under; only grows
    owner       BLOB    NOT NULL,              -- 16 random bytes of that lease
    node_info   TEXT    NOT NULL,              -- name@host:pid, for people
    started_at  INTEGER NOT NULL,
    opens_at    INTEGER NOT NULL,              -- no other run starts before
    finished_at INTEGER,                       -- null: it runs, or died
    state       INTEGER NOT NULL,              -- 1 started, 2 succeeded, 3 failed
    exit_status INTEGER,                       -- as its program gave it
    message     TEXT    NOT NULL,              -- as its program gave it, for people
    schedule    TEXT,                          -- when it fires; null: not known
    CHECK (length(name) BETWEEN 1 AND 255),
    CHECK (token > 0),
    CHECK ((finished_at IS NULL) = (state = 1))
) WITHOUT ROWID;

-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE leasehold_fence_guard (
    resource BLOB    NOT NULL PRIMARY KEY,  -- UTF-8, compared byte by byte
    fence    INTEGER NOT NULL,              -- only grows
    proofs   INTEGER NOT NULL DEFAULT 0,
    CHECK (length(resource) BETWEEN 1 AND 255),
    CHECK (fence > 0)
) WITHOUT ROWID;

-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE leasehold_upkeep (
    task       INTEGER NOT NULL PRIMARY KEY,  -- 1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle
    turn       INTEGER NOT NULL,              -- grows with everybody who goes on with it
    turned_at  INTEGER NOT NULL,              -- when that was
    unfinished INTEGER NOT NULL,              -- turns less steps: smaller steps where it is high
    place      BLOB    NOT NULL,              -- of the last row looked at; empty: the beginning
    passes     INTEGER NOT NULL,              -- how often it was through
    sweeps_to  INTEGER NOT NULL,              -- what ended before is gone after this pass
    swept_to   INTEGER NOT NULL               -- what ended before is gone
) WITHOUT ROWID;
CREATE TRIGGER leasehold_upkeep_numbers
BEFORE UPDATE OF turn, unfinished, passes ON leasehold_upkeep
WHEN typeof(NEW.turn) <> 'integer' OR NEW.turn NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(NEW.unfinished) <> 'integer' OR NEW.unfinished NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(NEW.passes) <> 'integer' OR NEW.passes NOT BETWEEN 0 AND 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'turn, unfinished and passes: whole numbers from 0 on'); END;

INSERT INTO leasehold_upkeep (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
VALUES
    (1, 0, 0, 0, x'', 0, 0, 0),
    (2, 0, 0, 0, x'', 0, 0, 0),
    (3, 0, 0, 0, x'', 0, 0, 0),
    (4, 0, 0, 0, x'', 0, 0, 0),
    (5, 0, 0, 0, x'', 0, 0, 0);

-- Jobs and their queues. A job that has not ended is a row of `job`, one that has is a row of
-- `job_history` for as long as its queue keeps it.
-- Times of these tables are microseconds since 1970 in UTC, by the machine's wall clock: when a job
-- is due is a date. Whether its session lives stays with CLOCK_BOOTTIME.

-- One row per queue that has a worker or a setting.
CREATE TABLE leasehold_queue (
    name                TEXT    NOT NULL PRIMARY KEY,
    is_paused           INTEGER NOT NULL DEFAULT 0,
    running_max         INTEGER,                          -- null: no limit
    running_per_key_max INTEGER NOT NULL DEFAULT 1,
    starts_max          INTEGER,                          -- in each starts_per; null: no limit
    starts_per          INTEGER NOT NULL DEFAULT 1000000,
    starts_from         INTEGER NOT NULL DEFAULT 0,       -- what has started is paid for until
    keep_completed      INTEGER NOT NULL DEFAULT 0,
    keep_discarded      INTEGER NOT NULL DEFAULT 604800000000,
    keep_cancelled      INTEGER NOT NULL DEFAULT 604800000000,
    turn                INTEGER NOT NULL DEFAULT 0,
    swept_at            INTEGER NOT NULL DEFAULT 0,
    CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 255)
) WITHOUT ROWID;
-- A column takes what is no number of its type.
CREATE TRIGGER leasehold_queue_limits BEFORE INSERT ON leasehold_queue
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.running_max) NOT IN ('integer', 'null')
     OR typeof(NEW.running_per_key_max) <> 'integer'
     OR NEW.running_per_key_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_max) NOT IN ('integer', 'null')
     OR NEW.starts_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_per) <> 'integer' OR NEW.starts_per NOT BETWEEN 1 AND 31622400000000
     OR typeof(NEW.keep_completed) <> 'integer'
     OR NEW.keep_completed NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_discarded) <> 'integer'
     OR NEW.keep_discarded NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_cancelled) <> 'integer'
     OR NEW.keep_cancelled NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'limits of a queue are whole numbers in their range'); END;
CREATE TRIGGER leasehold_queue_limits_changed
BEFORE UPDATE OF is_paused, running_max, running_per_key_max, starts_max, starts_per,
                 keep_completed, keep_discarded, keep_cancelled ON leasehold_queue
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.running_max) NOT IN ('integer', 'null')
     OR typeof(NEW.running_per_key_max) <> 'integer'
     OR NEW.running_per_key_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_max) NOT IN ('integer', 'null')
     OR NEW.starts_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_per) <> 'integer' OR NEW.starts_per NOT BETWEEN 1 AND 31622400000000
     OR typeof(NEW.keep_completed) <> 'integer'
     OR NEW.keep_completed NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_discarded) <> 'integer'
     OR NEW.keep_discarded NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_cancelled) <> 'integer'
     OR NEW.keep_cancelled NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'limits of a queue are whole numbers in their range'); END;

-- One row per job that has not ended: written by enqueue, claim and end. Null numbers have the
-- values that schema/README.md names.
CREATE TABLE leasehold_job (
    id                  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    queue               TEXT    NOT NULL,
    kind                TEXT    NOT NULL DEFAULT '',
    state               INTEGER NOT NULL DEFAULT 1,  -- see schema/README
    priority            INTEGER NOT NULL DEFAULT 0,  -- the smallest first
    attempts            INTEGER NOT NULL DEFAULT 0,  -- begun
    rescues             INTEGER NOT NULL DEFAULT 0,
    is_cancel_requested INTEGER NOT NULL DEFAULT 0,
    token               INTEGER NOT NULL DEFAULT 0,  -- of the last claim; only grows
    enqueued_at         INTEGER NOT NULL DEFAULT 0,  -- 0: not known
    due_at              INTEGER DEFAULT 0,           -- set while it waits for its time
    session_id          BLOB,                        -- null: does not run
    claimed_at          INTEGER,
    attempts_max        INTEGER,
    rescues_max         INTEGER,
    retry_delay         INTEGER,                     -- before the second attempt
    retry_delay_max     INTEGER,
    time_limit          INTEGER,                     -- of one attempt; null: none
    unique_until        INTEGER,                     -- 1: until it starts; null: until it has ended
    unique_slot         TEXT,                        -- null: free
    ordering_key        TEXT,
    node_info           TEXT,                        -- of the last claim, for people
    progress            TEXT,                        -- the handler's words
    error               TEXT,                        -- of the last attempt that failed
    payload             TEXT    NOT NULL DEFAULT '',
    available_at        INTEGER,                     -- null: since it was enqueued
    failures            TEXT,                        -- of attempts, at most 20
    traceparent         TEXT,                        -- of the enqueuer's span; null: none
    checkpoint          TEXT,                        -- of its handler; null: none
    checkpoint_at       INTEGER,
    CHECK (length(CAST(queue AS BLOB)) BETWEEN 1 AND 255),
    CHECK ((state = 3) = (session_id IS NOT NULL) AND (state IN (1, 4)) = (due_at IS NOT NULL)
           AND state BETWEEN 1 AND 5)
);
CREATE INDEX leasehold_job_order ON leasehold_job (queue, state, priority, id);
CREATE INDEX leasehold_job_due ON leasehold_job (queue, due_at, id) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX leasehold_job_unique ON leasehold_job (queue, unique_slot)
    WHERE unique_slot IS NOT NULL;
CREATE INDEX leasehold_job_ordering ON leasehold_job (queue, ordering_key, id)
    WHERE ordering_key IS NOT NULL;
-- The available jobs, by kind.
CREATE INDEX leasehold_job_kind ON leasehold_job (queue, kind, priority, id)
    WHERE state = 2;
-- A column takes what is no number of its type. What the library writes always passes.
CREATE TRIGGER leasehold_job_values BEFORE INSERT ON leasehold_job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.enqueued_at) <> 'integer'
     OR NEW.enqueued_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.state) <> 'integer'
     OR typeof(NEW.attempts) <> 'integer' OR typeof(NEW.rescues) <> 'integer'
     OR typeof(NEW.token) <> 'integer' OR typeof(NEW.is_cancel_requested) <> 'integer'
     OR typeof(NEW.queue) <> 'text' OR typeof(NEW.kind) <> 'text'
     OR NEW.id > 4611686018427387904 -- behind which there would be no number left for others
BEGIN SELECT RAISE(ABORT, 'whole numbers; queue, kind: text; due_at: microseconds since 1970'); END;
CREATE TRIGGER leasehold_job_values_changed
BEFORE UPDATE OF priority, due_at, enqueued_at, attempts_max, rescues_max, retry_delay,
                 retry_delay_max, time_limit, queue, kind, id ON leasehold_job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.enqueued_at) <> 'integer'
     OR NEW.enqueued_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.queue) <> 'text' OR typeof(NEW.kind) <> 'text'
     OR NEW.id > 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'whole numbers; queue, kind: text; due_at: microseconds since 1970'); END;

-- One row per job that has ended, until its time is over. Never changed.
CREATE TABLE leasehold_job_history (
    id              INTEGER NOT NULL PRIMARY KEY,
    queue           TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    state           INTEGER NOT NULL,  -- 6 completed, 7 discarded, 8 cancelled
    priority        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    rescues         INTEGER NOT NULL,
    token           INTEGER NOT NULL,
    enqueued_at     INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    prune_at        INTEGER NOT NULL,  -- gone from then on
    attempts_max    INTEGER,
    rescues_max     INTEGER,
    retry_delay     INTEGER,
    retry_delay_max INTEGER,
    time_limit      INTEGER,
    unique_until    INTEGER,
    unique_slot     TEXT,
    ordering_key    TEXT,
    node_info       TEXT,
    progress        TEXT,
    error           TEXT,
    result          TEXT,
    payload         TEXT    NOT NULL,
    failures        TEXT,
    traceparent     TEXT,
    checkpoint      TEXT,
    checkpoint_at   INTEGER
);
CREATE INDEX leasehold_job_history_prune ON leasehold_job_history (prune_at, id);
CREATE INDEX leasehold_job_history_queue ON leasehold_job_history (queue, state, id);

-- One row per schedule; changed by each fire time. Null numbers have the values that
-- schema/README.md names.
CREATE TABLE leasehold_job_schedule (
    name            TEXT    NOT NULL PRIMARY KEY,
    queue           TEXT    NOT NULL,
    is_paused       INTEGER NOT NULL DEFAULT 0,
    version         INTEGER NOT NULL,            -- another one with each change
    cron            TEXT,                        -- null: `period`
    zone            TEXT    NOT NULL DEFAULT 'UTC',
    period          INTEGER,                     -- null: `cron`
    misfire         INTEGER NOT NULL DEFAULT 2,  -- 1 skip, 2 once for all, 3 catch up
    catch_up_max    INTEGER NOT NULL DEFAULT 10,
    late_max        INTEGER NOT NULL DEFAULT 60000000,
    next_at         INTEGER NOT NULL,            -- the first fire time that has not fired
    last_at         INTEGER,                     -- the latest that has
    last_job        INTEGER,                     -- which it enqueued
    kind            TEXT    NOT NULL DEFAULT '',
    priority        INTEGER NOT NULL DEFAULT 0,
    attempts_max    INTEGER,
    rescues_max     INTEGER,
    retry_delay     INTEGER,
    retry_delay_max INTEGER,
    time_limit      INTEGER,
    unique_until    INTEGER,
    unique_conflict INTEGER NOT NULL DEFAULT 1,  -- 1 keep, 2 replace
    unique_key      TEXT,                        -- null: made of the fire time
    ordering_key    TEXT,
    payload         TEXT    NOT NULL DEFAULT '',
    CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    CHECK ((cron IS NULL) <> (period IS NULL))
) WITHOUT ROWID;
CREATE INDEX leasehold_job_schedule_next ON leasehold_job_schedule (queue, is_paused, next_at);
-- A column takes what is no number of its type.
CREATE TRIGGER leasehold_job_schedule_numbers BEFORE INSERT ON leasehold_job_schedule
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.version) <> 'integer'
     OR typeof(NEW.period) NOT IN ('integer', 'null') OR typeof(NEW.misfire) <> 'integer'
     OR NEW.misfire NOT BETWEEN 1 AND 3 OR typeof(NEW.catch_up_max) <> 'integer'
     OR NEW.catch_up_max NOT BETWEEN 1 AND 1000 OR typeof(NEW.late_max) <> 'integer'
     OR NEW.late_max NOT BETWEEN 0 AND 31622400000000 OR typeof(NEW.next_at) <> 'integer'
     OR NEW.next_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_at) NOT IN ('integer', 'null')
     OR NEW.last_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_job) NOT IN ('integer', 'null')
     OR typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_until) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_conflict) <> 'integer' OR NEW.unique_conflict NOT BETWEEN 1 AND 2
BEGIN SELECT RAISE(ABORT, 'numbers of a schedule are whole and in their range'); END;
CREATE TRIGGER leasehold_job_schedule_numbers_changed BEFORE UPDATE ON leasehold_job_schedule
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.version) <> 'integer'
     OR typeof(NEW.period) NOT IN ('integer', 'null') OR typeof(NEW.misfire) <> 'integer'
     OR NEW.misfire NOT BETWEEN 1 AND 3 OR typeof(NEW.catch_up_max) <> 'integer'
     OR NEW.catch_up_max NOT BETWEEN 1 AND 1000 OR typeof(NEW.late_max) <> 'integer'
     OR NEW.late_max NOT BETWEEN 0 AND 31622400000000 OR typeof(NEW.next_at) <> 'integer'
     OR NEW.next_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_at) NOT IN ('integer', 'null')
     OR NEW.last_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_job) NOT IN ('integer', 'null')
     OR typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_until) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_conflict) <> 'integer' OR NEW.unique_conflict NOT BETWEEN 1 AND 2
BEGIN SELECT RAISE(ABORT, 'numbers of a schedule are whole and in their range'); END;

-- One row per queue of each worker that can be notified, while it works.
CREATE TABLE leasehold_job_bell (
    queue      TEXT NOT NULL,
    bell       BLOB NOT NULL,  -- 16 random bytes: the subscriber's id
    session_id BLOB NOT NULL,  -- hears while this session lives
    address    TEXT NOT NULL,  -- where
    PRIMARY KEY (queue, bell)
) WITHOUT ROWID;

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE leasehold_job_need (
    job_id   INTEGER NOT NULL,            -- waits
    needs_id INTEGER NOT NULL,            -- for this one
    wants    INTEGER NOT NULL DEFAULT 1,  -- 1 that it completes, 2 that it ends, however
    PRIMARY KEY (job_id, needs_id)
) WITHOUT ROWID;
CREATE INDEX leasehold_job_need_needs ON leasehold_job_need (needs_id, job_id);

-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first. Times here are
-- microseconds since 1970.
CREATE TABLE leasehold_grant_history (
    lock_key  BLOB    NOT NULL,
    token     INTEGER NOT NULL,  -- of this grant
    kind      INTEGER NOT NULL,  -- what the key was used as; see schema/README
    mode      INTEGER NOT NULL,  -- how it was held; see schema/README
    permits   INTEGER NOT NULL,  -- of a semaphore; else 0
    node_info TEXT    NOT NULL,  -- name@host:pid of the holder, for people
    metadata  TEXT,              -- the holder's own words
    ended_at  INTEGER NOT NULL,
    held_for  INTEGER,           -- microseconds; null: not known
    ending    INTEGER NOT NULL,  -- 1 released, 2 expired, 3 forced, 4 replaced
    PRIMARY KEY (lock_key, token)
) WITHOUT ROWID;
CREATE INDEX leasehold_grant_history_ended ON leasehold_grant_history (ended_at);

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE leasehold_grant_history_rule (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    is_on INTEGER NOT NULL DEFAULT 0,
    keep  INTEGER NOT NULL DEFAULT 2592000000000,  -- microseconds
    -- From the boot's clock to the machine's, in microseconds, and of which boot that is.
    clock_offset INTEGER NOT NULL DEFAULT 0,
    boot_id      TEXT    NOT NULL DEFAULT ''
);
CREATE TRIGGER leasehold_grant_history_rule_numbers
BEFORE UPDATE OF is_on, keep ON leasehold_grant_history_rule
WHEN typeof(NEW.is_on) <> 'integer' OR NEW.is_on NOT BETWEEN 0 AND 1
    OR typeof(NEW.keep) <> 'integer' OR NEW.keep NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'is_on: 0 or 1; keep: microseconds, 100 years at most'); END;
INSERT INTO leasehold_grant_history_rule (id) VALUES (1);

-- Which migrations were applied, one row each.
CREATE TABLE leasehold_migration (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,  -- SHA-256 of the file
    applied_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    finished   INTEGER NOT NULL   -- 0: begun, and its end is not known
);

INSERT INTO leasehold_migration (version, name, checksum, finished)
VALUES
    (1, 'locks', '68292fd5f6c2f9381a1dafb66d92949221881e442ecb865a41491aa65ea64e28', 1),
    (2, 'runs', '8d84f6b7dc39cf2c27937e54db44d79687d7890787d1fbf02e20812e4f1bf589', 1),
    (3, 'fence_guard', 'a1a1a732c7ac0704f592bdc90b561630cc8f3b84f3607deb50455ab0414d07e8', 1),
    (4, 'waiter_indexes', '5f7a051e032a4c1e1b0f666da6726b483e912f47c854f7071792da2626415004', 1),
    (5, 'upkeep', 'f1920eb8a86cd5a217fc6e08cdbba74c33f8a3f911f2c0e33ae8c64f6d1658c8', 1),
    (6, 'bells', '65768e5af6a3fa8f9aec99cb86e436ffc8f96928b22001289a9e58da7a6c4693', 1),
    (7, 'proofs_from_6', 'd5b73e5059c4e2a9a90ae7a8bb2aec421e52dbba650e94c572c84298ef17ac8c', 1),
    (8, 'jobs_from_7', '053ec789dae886156d11c571e0bc07a4aa4349238a67c04a9337cdaf2fda9be7', 1),
    (9, 'job_schedules_from_7',
     '19d57a4932644ff4454652a4a12be8ae3a8ab1a0e64fd72bd5dacb4dc290b900', 1),
    (10, 'enqueue_from_7',
     '4b4c46dd4406ac29b770682bd2c655f33cdce0fd11eeb7cb176cfd50aa5e0d76', 1),
    (11, 'job_needs_from_7',
     '9350bdccf5675e01b0dff2e7ff1e12ce38999e445c2e76ac2408ee8f0aa7bbd3', 1),
    (12, 'run_schedules_from_7',
     'b1bda23e7197aadf53abf54bba5865ea034cb741a58d38409d54f8c39c6d7691', 1),
    (13, 'grant_history_from_7',
     '56be4d703e0b3bb56f4717d0c3fd6d7de25cbaba40082aa9ed8ed898c49d4a9d', 1),
    (14, 'job_values_from_7',
     'ba155b70b91992acb3a0af80793ce0a0546fba2ff859c12b19901a626223c0ab', 1),
    (15, 'enqueue_by_index_from_7',
     '17f777ceaf129e07b102f0923e4f8844707273d55338dc0622b96a9983a95afc', 1),
    (16, 'numbers_by_hand_from_7',
     '717c7951ad78ce736201f4aba71255cdd6f025da3eb04d713835bc8ac5396377', 1),
    (17, 'job_kinds_from_7',
     '0d4675313a119612d1c569b4268a9d2fcefed886dc42a95102fe13fb9301e618', 1),
    (18, 'job_texts_from_7',
     'b97304c79aea778862bd373ba4f258d378cfb4b3e9ab31860ace46b0ddb08b82', 1),
    (19, 'own_numbers_from_7',
     '45bfb9ac625fd96e0bab701e440f30ed345a86e5db5ab5d6121ec0df28b347c0', 1),
    (20, 'job_waits_from_7',
     '7c6532547423069a6e16b1dfd99ac31c82bec1966d4958e252da5a9ff02f2ca1', 1),
    (21, 'prove_from_7',
     '9a711a9373eda1b2a53e27f864429cdc1777116c38c57109a8e56bc1e1a7a918', 1),
    (22, 'job_failures_from_7',
     'a4e46c6b54d678866ffd5e440efc3445e909d37bba2223fcc003de63cf088574', 1),
    (23, 'job_traces_from_7',
     '0a3f0a3c66915c4674e1f087746199f6985cc45c9026c195395d1c0626f56c6c', 1);
