-- The tables themselves on PostgreSQL: DDL is transactional, so a migration is whole or not at all.

-- $1 the prefix. Held until the transaction ends, so it works behind a pooler too. By the prefix
-- alone: an unnamed schema may be the same as a named one, and excluding too many is harmless.
-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('leasehold migrations of ' || lower($1::text), 0));

-- $1 a table as statements name it. Asks without failing: an error would end the transaction.
-- to_regclass() alone answers from a cache, which within a transaction is not told of a table that
-- was dropped while the lock was waited for; a statement that reads a table brings it up to date.
-- name: table_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass($1::text));

-- $1 a schema. CREATE SCHEMA IF NOT EXISTS wants the right to create one even where there is one.
-- name: schema_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text);

-- name: create_schema
CREATE SCHEMA IF NOT EXISTS "{schema}";

-- name: recorded
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version;

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

-- The same two with their values written in, to be run by hand.
-- name: record_by_hand
INSERT INTO {prefix}migration (version, name, checksum, finished)
VALUES ($1, $2, $3, $4)
ON CONFLICT (version) DO UPDATE SET finished = excluded.finished;

-- name: forget_by_hand
DELETE FROM {prefix}migration WHERE version = $1;
