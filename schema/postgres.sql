-- The shape of leasehold's tables on PostgreSQL today, with the default names, for reading and for
-- loading into an empty schema with psql. It leaves what `leasehold migrate` leaves, down to the
-- records of what is applied, so later versions migrate on from here. With other names `leasehold
-- --table-prefix P --schema S migrate sql` prints the same. What the columns mean: README.md here.
-- A test proves that this file and the migrations make the same tables.

-- One row per live process: its heartbeat is one update of one row, however much it holds.
-- fillfactor: every heartbeat is a HOT update while the page has room, so expires_at has no index.
CREATE TABLE leasehold_session (
    id           bytea       NOT NULL,  -- 16 random bytes
    node_info    text        NOT NULL,  -- name@host:pid, for people
    started_at   timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,  -- dead from this instant on, by this server's clock
    notices      bigint      NOT NULL,  -- grows when somebody else changed what it holds
    CONSTRAINT leasehold_session_pkey PRIMARY KEY (id),
    CONSTRAINT leasehold_session_id_size CHECK (octet_length(id) = 16)
) WITH (fillfactor = 60);

-- One row per key ever locked, kept after release so that the fence goes on.
-- No foreign key to the session: its check would make heartbeats and grants wait for each other.
CREATE TABLE leasehold_lock (
    lock_key        bytea       NOT NULL,  -- UTF-8, compared byte by byte
    fence           bigint      NOT NULL,  -- the token of the last grant; only grows
    owner           bytea,                 -- 16 random bytes of this grant; null: free
    session_id      bytea,                 -- lives with this session; null: free or a fixed term
    node_info       text        NOT NULL,  -- of the last holder, for people
    reentrant_count bigint      NOT NULL,  -- 0: free
    changed_at      timestamptz NOT NULL,  -- of the last grant or, where free, release
    expires_at      timestamptz,           -- end of a fixed term; null: lives with its session
    kind            smallint    NOT NULL DEFAULT 1,  -- what the key is used as; see schema/README
    last_ticket     bigint      NOT NULL DEFAULT 0,  -- of its queue; 0: nobody waits
    lock_delay      bigint      NOT NULL DEFAULT 0,  -- microseconds it stays closed after a death
    revocations     bigint      NOT NULL DEFAULT 0,  -- requests to this holder to let go
    metadata        text,                  -- of the holder, for people and for followers
    capacity        bigint      NOT NULL DEFAULT 0,  -- permits or places there are; 0: a mutex
    arrived         bigint      NOT NULL DEFAULT 0,  -- at a latch
    proofs          bigint      NOT NULL DEFAULT 0,  -- 0: a cluster of MySQL's family counts them
    forced          bigint      NOT NULL DEFAULT 0,  -- what a forced release made of fence; 0: none
    CONSTRAINT leasehold_lock_pkey PRIMARY KEY (lock_key),
    CONSTRAINT leasehold_lock_key_size CHECK (octet_length(lock_key) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_lock_fence_positive CHECK (fence > 0),
    CONSTRAINT leasehold_lock_free_or_held CHECK (
        (owner IS NULL AND session_id IS NULL AND expires_at IS NULL AND reentrant_count = 0)
        OR (owner IS NOT NULL AND (session_id IS NULL) <> (expires_at IS NULL)
            AND reentrant_count > 0))
) WITH (fillfactor = 60);

-- One row per waiting acquire, first come first served: the row is granted from as it stands.
CREATE TABLE leasehold_waiter (
    lock_key     bytea       NOT NULL,
    ticket       bigint      NOT NULL,  -- its place: the smallest is first; never used again
    owner        bytea       NOT NULL,  -- 16 random bytes: of the grant it will be
    session_id   bytea       NOT NULL,  -- waits while this session lives
    node_info    text        NOT NULL,  -- for people
    mode         smallint    NOT NULL DEFAULT 1,  -- 1: alone
    permits      bigint      NOT NULL DEFAULT 1,
    hold_at_most bigint,                -- microseconds of a fixed term; null: with its session
    lock_delay   bigint      NOT NULL DEFAULT 0,
    metadata     text,
    queued_at    timestamptz NOT NULL,
    bell         text,               -- where its process hears that it is its turn
    CONSTRAINT leasehold_waiter_pkey PRIMARY KEY (lock_key, ticket),
    CONSTRAINT leasehold_waiter_owner_size CHECK (octet_length(owner) = 16)
);
CREATE INDEX leasehold_waiter_session ON leasehold_waiter (session_id);
CREATE INDEX leasehold_waiter_owner ON leasehold_waiter (owner);

-- One row per holder of a key that several can hold, and per writer waiting for one. The lock row
-- of such a key has no owner: it is the lock header, and its fence counts the grants.
CREATE TABLE leasehold_holder (
    lock_key   bytea       NOT NULL,
    owner      bytea       NOT NULL,  -- 16 random bytes of this grant
    session_id bytea       NOT NULL,  -- lives with this session
    mode       smallint    NOT NULL,  -- what it keeps out; see schema/README
    permits    bigint      NOT NULL,  -- how much of the capacity it has
    fence      bigint      NOT NULL,  -- its token; 0: it only waits
    node_info  text        NOT NULL,  -- for people
    granted_at timestamptz NOT NULL,
    proofs     bigint      NOT NULL DEFAULT 0,
    CONSTRAINT leasehold_holder_pkey PRIMARY KEY (lock_key, owner),
    CONSTRAINT leasehold_holder_not_negative CHECK (permits >= 0 AND fence >= 0)
) WITH (fillfactor = 60);

-- One row: no removed lock row had a fence above this, so new rows start one higher.
CREATE TABLE leasehold_fence_mark (
    id    smallint NOT NULL,
    fence bigint   NOT NULL,
    CONSTRAINT leasehold_fence_mark_pkey PRIMARY KEY (id),
    CONSTRAINT leasehold_fence_mark_single CHECK (id = 1),
    CONSTRAINT leasehold_fence_mark_in_range CHECK (fence BETWEEN 0 AND 4611686018427387904)
);

INSERT INTO leasehold_fence_mark (id, fence) VALUES (1, 0);

-- One row per task, kept for good: without it a fire time would run again. Whether it still runs
-- is for its lock row to say: the token here is the fence there. Rewritten twice per run.
CREATE TABLE leasehold_run (
    name        bytea       NOT NULL,  -- UTF-8; also the key that is locked while it runs
    tick        bigint      NOT NULL,  -- the fire time: microseconds since 1970, UTC; only grows
    token       bigint      NOT NULL,  -- of the lease it was started under; only grows
    owner       bytea       NOT NULL,  -- 16 random bytes of that lease
    node_info   text        NOT NULL,  -- name@host:pid, for people
    started_at  timestamptz NOT NULL,
    opens_at    timestamptz NOT NULL,  -- no other run starts before
    finished_at timestamptz,           -- null: it runs, or died
    state       smallint    NOT NULL,  -- 1 started, 2 succeeded, 3 failed
    exit_status bigint,                -- as its program gave it
    message     text        NOT NULL,  -- as its program gave it, for people
    schedule    text,                  -- when it fires: "30 2 * * * (UTC)"; null: not known
    CONSTRAINT leasehold_run_pkey PRIMARY KEY (name),
    CONSTRAINT leasehold_run_name_size CHECK (octet_length(name) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_run_token_positive CHECK (token > 0),
    CONSTRAINT leasehold_run_started_or_finished CHECK ((finished_at IS NULL) = (state = 1))
) WITH (fillfactor = 60);

-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE leasehold_fence_guard (
    resource bytea  NOT NULL,  -- UTF-8, compared byte by byte
    fence    bigint NOT NULL,  -- only grows
    proofs   bigint NOT NULL DEFAULT 0,
    CONSTRAINT leasehold_fence_guard_pkey PRIMARY KEY (resource),
    CONSTRAINT leasehold_fence_guard_resource_size CHECK (octet_length(resource) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_fence_guard_fence_positive CHECK (fence > 0)
) WITH (fillfactor = 60);

-- How far each task of the clean-up is in its table, so that it goes on there, whoever does it.
CREATE TABLE leasehold_upkeep (
    task       smallint    NOT NULL,  -- 1 locks, 2 holders, 3 waiters, 4 sessions, 5 idle locks
    turn       bigint      NOT NULL,  -- grows with everybody who goes on with it
    turned_at  timestamptz NOT NULL,  -- when that was
    unfinished bigint      NOT NULL,  -- turns less steps: where it is high, steps become smaller
    place      bytea       NOT NULL,  -- of the last row that was looked at; empty: at the beginning
    passes     bigint      NOT NULL,  -- how often it was through
    sweeps_to  timestamptz NOT NULL,  -- what ended before is gone when this pass is through
    swept_to   timestamptz NOT NULL,  -- what ended before is gone
    CONSTRAINT leasehold_upkeep_pkey PRIMARY KEY (task),
    CONSTRAINT leasehold_upkeep_numbers_in_range CHECK (
        turn BETWEEN 0 AND 4611686018427387904 AND unfinished BETWEEN 0 AND 4611686018427387904
        AND passes BETWEEN 0 AND 4611686018427387904)
) WITH (fillfactor = 60);

INSERT INTO leasehold_upkeep
    (task, turn, turned_at, unfinished, place, passes, sweeps_to, swept_to)
SELECT task, 0, 'epoch', 0, '', 0, 'epoch', 'epoch' FROM generate_series(1, 5) AS task;

-- One row per queue that has a worker or a setting.
CREATE TABLE leasehold_queue (
    name                text        COLLATE "C" NOT NULL,
    is_paused           smallint    NOT NULL DEFAULT 0,
    running_max         integer,               -- in the whole cluster; null: no limit
    running_per_key_max integer     NOT NULL DEFAULT 1,
    starts_max          integer,               -- in each starts_per; null: no limit
    starts_per          bigint      NOT NULL DEFAULT 1000000,  -- microseconds
    starts_from         timestamptz NOT NULL DEFAULT 'epoch',  -- what has started is paid for until
    keep_completed      bigint      NOT NULL DEFAULT 0,        -- microseconds
    keep_discarded      bigint      NOT NULL DEFAULT 604800000000,
    keep_cancelled      bigint      NOT NULL DEFAULT 604800000000,
    turn                bigint      NOT NULL DEFAULT 0,  -- grows with each claim in turn
    swept_at            timestamptz NOT NULL DEFAULT 'epoch',
    CONSTRAINT leasehold_queue_pkey PRIMARY KEY (name),
    CONSTRAINT leasehold_queue_name_size CHECK (octet_length(name) BETWEEN 1 AND 255),
    CONSTRAINT leasehold_queue_times_are_finite CHECK (
        isfinite(swept_at) AND isfinite(starts_from)),
    CONSTRAINT leasehold_queue_limits_in_range CHECK (
        running_per_key_max BETWEEN 1 AND 1000000 AND starts_max BETWEEN 1 AND 1000000
        AND starts_per BETWEEN 1 AND 31622400000000
        AND keep_completed BETWEEN 0 AND 3162240000000000
        AND keep_discarded BETWEEN 0 AND 3162240000000000
        AND keep_cancelled BETWEEN 0 AND 3162240000000000)
) WITH (fillfactor = 60);

-- One row per job that has not ended: written by enqueue, claim and end. A payload that is not
-- small is stored beside the row (TOAST), so that a claim does not write it again. Null numbers
-- have the values that schema/README.md names. Dead rows come as fast as jobs are done, so it is
-- vacuumed by their number, not by their share.
CREATE TABLE leasehold_job (
    id                  bigint      GENERATED BY DEFAULT AS IDENTITY,
    queue               text        COLLATE "C" NOT NULL,
    kind                text        COLLATE "C" NOT NULL DEFAULT '',
    state               smallint    NOT NULL DEFAULT 1,  -- see schema/README
    priority            smallint    NOT NULL DEFAULT 0,  -- the smallest first
    attempts            integer     NOT NULL DEFAULT 0,  -- begun
    rescues             integer     NOT NULL DEFAULT 0,
    is_cancel_requested smallint    NOT NULL DEFAULT 0,
    token               bigint      NOT NULL DEFAULT 0,  -- of the last claim; only grows
    enqueued_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at              timestamptz DEFAULT 'epoch',  -- set while it waits for its time
    session_id          bytea,                 -- runs while this session lives; null: does not run
    claimed_at          timestamptz,
    attempts_max        integer,
    rescues_max         integer,
    retry_delay         bigint,                -- microseconds, before the second attempt
    retry_delay_max     bigint,                -- microseconds
    time_limit          bigint,                -- microseconds of one attempt; null: none
    unique_until        smallint,              -- 1: until it starts; null: until it has ended
    unique_slot         text        COLLATE "C",  -- null: free
    ordering_key        text        COLLATE "C",
    node_info           text,                  -- of the last claim, for people
    progress            text,                  -- the handler's words
    error               text,                  -- of the last attempt that failed
    payload             text        NOT NULL DEFAULT '',
    available_at        timestamptz,           -- null: since it was enqueued
    failures            text,                  -- of attempts, at most 20
    traceparent         text,                  -- of the enqueuer's span; null: none
    checkpoint          text,                  -- of its handler; null: none
    checkpoint_at       timestamptz,
    CONSTRAINT leasehold_job_pkey PRIMARY KEY (id),
    CONSTRAINT leasehold_job_names_size CHECK (
        octet_length(queue) BETWEEN 1 AND 255 AND octet_length(kind) <= 255),
    CONSTRAINT leasehold_job_runs_or_waits CHECK (
        (state = 3) = (session_id IS NOT NULL) AND (state IN (1, 4)) = (due_at IS NOT NULL)
        AND state BETWEEN 1 AND 5),
    CONSTRAINT leasehold_job_due_at_is_finite CHECK (isfinite(due_at)),
    CONSTRAINT leasehold_job_enqueued_at_is_finite CHECK (isfinite(enqueued_at))
) WITH (fillfactor = 80, toast_tuple_target = 256, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
-- What is available, runs or is blocked, by state: claims read its beginning, in order.
CREATE INDEX leasehold_job_order ON leasehold_job (queue, state, priority, id)
    WHERE state IN (2, 3, 5);
CREATE INDEX leasehold_job_due ON leasehold_job (queue, due_at, id) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX leasehold_job_unique ON leasehold_job (queue, unique_slot)
    WHERE unique_slot IS NOT NULL;
CREATE INDEX leasehold_job_ordering ON leasehold_job (queue, ordering_key, id)
    WHERE ordering_key IS NOT NULL;
-- The available jobs, by kind.
CREATE INDEX leasehold_job_kind ON leasehold_job (queue, kind, priority, id)
    WHERE state = 2;

-- One row per job that has ended, for as long as its queue keeps it. Never changed.
CREATE TABLE leasehold_job_history (
    id              bigint      NOT NULL,
    queue           text        COLLATE "C" NOT NULL,
    kind            text        COLLATE "C" NOT NULL,
    state           smallint    NOT NULL,  -- 6 completed, 7 discarded, 8 cancelled
    priority        smallint    NOT NULL,
    attempts        integer     NOT NULL,
    rescues         integer     NOT NULL,
    token           bigint      NOT NULL,
    enqueued_at     timestamptz NOT NULL,
    ended_at        timestamptz NOT NULL,
    prune_at        timestamptz NOT NULL,  -- gone from then on
    attempts_max    integer,
    rescues_max     integer,
    retry_delay     bigint,
    retry_delay_max bigint,
    time_limit      bigint,
    unique_until    smallint,
    unique_slot     text        COLLATE "C",
    ordering_key    text        COLLATE "C",
    node_info       text,
    progress        text,
    error           text,
    result          text,
    payload         text        NOT NULL,
    failures        text,
    traceparent     text,
    checkpoint      text,
    checkpoint_at   timestamptz,
    CONSTRAINT leasehold_job_history_pkey PRIMARY KEY (id),
    CONSTRAINT leasehold_job_history_times_are_finite CHECK (
        isfinite(enqueued_at) AND isfinite(ended_at))
) WITH (toast_tuple_target = 256);
CREATE INDEX leasehold_job_history_prune ON leasehold_job_history (prune_at, id);
CREATE INDEX leasehold_job_history_queue ON leasehold_job_history (queue, state, id);

-- One row per schedule; changed by each fire time. Instants are microseconds since 1970 in UTC.
-- Null numbers have the values that schema/README.md names.
CREATE TABLE leasehold_job_schedule (
    name            text     COLLATE "C" NOT NULL,
    queue           text     COLLATE "C" NOT NULL,
    is_paused       smallint NOT NULL DEFAULT 0,
    version         bigint   NOT NULL,           -- another one with each change
    cron            text,                        -- null: `period`
    zone            text     NOT NULL DEFAULT 'UTC',
    period          bigint,                      -- microseconds; null: `cron`
    misfire         smallint NOT NULL DEFAULT 2, -- 1 skip, 2 once for all, 3 catch up
    catch_up_max    integer  NOT NULL DEFAULT 10,
    late_max        bigint   NOT NULL DEFAULT 60000000,  -- microseconds
    next_at         bigint   NOT NULL,           -- the first fire time that has not fired
    last_at         bigint,                      -- the latest that has
    last_job        bigint,                      -- which it enqueued
    kind            text     COLLATE "C" NOT NULL DEFAULT '',
    priority        smallint NOT NULL DEFAULT 0,
    attempts_max    integer,
    rescues_max     integer,
    retry_delay     bigint,
    retry_delay_max bigint,
    time_limit      bigint,
    unique_until    smallint,
    unique_conflict smallint NOT NULL DEFAULT 1, -- 1 keep, 2 replace
    unique_key      text     COLLATE "C",        -- null: made of the fire time
    ordering_key    text     COLLATE "C",
    payload         text     NOT NULL DEFAULT '',
    CONSTRAINT leasehold_job_schedule_pkey PRIMARY KEY (name),
    CONSTRAINT leasehold_job_schedule_name_size CHECK (octet_length(name) BETWEEN 1 AND 200),
    CONSTRAINT leasehold_job_schedule_times CHECK ((cron IS NULL) <> (period IS NULL)),
    CONSTRAINT leasehold_job_schedule_numbers_in_range CHECK (
        misfire BETWEEN 1 AND 3 AND catch_up_max BETWEEN 1 AND 1000
        AND late_max BETWEEN 0 AND 31622400000000
        AND next_at BETWEEN 0 AND 253402300799999999
        AND last_at BETWEEN 0 AND 253402300799999999 AND unique_conflict BETWEEN 1 AND 2)
);
CREATE INDEX leasehold_job_schedule_next ON leasehold_job_schedule (queue, is_paused, next_at);

-- One row per queue of each worker that can be notified, while it works.
CREATE TABLE leasehold_job_bell (
    queue      text   COLLATE "C" NOT NULL,
    bell       bytea  NOT NULL,  -- 16 random bytes: the subscriber's id
    session_id bytea  NOT NULL,  -- hears while this session lives
    address    text   NOT NULL,  -- where; empty: by the database's notifications alone
    CONSTRAINT leasehold_job_bell_pkey PRIMARY KEY (queue, bell)
);

-- A function by which triggers, and programs in any language, enqueue a job in their transaction.
--
-- It does what job_queue::enqueue_in() does, refuses what that refuses in the same words, and
-- answers with the job's id; of the one that is there where its unique key is taken. It has the
-- rights of whoever calls it. Null is what is not given, but for queue, kind and payload.

-- It looks again where the one that has the unique key has ended in between.
-- Above READ COMMITTED a unique key that was taken after the snapshot is an error, 40001.
-- Indexes: job_unique, job_ordering. Reads: with an ordering key some rows, else none.
CREATE FUNCTION leasehold_enqueue(
    queue         text,
    kind          text        DEFAULT '',
    payload       text        DEFAULT '',
    run_at        timestamptz DEFAULT NULL,
    unique_key    text        DEFAULT NULL,
    ordering_key  text        DEFAULT NULL,
    priority      integer     DEFAULT 0,
    attempts_max  integer     DEFAULT 20
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $enqueue$
#variable_conflict use_column
DECLARE
    of_queue CONSTANT text NOT NULL := coalesce(queue, '');
    of_kind CONSTANT text := kind;
    its_payload CONSTANT text := payload;
    its_unique_key CONSTANT text := nullif(unique_key, '');
    its_ordering_key CONSTANT text := nullif(ordering_key, '');
    its_priority CONSTANT integer NOT NULL := coalesce(priority, 0);
    its_attempts_max CONSTANT integer NOT NULL := coalesce(attempts_max, 20);
    not_before CONSTANT timestamptz := run_at;
    payload_bytes_max CONSTANT integer := 1048576;
    is_early boolean NOT NULL := false;
    per_key integer NOT NULL := 1;
    before bigint NOT NULL := 0;
    made bigint;
    wrong text;
BEGIN
    wrong := CASE
        WHEN of_queue = '' THEN 'the name of a queue must not be empty'
        WHEN octet_length(of_queue) > 255
            THEN 'the queue must be at most 255 bytes of UTF-8 without NUL'
        WHEN of_kind IS NULL THEN 'the kind of a job must not be null'
        WHEN octet_length(of_kind) > 255
            THEN 'the kind of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN octet_length(its_unique_key) > 255
            THEN 'the unique key of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN octet_length(its_ordering_key) > 255
            THEN 'the ordering key of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN its_payload IS NULL THEN 'the payload of a job must not be null'
        WHEN octet_length(its_payload) > payload_bytes_max
            THEN 'a payload of ' || octet_length(its_payload) || ' bytes is too long: at most '
                 || payload_bytes_max
                 || ' (payload_bytes_max); store it elsewhere and enqueue where it is'
        WHEN its_priority NOT BETWEEN -32768 AND 32767
            THEN 'the priority of a job must be -32768 to 32767'
        WHEN its_attempts_max NOT BETWEEN 1 AND 10000
            THEN 'a job has 1 to 10000 attempts, not ' || its_attempts_max
        WHEN not_before NOT BETWEEN timestamptz '1970-01-01 00:00:00+00'
                                AND timestamptz '2999-12-31 00:00:00+00'
            THEN 'run_at of a job must be a date of 1970 to 2999'
        END;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = wrong;
    END IF;
    IF its_ordering_key IS NOT NULL THEN
        per_key := coalesce(
            (SELECT q.running_per_key_max FROM leasehold_queue q WHERE q.name = of_queue), 1);
    END IF;
    FOR look IN 1..10 LOOP
        is_early := coalesce(not_before > clock_timestamp(), false);
        IF its_ordering_key IS NOT NULL AND NOT is_early THEN
            before := (SELECT count(*) FROM (
                SELECT FROM leasehold_job p
                 WHERE p.queue = of_queue
                   AND p.ordering_key BETWEEN its_ordering_key AND its_ordering_key
                   AND p.state + 0 <> 1
                 ORDER BY p.ordering_key, p.id
                 LIMIT (SELECT per_key::bigint)) AS counted);
        END IF;
        INSERT INTO leasehold_job AS j
            (queue, kind, state, priority, due_at, attempts_max, unique_slot, ordering_key, payload)
        VALUES
            (of_queue, of_kind,
             CASE WHEN is_early THEN 1
                  WHEN its_ordering_key IS NOT NULL AND before >= per_key THEN 5 ELSE 2 END,
             its_priority, CASE WHEN is_early THEN not_before END, nullif(its_attempts_max, 20),
             its_unique_key, its_ordering_key, its_payload)
        ON CONFLICT (queue, unique_slot) WHERE unique_slot IS NOT NULL DO NOTHING
        RETURNING j.id INTO made;
        IF made IS NULL THEN
            made := (SELECT t.id FROM leasehold_job t
                      WHERE t.queue = of_queue AND t.unique_slot = its_unique_key);
        ELSIF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
            PERFORM set_config('synchronous_commit', 'on', true);
        END IF;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE =
        'a job with the unique key ''' || its_unique_key || ''' is in queue ''' || of_queue
        || ''' already: nothing was enqueued; repeat it';
END
$enqueue$;

-- Prove a lock, or the claim of a job, in the transaction of their caller: see README.md. They keep
-- every successor out until that transaction ends, and wait for a successor that commits. Where the
-- row is another's they raise LH001. Indexes: primary keys. Reads: 1 or 2 rows.
CREATE FUNCTION leasehold_prove(
    key           text,
    owner         text,
    token         bigint
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET enable_seqscan = off AS $prove$
#variable_conflict use_variable
DECLARE
    of_key CONSTANT bytea := convert_to(key, 'UTF8');
    of_owner bytea;
BEGIN
    IF key IS NULL OR owner IS NULL OR owner !~ '^[0-9a-f]{32}$' OR token IS NULL OR token < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
            'leasehold_prove needs a key, an owner of 32 lower-case hexadecimal digits and a token',
            HINT = 'A command finds them in LEASEHOLD_KEY, LEASEHOLD_OWNER and LEASEHOLD_TOKEN.';
    END IF;
    of_owner := decode(owner, 'hex');
    PERFORM FROM leasehold_lock l
      WHERE l.lock_key = of_key AND l.owner = of_owner AND l.fence = token FOR SHARE;
    IF NOT FOUND THEN
        PERFORM FROM leasehold_holder h
          WHERE h.lock_key = of_key AND h.owner = of_owner AND h.fence = token FOR SHARE;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LH001', MESSAGE =
            'the lock ''' || key || ''' is no longer held under token ' || token,
            HINT = 'Roll back, and do not try this write again.';
    END IF;
END
$prove$;

CREATE FUNCTION leasehold_prove_job(
    job           bigint,
    token         bigint
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET enable_seqscan = off AS $prove$
#variable_conflict use_variable
BEGIN
    IF job IS NULL OR token IS NULL OR token < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
            'leasehold_prove_job needs a job and a token',
            HINT = 'A command finds them in LEASEHOLD_JOB_ID and LEASEHOLD_JOB_TOKEN.';
    END IF;
    PERFORM FROM leasehold_job j WHERE j.id = job AND j.token = token AND j.state + 0 = 3 FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LH001', MESSAGE =
            'job ' || job || ' is no longer claimed under token ' || token,
            HINT = 'Roll back, and do not try this write again.';
    END IF;
END
$prove$;

-- Whatever the search path of their caller is, the functions find the operators of pg_catalog and
-- the tables that stand here now, and never a temporary table of the same name.
DO $pin$
DECLARE
    each text;
BEGIN
    FOR each IN
        SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
                      f.oid::regprocedure, n.nspname)
          FROM pg_catalog.pg_class t
          JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
         CROSS JOIN pg_catalog.pg_proc f
         WHERE t.oid = 'leasehold_job'::regclass
           AND f.oid IN ('leasehold_enqueue(text, text, text, timestamptz, text, text,
                                            integer, integer)'::regprocedure,
                         'leasehold_prove(text, text, bigint)'::regprocedure,
                         'leasehold_prove_job(bigint, bigint)'::regprocedure)
    LOOP
        EXECUTE each;
    END LOOP;
END
$pin$;

-- One row per job that waits and each job it waits for; never changed. While there are some of a
-- job its due_at is 9999-01-01, and nobody claims it.
CREATE TABLE leasehold_job_need (
    job_id   bigint   NOT NULL,            -- waits
    needs_id bigint   NOT NULL,            -- for this one
    wants    smallint NOT NULL DEFAULT 1,  -- 1 that it completes, 2 that it ends, however
    CONSTRAINT leasehold_job_need_pkey PRIMARY KEY (job_id, needs_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX leasehold_job_need_needs ON leasehold_job_need (needs_id, job_id);

-- What was granted, and how it ended: a row for each grant that has ended while triggers write them
-- (`leasehold history on`), until its time is over. There are no triggers at first.
CREATE TABLE leasehold_grant_history (
    lock_key  bytea       NOT NULL,
    token     bigint      NOT NULL,  -- of this grant
    kind      smallint    NOT NULL,  -- what the key was used as; see schema/README
    mode      smallint    NOT NULL,  -- how it was held; see schema/README
    permits   bigint      NOT NULL,  -- of a semaphore; else 0
    node_info text        NOT NULL,  -- name@host:pid of the holder, for people
    metadata  text,                  -- the holder's own words
    ended_at  timestamptz NOT NULL,
    held_for  bigint,                -- microseconds; null: not known
    ending    smallint    NOT NULL,  -- 1 released, 2 expired, 3 forced, 4 replaced
    CONSTRAINT leasehold_grant_history_pkey PRIMARY KEY (lock_key, token)
);
CREATE INDEX leasehold_grant_history_ended ON leasehold_grant_history (ended_at);

-- One row: whether it is written, and for how long it is kept.
CREATE TABLE leasehold_grant_history_rule (
    id    smallint NOT NULL,
    is_on smallint NOT NULL DEFAULT 0,
    keep  bigint   NOT NULL DEFAULT 2592000000000,  -- microseconds
    CONSTRAINT leasehold_grant_history_rule_pkey PRIMARY KEY (id),
    CONSTRAINT leasehold_grant_history_rule_single CHECK (id = 1),
    CONSTRAINT leasehold_grant_history_rule_in_range
        CHECK (is_on BETWEEN 0 AND 1 AND keep BETWEEN 0 AND 3162240000000000)
);
INSERT INTO leasehold_grant_history_rule (id) VALUES (1);

-- Which migrations were applied, one row each.
CREATE TABLE leasehold_migration (
    version    integer     NOT NULL,
    name       text        NOT NULL,
    checksum   text        NOT NULL,  -- SHA-256 of the up file
    applied_at timestamptz NOT NULL DEFAULT now(),
    finished   boolean     NOT NULL,
    CONSTRAINT leasehold_migration_pkey PRIMARY KEY (version)
);
INSERT INTO leasehold_migration (version, name, checksum, finished) SELECT m.*, true FROM (VALUES
  (1, 'locks', 'eb0310fe767c03cd23dce64b40c3f46d8655b6c898bcbaa3f8753f301a6e1602'),
  (2, 'runs', '8db49e5297a712257beda2dc06ebdf2e786c0176a8233490c38d9b06fafcade5'),
  (3, 'fence_guard', 'ba3c49f69c0a08843c2c40fedd794ec16e563d5415aae3674d59131e2616e0e7'),
  (4, 'waiter_indexes', '5f7a051e032a4c1e1b0f666da6726b483e912f47c854f7071792da2626415004'),
  (5, 'upkeep', '97e36066da3a423a921f0353b01bfd396120502d672bb7317152ecd5ab38e216'),
  (6, 'bells', '92de0d6604fd165ce84aaa436711f9d2e0a6e086b914400d62cc601f5b3aab98'),
  (7, 'proofs_from_6', '5b9941243a1537f7c63dbdb7b52cf6dbd08dbee7c26986c3591e7d0f9c45471e'),
  (8, 'jobs_from_7', 'fb9fcd1de9f114fb3fb1f6d81d4c7d41d3962e1dd059a2b351e54f5c8cc2664f'),
  (9, 'job_schedules_from_7', '65e70e41a3cabca9e568b8648d7d6e851b34d0da095162d6aa8a233d5808a0fb'),
  (10, 'enqueue_from_7', '6d81b3e2ab60e2b55b09ef8fedcf97b80c2c533b9e7dc4c2b40f4613326d5deb'),
  (11, 'job_needs_from_7', '4f155d16c883d591871431b811d7e07549b6080f3c12433c046fadd3e87d730a'),
  (12, 'run_schedules_from_7', 'e5d183b633ad31a4465198fe5c7cdf9d2a22c971896a9ee38e05807afc6211c5'),
  (13, 'grant_history_from_7', 'e4e75fe92532107f961228cc7eb3afffdc987dbc721478f2ef8873407bb8af80'),
  (14, 'job_values_from_7', '0685472150f906759fc3de24fd8b313ffd542e206175622cfce7d68802069f3b'),
  (15, 'enqueue_by_index_from_7',
   '2deb4c1d0e3c117a341f40a9157b4209d7f82a0d662dde44b4b0b2ef6bafbae7'),
  (16, 'numbers_by_hand_from_7',
   'b7460e025f4396cfa84f28f75610a41e2771751dae3126da793b0bba32dbf1e5'),
  (17, 'job_kinds_from_7', '0d4675313a119612d1c569b4268a9d2fcefed886dc42a95102fe13fb9301e618'),
  (18, 'job_texts_from_7', '5b5f987800899fbaba5f01ff86948262a3ac45cccb683727b1cb59836287abfd'),
  (19, 'own_numbers_from_7', 'b496992467ff6f458062d62e973d07a1f3b1b24beb4ac05da0ca7edc3cdb450a'),
  (20, 'job_waits_from_7', '45ab71b3f9834c71bb538568ed8715d91eb9cef1de1583f72f2cb313254b68b6'),
  (21, 'prove_from_7', '01a3676c111dc5c6eb5fda1d445b7e6b723bf35c6090d981ca2203980cb84aed'),
  (22, 'job_failures_from_7', '5f42be25b7feccf617cd979da8134a85e782f1f2fbf4858fe7efbd6232e48038'),
  (23, 'job_traces_from_7', '643f8b6fa740eb7fed3694755a52096d992c80a0f40b0303e9ed85d8cf52038c')
) AS m;
