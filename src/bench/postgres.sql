-- What leasehold is measured beside on PostgreSQL, as one would write it by hand, and the server's
-- counters. None of it is leasehold's own work; {prefix} is that of the measurement's tables.

-- The room on its pages is that of leasehold's lock rows, so that both stay HOT.
-- name: make_locks
CREATE TABLE {prefix}floor_lock (
    lock_key bytea  NOT NULL PRIMARY KEY,
    fence    bigint NOT NULL,
    owner    bytea
) WITH (fillfactor = 60);

-- name: make_tasks
CREATE TABLE {prefix}task_{table} (
    id         bigint   NOT NULL PRIMARY KEY,
    state      smallint NOT NULL,  -- 0: ready, 1: claimed, 2: done
    version    bigint   NOT NULL,
    claimed_by text,
    payload    text     NOT NULL
);

-- name: index_tasks
CREATE INDEX ON {prefix}task_{table} (state, id);

-- name: drop_locks
DROP TABLE IF EXISTS {prefix}floor_lock;

-- name: drop_tasks
DROP TABLE IF EXISTS {prefix}task_{table};

-- name: empty_tasks
TRUNCATE {prefix}task_{table};

-- $1 how many.
-- name: fill_tasks
INSERT INTO {prefix}task_{table} (id, state, version, payload)
SELECT n, 0, 1, 'payload' FROM generate_series(1, $1::bigint) AS n;

-- name: settle_tasks
ANALYZE {prefix}task_{table};

-- name: make_key
INSERT INTO {prefix}floor_lock (lock_key, fence) VALUES ($1, 0) ON CONFLICT DO NOTHING;

-- The least that asks a server for anything.
-- name: round_trip
SELECT 1;

-- One row, changed where it is, durable.
-- name: commit
UPDATE {prefix}floor_lock SET fence = fence + 1 WHERE lock_key = $1;

-- $1 owner, $2 key.
-- name: take
UPDATE {prefix}floor_lock SET owner = $1, fence = fence + 1
 WHERE lock_key = $2 AND owner IS NULL RETURNING fence;

-- name: give
UPDATE {prefix}floor_lock SET owner = NULL WHERE owner = $1 AND lock_key = $2;

-- The same with a doorbell: the server's own queue of an advisory lock wakes one who waits, and
-- keeps out the others: owner is not asked for, which would be read as it was before the wait. The
-- bell is rung within the statement, so that the next one waits for the row until the commit.
-- $1 owner, $2 key, $3 number of the bell.
-- name: wait_and_take
WITH bell AS MATERIALIZED (SELECT pg_advisory_lock($3::bigint))
UPDATE {prefix}floor_lock SET owner = $1, fence = fence + 1
  FROM bell
 WHERE lock_key = $2 RETURNING fence;

-- name: give_and_ring
WITH given AS (
    UPDATE {prefix}floor_lock SET owner = NULL WHERE owner = $1 AND lock_key = $2 RETURNING 1
)
SELECT pg_advisory_unlock($3::bigint) FROM given;

-- $1 how many.
-- name: lock_some
SELECT id, payload FROM {prefix}task_{table}
 WHERE state = 0 ORDER BY id LIMIT $1::bigint FOR UPDATE SKIP LOCKED;

-- $1 the ids, as an array's text.
-- name: finish_locked
UPDATE {prefix}task_{table} SET state = 2 WHERE id = ANY ($1::bigint[]);

-- $1 who, $2 how many.
-- name: claim_some
UPDATE {prefix}task_{table} SET state = 1, version = version + 1, claimed_by = $1
 WHERE id = ANY (ARRAY(
       SELECT id FROM {prefix}task_{table}
        WHERE state = 0 ORDER BY id LIMIT $2::bigint FOR UPDATE SKIP LOCKED))
RETURNING id, payload;

-- $1 who, $2 the ids.
-- name: finish_claimed
UPDATE {prefix}task_{table} SET state = 2, version = version + 1
 WHERE id = ANY ($2::bigint[]) AND claimed_by = $1 AND state = 1;

-- Both are exact at once, unlike the statistics views, and are of the whole server.
-- name: gauges
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS log_bytes,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS commits;

-- Where the extension is there, and may be read.
-- name: statements
SELECT coalesce(sum(calls), 0)::bigint AS statements FROM pg_stat_statements
 WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database());

-- What a measurement's tables have been through, as each connection tells when it ends: rows
-- changed with new entries in indexes, and dead ones that nothing has removed yet. By whose they
-- are.
-- name: growth
SELECT CASE WHEN relname LIKE '%floor\_lock' THEN 'floor' ELSE 'leasehold' END AS whose,
       sum(n_tup_upd - n_tup_hot_upd)::bigint AS cold_updates,
       sum(n_dead_tup)::bigint AS dead_rows,
       sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint AS changes
  FROM pg_stat_user_tables
 WHERE starts_with(relname, $1) AND relname NOT LIKE '%\_task\_%'
 GROUP BY 1;
