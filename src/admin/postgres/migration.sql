-- The tables themselves on PostgreSQL: DDL is transactional, so a migration is whole or not at all.

-- $1 the prefix. The lock is held until the transaction ends, so it works behind a pooler too. The
-- prefix alone names the lock: an unnamed schema may be the same as a named one, and to exclude too
-- many migrations is harmless.
-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('leasehold migrations of ' || lower($1::text), 0));

-- $1 a schema. CREATE SCHEMA IF NOT EXISTS wants the right to create one even where there is one.
-- name: schema_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text);

-- name: create_schema
CREATE SCHEMA IF NOT EXISTS "{schema}";

-- name: create_records
CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    integer     NOT NULL,
    name       text        NOT NULL,
    checksum   text        NOT NULL,  -- SHA-256 of the up file
    applied_at timestamptz NOT NULL DEFAULT now(),
    finished   boolean     NOT NULL,
    CONSTRAINT {bare}migration_pkey PRIMARY KEY (version)
);

-- $1 version, $2 name, $3 checksum, $4 finished.
-- name: record
INSERT INTO {prefix}migration (version, name, checksum, finished)
VALUES ($1::bigint, $2, $3, $4::bigint = 1)
ON CONFLICT (version) DO UPDATE
   SET name = excluded.name, checksum = excluded.checksum, finished = excluded.finished,
       applied_at = now();

-- $1 version.
-- name: forget
DELETE FROM {prefix}migration WHERE version = $1::bigint;

-- name: drop_records
DROP TABLE IF EXISTS {prefix}migration;

-- `record` and `forget` with their values written in, to be run by hand.
-- name: record_by_hand
INSERT INTO {prefix}migration (version, name, checksum, finished)
VALUES ($1, $2, $3, $4)
ON CONFLICT (version) DO UPDATE SET finished = excluded.finished;

-- name: forget_by_hand
DELETE FROM {prefix}migration WHERE version = $1;

-- The rights of a program: a user that can migrate owns the tables, and needs no grant. The printer
-- quotes {user}. FOR UPDATE wants UPDATE on the table beside SELECT, also of the waiters.
-- name: grants
GRANT SELECT ON {prefix}migration TO {user};
GRANT SELECT ON {prefix}grant_history_rule TO {user};
GRANT SELECT, DELETE ON {prefix}grant_history TO {user};
GRANT SELECT, UPDATE ON {prefix}fence_mark, {prefix}upkeep TO {user};
GRANT SELECT, INSERT, UPDATE ON {prefix}fence_guard TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE
   ON {prefix}session, {prefix}lock, {prefix}holder, {prefix}waiter, {prefix}run TO {user};
GRANT SELECT, INSERT, UPDATE ON {prefix}queue TO {user};
GRANT SELECT, INSERT, UPDATE, DELETE
   ON {prefix}job, {prefix}job_history, {prefix}job_schedule, {prefix}job_bell TO {user};
GRANT SELECT, INSERT, DELETE ON {prefix}job_need TO {user};

-- name: grant_schema
GRANT USAGE ON SCHEMA "{schema}" TO {user};
