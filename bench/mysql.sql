-- The statements that leasehold is measured beside on MySQL and MariaDB, as one would write them by
-- hand, and the server's counters. None of it is leasehold's own work; {prefix} is that of the
-- measurement's tables. Parameters are ? here: the client library knows nothing else.

-- name: make_locks
CREATE TABLE {prefix}floor_lock (
    lock_key varbinary(255) NOT NULL PRIMARY KEY,
    fence    bigint         NOT NULL,
    owner    binary(16)
) ENGINE = InnoDB;

-- name: make_tasks
CREATE TABLE {prefix}task_{table} (
    id         bigint       NOT NULL PRIMARY KEY,
    state      smallint     NOT NULL,  -- 0: ready, 1: claimed, 2: done
    version    bigint       NOT NULL,
    claimed_by varchar(100),
    payload    varchar(100) NOT NULL
) ENGINE = InnoDB;

-- name: index_tasks
CREATE INDEX {prefix}task_{table}_state ON {prefix}task_{table} (state, id);

-- name: drop_locks
DROP TABLE IF EXISTS {prefix}floor_lock;

-- name: drop_tasks
DROP TABLE IF EXISTS {prefix}task_{table};

-- name: empty_tasks
TRUNCATE TABLE {prefix}task_{table};

-- Three digits of sixty each: 216,000 rows at most.
-- name: fill_tasks
INSERT INTO {prefix}task_{table} (id, state, version, payload)
WITH RECURSIVE digit (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digit WHERE d < 59)
SELECT a.d * 3600 + b.d * 60 + c.d + 1, 0, 1, 'payload'
  FROM digit a, digit b, digit c
 WHERE a.d * 3600 + b.d * 60 + c.d < ?;

-- name: settle_tasks
ANALYZE TABLE {prefix}task_{table};

-- name: make_key
INSERT IGNORE INTO {prefix}floor_lock (lock_key, fence) VALUES (?, 0);

-- name: round_trip
SELECT 1;

-- name: commit
UPDATE {prefix}floor_lock SET fence = fence + 1 WHERE lock_key = ?;

-- Owner, key. The token comes with the answer, as the statement's insert id.
-- name: take
UPDATE {prefix}floor_lock SET owner = ?, fence = LAST_INSERT_ID(fence + 1)
 WHERE lock_key = ? AND owner IS NULL;

-- name: give
UPDATE {prefix}floor_lock SET owner = NULL WHERE owner = ? AND lock_key = ?;

-- The server's own queue, in its memory: nothing is durable, there is no token, and the lock ends
-- with the connection.
-- name: wait_and_take
SELECT GET_LOCK(?, 10);

-- name: give_and_notify
SELECT RELEASE_LOCK(?);

-- name: lock_some
SELECT id, payload FROM {prefix}task_{table}
 WHERE state = 0 ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED;

-- {ids}: as many ? as rows.
-- name: finish_locked
UPDATE {prefix}task_{table} SET state = 2 WHERE id IN ({ids});

-- The claimer, and the ids that lock_some has found: there is no UPDATE … RETURNING.
-- name: mark_claimed
UPDATE {prefix}task_{table} SET claimed_by = ?, state = 1, version = version + 1
 WHERE id IN ({ids});

-- The claimer, and the ids.
-- name: finish_claimed
UPDATE {prefix}task_{table} SET state = 2, version = version + 1
 WHERE claimed_by = ? AND state = 1 AND id IN ({ids});

-- ---- jobs

-- name: make_jobs
CREATE TABLE {prefix}task_jobs_{table} (
    id         bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind       varchar(100) NOT NULL,
    state      smallint     NOT NULL DEFAULT 0,  -- 0: ready, 1: claimed
    priority   smallint     NOT NULL DEFAULT 0,
    attempts   integer      NOT NULL DEFAULT 0,
    claimed_by varchar(100),
    claimed_at datetime(6),
    payload    longtext     NOT NULL
) ENGINE = InnoDB;

-- name: index_jobs
CREATE INDEX {prefix}task_jobs_{table}_order
    ON {prefix}task_jobs_{table} (state, priority, id);

-- name: drop_jobs
DROP TABLE IF EXISTS {prefix}task_jobs_{table};

-- name: empty_jobs
TRUNCATE TABLE {prefix}task_jobs_{table};

-- name: fill_jobs
INSERT INTO {prefix}task_jobs_{table} (kind, payload)
WITH RECURSIVE digit (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digit WHERE d < 59),
     n (n) AS (SELECT a.d * 3600 + b.d * 60 + c.d FROM digit a, digit b, digit c)
SELECT 'work', w.payload
  FROM (SELECT ? AS jobs, ? AS payload) AS w JOIN n ON n.n < w.jobs;

-- name: settle_jobs
ANALYZE TABLE {prefix}task_jobs_{table};

-- name: empty_own_jobs
TRUNCATE TABLE {prefix}job;

-- 216,000 rows at most.
-- name: fill_own_jobs
INSERT INTO {prefix}job (queue, kind, state, due_at, payload)
WITH RECURSIVE digit (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digit WHERE d < 59)
SELECT 'bench', 'work', 2, NULL, 'payload'
  FROM digit a, digit b, digit c
 WHERE a.d * 3600 + b.d * 60 + c.d < ?;

-- name: fill_own_history
INSERT INTO {prefix}job_history
    (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, ended_at, prune_at,
     payload)
WITH RECURSIVE digit (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digit WHERE d < 59),
     n (n) AS (SELECT a.d * 3600 + b.d * 60 + c.d FROM digit a, digit b, digit c)
SELECT 1000000000 + w.behind + n.n, 'bench', 'work', 6, 0, 1, 0, 1, UNIX_TIMESTAMP() * 1000000,
       UNIX_TIMESTAMP() * 1000000, (UNIX_TIMESTAMP() + 31536000) * 1000000, 'payload'
  FROM (SELECT ? AS jobs, ? AS behind) AS w JOIN n ON n.n < w.jobs;

-- name: settle_own_jobs
ANALYZE TABLE {prefix}job;

-- name: delete_jobs
DELETE FROM {prefix}task_jobs_{table} WHERE id IN ({ids});

-- name: lock_jobs
SELECT id, kind, attempts, payload FROM {prefix}task_jobs_{table}
 WHERE state = 0 ORDER BY priority, id LIMIT ? FOR UPDATE SKIP LOCKED;

-- The claimer, and the ids.
-- name: mark_jobs
UPDATE {prefix}task_jobs_{table}
   SET state = 1, attempts = attempts + 1, claimed_by = ?, claimed_at = SYSDATE(6)
 WHERE id IN ({ids});

-- {rows}: as many (?,?) as rows.
-- name: insert_jobs
INSERT INTO {prefix}task_jobs_{table} (kind, payload) VALUES {rows};

-- name: insert_job
INSERT INTO {prefix}task_jobs_{table} (kind, payload) VALUES (?, ?);

-- Counters of the whole server. Not every server has each of them.
-- name: gauges
SHOW GLOBAL STATUS WHERE Variable_name IN
    ('Questions', 'Innodb_os_log_written', 'Innodb_os_log_fsyncs');
