-- Sessions on PostgreSQL. The rules these statements follow: hold.sql.

-- The statement does not read synchronous_commit, since each statement that needs a durable commit
-- makes it so. transaction_isolation is that of this very statement, so it shows what the driver
-- really does.
-- name: environment
-- gives: is_standby read_only isolation fsync full_page_writes
SELECT pg_is_in_recovery(),
       current_setting('transaction_read_only'),
       current_setting('transaction_isolation'),
       current_setting('fsync'),
       current_setting('full_page_writes');

-- $1 the name of the timeline's row. Every user may see whether there are standbys. Reads: 1 row by
-- fence_guard_pkey.
-- name: replication
-- gives: has_unwaited timeline incarnation waits
SELECT {unwaited},
       coalesce((SELECT g.fence FROM {prefix}fence_guard g WHERE g.resource = $1), 0),
       {incarnation},
       {waits};

-- name: standbys
-- gives: has_unwaited waits
SELECT {unwaited}, {waits};

-- $1 the name of the timeline's row, $2 a random number. Waits for the disk, and for no standby: a
-- standby that is promoted begins a timeline of its own. A second call waits for the first one, and
-- changes nothing.
-- name: begin_branch
INSERT INTO {prefix}fence_guard (resource, fence) VALUES ($1, $2)
ON CONFLICT (resource) DO NOTHING
RETURNING set_config('synchronous_commit', 'local', true);

-- $1 id, $2 node_info, $3 ttl. A repeated start waits for the first one, if that is still under
-- way, and then finds its row; the clock is read again after the wait. If a first start arrives
-- after its session has ended, it revives nothing.
-- name: start
INSERT INTO {prefix}session AS s (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES ($1, $2, clock_timestamp(), clock_timestamp(),
        clock_timestamp() + $3::bigint * interval '1 microsecond', 0)
ON CONFLICT (id) DO UPDATE
   SET heartbeat_at = clock_timestamp(),
       expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
 WHERE s.expires_at > clock_timestamp()
RETURNING {durable};

-- $1 key, $2 owner, $3 id, $4 node_info, $5 null, $6 delay, $7 metadata or null, $8 ttl.
--
-- taken: the part of a grant (hold.sql, `try_acquire`) that changes a key nobody holds. Waits only
--        for a session that is taking or reaping it at this moment, then looks at its new version;
--        the fence is counted on the version that is changed. No session is asked for: this
--        statement begins the one whose grant it is, or fails.
-- begun: makes the session only with the grant. If a row of this id exists, the error takes the
--        grant back. The clock is read after the wait.
-- Indexes: lock_pkey, session_pkey. Reads: 1 row.
-- name: start_with_grant
WITH taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = $2, session_id = $3::bytea, node_info = $4::text,
           reentrant_count = 1, changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond',
           lock_delay = $6::bigint, metadata = $7::text, revocations = 0
     WHERE l.lock_key = $1 AND l.kind = 1 AND l.owner IS NULL
    RETURNING l.fence, {durable}
), begun AS (
    INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
    SELECT $3::bytea, $4::text, clock_timestamp(), clock_timestamp(),
           clock_timestamp() + $8::bigint * interval '1 microsecond', 0
      FROM taken
)
SELECT fence FROM taken;

-- Each start of a server is another incarnation. The timeline would add nothing: a server that was
-- promoted was started at another time. Nor may every user call the functions that tell the
-- timeline.
-- fragment: incarnation
to_hex((extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint)

-- $1 id, $2 ttl, $3 notices, $4 incarnation.
--
-- mine:    waits for a session that has the row (a taker that proves it dead, a forced release),
--          then tests its newest version; without a match nothing is locked or written.
-- reached: reads the clock after that wait. An UPDATE alone would not: after a wait for a mere lock
--          it goes on with the values from before the wait (rule 2), and would revive a dead
--          session.
-- Indexes: session_pkey. A HOT update, since no index has the changed columns.
-- name: heartbeat
WITH mine AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}session s
     WHERE s.id = $1 AND s.notices = $3 AND s.expires_at > clock_timestamp()
       AND $4::text IN ('', {incarnation})
       FOR NO KEY UPDATE OF s
), reached AS MATERIALIZED (
    SELECT id, clock_timestamp() AS instant FROM mine
)
UPDATE {prefix}session AS s
   SET heartbeat_at = reached.instant,
       expires_at = reached.instant + $2::bigint * interval '1 microsecond'
  FROM reached
 WHERE s.id = reached.id AND s.notices = $3 AND s.expires_at > reached.instant
