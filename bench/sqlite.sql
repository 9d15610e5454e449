-- The statements that leasehold is measured beside on SQLite, as one would write them by hand. None
-- of it is leasehold's own work; {prefix} is that of the measurement's tables.

-- name: make_locks
CREATE TABLE {prefix}floor_lock (
    lock_key BLOB    NOT NULL PRIMARY KEY,
    fence    INTEGER NOT NULL,
    owner    BLOB
) WITHOUT ROWID;

-- name: make_tasks
CREATE TABLE {prefix}task_{table} (
    id         INTEGER NOT NULL PRIMARY KEY,
    state      INTEGER NOT NULL,  -- 0: ready, 1: claimed, 2: done
    version    INTEGER NOT NULL,
    claimed_by TEXT,
    payload    TEXT    NOT NULL
);

-- name: index_tasks
CREATE INDEX {prefix}task_{table}_state ON {prefix}task_{table} (state, id);

-- name: drop_locks
DROP TABLE IF EXISTS {prefix}floor_lock;

-- name: drop_tasks
DROP TABLE IF EXISTS {prefix}task_{table};

-- name: empty_tasks
DELETE FROM {prefix}task_{table};

-- name: fill_tasks
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
INSERT INTO {prefix}task_{table} (id, state, version, payload)
SELECT n, 0, 1, 'payload' FROM n;

-- name: settle_tasks
ANALYZE {prefix}task_{table};

-- name: make_key
INSERT OR IGNORE INTO {prefix}floor_lock (lock_key, fence) VALUES (?, 0);

-- A read of the file: there is no other side to go to.
-- name: round_trip
SELECT count(*) FROM sqlite_schema WHERE rowid = 1;

-- name: commit
UPDATE {prefix}floor_lock SET fence = fence + 1 WHERE lock_key = ?;

-- Owner, key.
-- name: take
UPDATE {prefix}floor_lock SET owner = ?, fence = fence + 1
 WHERE lock_key = ? AND owner IS NULL RETURNING fence;

-- name: give
UPDATE {prefix}floor_lock SET owner = NULL WHERE owner = ? AND lock_key = ?;

-- name: lock_some
SELECT id, payload FROM {prefix}task_{table} WHERE state = 0 ORDER BY id LIMIT ?;

-- name: finish_locked
UPDATE {prefix}task_{table} SET state = 2 WHERE id IN ({ids});

-- The claimer, and the number of rows.
-- name: claim_some
UPDATE {prefix}task_{table} SET state = 1, version = version + 1, claimed_by = ?
 WHERE id IN (SELECT id FROM {prefix}task_{table} WHERE state = 0 ORDER BY id LIMIT ?)
RETURNING id, payload;

-- The claimer, and the ids.
-- name: finish_claimed
UPDATE {prefix}task_{table} SET state = 2, version = version + 1
 WHERE claimed_by = ? AND state = 1 AND id IN ({ids});

-- ---- jobs

-- name: make_jobs
CREATE TABLE {prefix}task_jobs_{table} (
    id         INTEGER NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,  -- 0: ready, 1: claimed
    priority   INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL DEFAULT 0,
    claimed_by TEXT,
    claimed_at INTEGER,
    payload    TEXT    NOT NULL
);

-- name: index_jobs
CREATE INDEX {prefix}task_jobs_{table}_order
    ON {prefix}task_jobs_{table} (priority, id) WHERE state = 0;

-- name: drop_jobs
DROP TABLE IF EXISTS {prefix}task_jobs_{table};

-- name: empty_jobs
DELETE FROM {prefix}task_jobs_{table};

-- name: fill_jobs
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
INSERT INTO {prefix}task_jobs_{table} (kind, payload)
SELECT 'work', ? FROM n;

-- name: settle_jobs
ANALYZE {prefix}task_jobs_{table};

-- name: empty_own_jobs
DELETE FROM {prefix}job;

-- name: fill_own_jobs
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
INSERT INTO {prefix}job (queue, kind, state, due_at, payload)
SELECT 'bench', 'work', 2, NULL, 'payload' FROM n;

-- name: fill_own_history
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
INSERT INTO {prefix}job_history
    (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, ended_at, prune_at,
     payload)
SELECT 1000000000 + ? + n, 'bench', 'work', 6, 0, 1, 0, 1, unixepoch() * 1000000,
       unixepoch() * 1000000, (unixepoch() + 31536000) * 1000000, 'payload'
  FROM n;

-- name: settle_own_jobs
ANALYZE {prefix}job;

-- name: delete_jobs
DELETE FROM {prefix}task_jobs_{table} WHERE id IN ({ids});

-- The claimer, and the number of jobs.
-- name: claim_jobs
UPDATE {prefix}task_jobs_{table}
   SET state = 1, attempts = attempts + 1, claimed_by = ?, claimed_at = unixepoch()
 WHERE id IN (SELECT id FROM {prefix}task_jobs_{table}
               WHERE state = 0 ORDER BY priority, id LIMIT ?)
RETURNING id, kind, attempts, payload;

-- The number of jobs.
-- name: take_jobs
DELETE FROM {prefix}task_jobs_{table}
 WHERE id IN (SELECT id FROM {prefix}task_jobs_{table}
               WHERE state = 0 ORDER BY priority, id LIMIT ?)
RETURNING id, kind, attempts, payload;

-- {rows}: as many (?,?) as rows.
-- name: insert_jobs
INSERT INTO {prefix}task_jobs_{table} (kind, payload) VALUES {rows};

-- name: insert_job
INSERT INTO {prefix}task_jobs_{table} (kind, payload) VALUES (?, ?);