RETURNING s.notices, {durable};

-- $1 id, $2 node_info, $3 ttl, $4 the node_info that it has. Tests and commits as `heartbeat` does.
-- name: take_over
WITH mine AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}session s
     WHERE s.id = $1 AND s.node_info = $4 AND s.expires_at > clock_timestamp()
       FOR NO KEY UPDATE OF s
), reached AS MATERIALIZED (
    SELECT id, clock_timestamp() AS instant FROM mine
)
UPDATE {prefix}session AS s
   SET node_info = $2, notices = s.notices + 1, heartbeat_at = reached.instant,
       expires_at = reached.instant + $3::bigint * interval '1 microsecond'
  FROM reached
 WHERE s.id = reached.id AND s.node_info = $4 AND s.expires_at > reached.instant
RETURNING {durable};

-- $1 id. Sent only when the heartbeat changed nothing.
-- name: news
-- gives: notices incarnation
SELECT notices, {incarnation}
  FROM {prefix}session WHERE id = $1 AND expires_at > clock_timestamp();

-- $1 id. A session that expired by itself keeps the time of its expiry, which the list of sessions
-- shows.
-- name: end
UPDATE {prefix}session SET expires_at = clock_timestamp()
 WHERE id = $1 AND expires_at > clock_timestamp();

-- $1 id, $2 keys, $3 owners, $4 tickets: the same number of each.
--
-- kept:    reads one snapshot. It finds a hold whose release this server has lost. Nothing is
--          granted to the session after the snapshot: no request of it is under way, and `kept`
--          finds each waiter that could be handed a key.
-- removed: deletes the row of a live session that has nothing left. The reaper removes the row of
--          any other session, and frees its holds first. This part and the update below wait for a
--          session that has the row locked (a taker, a forced release).
-- Indexes: session_pkey, and the primary keys of the other tables, once per entry: a LATERAL query
-- looks for each, and cannot become a join that reads a table. Reads: 3 rows for each entry, and 2.
-- name: remove
WITH last_had AS MATERIALIZED (
    SELECT a.lock_key, a.owner, a.ticket
      FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS a (lock_key, owner, ticket)
), kept AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT l.session_id FROM {prefix}lock l
                        WHERE l.lock_key = a.lock_key LIMIT 1) AS one
                    WHERE one.session_id = $1)
        OR EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT h.session_id FROM {prefix}holder h
                        WHERE h.lock_key = a.lock_key AND h.owner = a.owner LIMIT 1) AS one
                    WHERE one.session_id = $1)
        OR EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT w.session_id FROM {prefix}waiter w
                        WHERE w.lock_key = a.lock_key AND w.ticket = a.ticket LIMIT 1) AS one
                    WHERE one.session_id = $1) AS is_so
), removed AS (
    DELETE FROM {prefix}session AS s
     USING kept
     WHERE s.id = $1 AND s.expires_at > clock_timestamp() AND NOT kept.is_so
)
UPDATE {prefix}session AS s
   SET expires_at = clock_timestamp()
  FROM kept
 WHERE s.id = $1 AND s.expires_at > clock_timestamp() AND kept.is_so;

-- $1 key, $2 owner, $3 token, $4 id.
--
-- freed:   does what `release` of hold.sql does, for one level and a key without a ticket. But the
--          commit is the session's last one, and is not made asynchronous, like that of `end`.
-- removed: may wait for a forced release that has the session's row; that one already has its lock
--          row, too, and waits for nobody. The reaper removes an expired session.
-- Indexes: lock_pkey, session_pkey. Reads: 2 rows.
-- name: end_with_release
WITH freed AS (
    UPDATE {prefix}lock AS l
       SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
           changed_at = clock_timestamp()
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND l.last_ticket = 0 AND l.reentrant_count = 1
    RETURNING l.lock_key
), removed AS (
    DELETE FROM {prefix}session AS s
     USING freed
     WHERE s.id = $4 AND s.expires_at > clock_timestamp()
)
SELECT count(*) FROM freed;

-- One snapshot. There is a row for each session, so the table is read whole and sorted. Reads: 1
-- row for each.
-- name: list
-- gives: id node_info is_live started_ago heartbeat_ago remaining
SELECT id, node_info, expires_at > clock_timestamp(),
       {since started_at}, {since heartbeat_at}, {until expires_at}
  FROM {prefix}session
 ORDER BY started_at, id;
