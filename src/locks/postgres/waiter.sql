-- The queue of a key on PostgreSQL. The rules these statements follow: hold.sql.
--
-- A statement that hands over may wait for the lock row after its snapshot was taken, and still
-- knows the whole queue. Each `enqueue` raises last_ticket, the mark, in the row that it locks, and
-- gives no mark twice. So if the locked row has the mark of the snapshot, nobody has queued in
-- between. If the mark differs, the statement changes nothing and the caller sends it again. A
-- waiter that has left since does not matter: its row is gone, or is locked and skipped.
--
-- The number of rows that each statement reads stands beside it. The same plan serves a key with
-- ten thousand waiters and a key with two, so the planner must not be able to choose another one.
-- Correlated subqueries and LATERAL ask by primary key whatever the statistics say; for {all} see
-- fragments.sql.

-- The waiter that gets the key.
-- fragment: successor
-- gives: owner session term address

-- $1 key, $2 owner, $3 session, $4 node_info, $5 term or null, $6 delay, $7 metadata or null, $8
-- address or null.
--
-- me:     as in `try_acquire`.
-- locked: skips a locked row, since a proof may keep the lock for long.
-- marked: changes the newest version, which is locked. The whole commit is asynchronous: if a crash
--         loses the waiter's row, its process finds the row missing.
-- The last column says whether the key looks takeable. It tests the locked version, since a release
-- before that version saw no mark. For a skipped row it says whether the key was free in the
-- snapshot.
-- name: enqueue
-- gives: ticket is_live kind looks_takeable
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $3 AND expires_at > statement_timestamp()
), seen AS MATERIALIZED (
    SELECT l.kind, l.owner IS NULL AS is_free FROM {prefix}lock l WHERE l.lock_key = $1
), locked AS MATERIALIZED (
    SELECT l.lock_key, l.owner, l.session_id, l.expires_at, l.lock_delay
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.kind = 1 AND EXISTS (SELECT FROM me)
       FOR NO KEY UPDATE OF l SKIP LOCKED
), marked AS (
    UPDATE {prefix}lock AS l
       SET last_ticket = greatest(l.last_ticket + 1,
                                  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
      FROM locked
     WHERE l.lock_key = locked.lock_key
    RETURNING l.last_ticket, {asynchronous}
), queued AS (
    INSERT INTO {prefix}waiter (lock_key, ticket, owner, session_id, node_info, hold_at_most,
                                lock_delay, metadata, bell, queued_at)
    SELECT $1, marked.last_ticket, $2, $3, $4, $5::bigint, $6::bigint, $7, $8, clock_timestamp()
      FROM marked
    RETURNING ticket
)
SELECT (SELECT ticket FROM queued), (SELECT count(*) FROM me), (SELECT kind FROM seen),
       coalesce((SELECT coalesce(l.owner IS NULL
                     OR {closed_until coalesce(l.expires_at, s.expires_at)} <= clock_timestamp(),
                     false)
                   FROM locked l LEFT JOIN {prefix}session s ON s.id = l.session_id),
                (SELECT is_free FROM seen));

-- $1 key, $2 owner, $3 token. Does the work of `hand_over` with a smaller plan, if the first waiter
-- is alive. If that waiter is dead or has just left, or if nobody waits, the statement answers no
-- row and changes nothing.
--
-- held:  waits for proofs of the same hold.
-- next:  the first waiter of the snapshot is still the first: later waiters come behind it, and
--        while it lives only its own process or a hand-over removes it. It has to be alive in the
--        snapshot, at the time the statement came in. The delete waits for a waiter that is just
--        leaving, and then finds nothing.
-- The mark is the newest ticket. If the waiter with that ticket is deleted, nobody is left. If
-- another waiter would be deleted and the snapshot has nobody behind it, the newest waiter has left
-- or is just coming. Then nothing changes, and `hand_over` finds out. Indexes: the primary keys.
-- Reads: 7 rows.
-- name: pass_on
-- gives: token @successor
WITH held AS MATERIALIZED (
    SELECT l.lock_key, l.last_ticket
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       FOR NO KEY UPDATE OF l
), next AS (
    DELETE FROM {prefix}waiter AS w
     WHERE w.lock_key = $1 AND EXISTS (SELECT FROM held)
       AND w.ticket = (SELECT f.ticket FROM {prefix}waiter f
                        WHERE f.lock_key = $1 ORDER BY f.ticket LIMIT 1)
       AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id)
           > statement_timestamp()
       AND ((SELECT last_ticket FROM held) = w.ticket
            OR (SELECT b.ticket FROM {prefix}waiter b
                 WHERE b.lock_key = $1 AND b.ticket > w.ticket
                 ORDER BY b.ticket LIMIT 1) IS NOT NULL)
    RETURNING w.ticket, w.owner, w.session_id, w.node_info, w.hold_at_most, w.lock_delay,
              w.metadata, w.bell
)
UPDATE {prefix}lock AS l
   SET fence = l.fence + 1, owner = next.owner,
       session_id = CASE WHEN next.hold_at_most IS NULL THEN next.session_id END,
       node_info = next.node_info, reentrant_count = 1, changed_at = clock_timestamp(),
       expires_at = clock_timestamp() + {term next.hold_at_most},
       lock_delay = next.lock_delay, metadata = next.metadata, revocations = 0,
       last_ticket = CASE WHEN l.last_ticket = next.ticket THEN 0 ELSE l.last_ticket END
  FROM next
 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
RETURNING l.fence, next.owner, next.session_id, next.hold_at_most, next.bell, {durable};

-- `hand_over` and `serve` lock the row in two ways, and {grant_next} goes on from there. In both,
-- `seen` is the mark of the snapshot. $1 key, $2 owner, $3 token. Waits for proofs of the same
-- hold.
-- name: hand_over
-- gives: is_locked token @successor
WITH seen AS MATERIALIZED (
    SELECT l.last_ticket FROM {prefix}lock l WHERE l.lock_key = $1
), locked AS MATERIALIZED (
    SELECT l.lock_key, l.last_ticket
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       FOR NO KEY UPDATE OF l
){grant_next};

-- $1 key. dead: the proof of `try_acquire`. Waits for nobody.
-- name: serve
-- gives: is_locked token @successor
WITH seen AS MATERIALIZED (
    SELECT l.last_ticket FROM {prefix}lock l WHERE l.lock_key = $1
), dead AS MATERIALIZED (
    SELECT l.lock_key, l.last_ticket
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1 AND l.kind = 1
       AND {closed_until s.expires_at} <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), open AS MATERIALIZED (
    SELECT l.lock_key, l.last_ticket
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.kind = 1
       AND (l.owner IS NULL
            OR {closed_until l.expires_at} <= clock_timestamp())
       FOR NO KEY UPDATE OF l SKIP LOCKED
), locked AS MATERIALIZED (
    SELECT lock_key, last_ticket FROM dead
    UNION ALL SELECT lock_key, last_ticket FROM open
){grant_next};

-- sure:    see the head of this file.
-- next:    the first waiter that is alive in the snapshot, at the time the statement came in (see
--          `me`), and that is not just leaving. If it dies during the wait, it gets a key that
--          anybody may take from it.
-- before:  the waiters that `next` passes over; all waiters if there is no next one.
-- late:    those of `before` whose session is proved dead. A waiter that only looks dead keeps its
--          row.
-- gone:    those of `before` whose session has no row any more. A session exists before its waiters
--          do, so one snapshot with the waiter and without the session is proof.
-- removed: deletes rows that this statement has locked, or whose session is dead for good. Without
--          its range it would read the whole queue if the planner believed that the queue is short.
-- given:   one update, with a next waiter or without. It counts the fence on the locked version.
--          The commit is durable if there is a next waiter, since that is a grant.
-- The update clears the mark if the snapshot has no other waiter. Indexes: the primary keys. Reads:
-- 12 rows, and 6 for each waiter that is passed over.
-- fragment: grant_next
, sure AS MATERIALIZED (
    SELECT locked.lock_key FROM locked JOIN seen ON seen.last_ticket = locked.last_ticket
), next AS MATERIALIZED (
    SELECT w.ticket, w.owner, w.session_id, w.node_info, w.hold_at_most, w.lock_delay, w.metadata,
           w.bell
      FROM {prefix}waiter w
     WHERE w.lock_key = $1 AND EXISTS (SELECT FROM sure)
       AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id)
           > statement_timestamp()
     ORDER BY w.ticket
     LIMIT 1
       FOR UPDATE OF w SKIP LOCKED
), before AS MATERIALIZED (
    SELECT w.ticket, w.session_id
      FROM {prefix}waiter w
     WHERE w.lock_key = $1 AND EXISTS (SELECT FROM sure)
       AND w.ticket < (SELECT coalesce(min(ticket), 1::bigint << 62) FROM next)
     ORDER BY w.ticket {all}
), late AS MATERIALIZED (
    SELECT b.ticket
      FROM before b
     CROSS JOIN LATERAL (
        SELECT FROM {prefix}session s
         WHERE s.id = b.session_id AND s.expires_at <= clock_timestamp()
           FOR SHARE OF s SKIP LOCKED) AS dead
), gone AS MATERIALIZED (
    SELECT b.ticket
      FROM before b
     WHERE (SELECT s.id FROM {prefix}session s WHERE s.id = b.session_id) IS NULL
), removed AS (
    DELETE FROM {prefix}waiter AS w
     WHERE w.lock_key = $1
       AND w.ticket <= (SELECT max(ticket) FROM (SELECT ticket FROM next
                                                 UNION ALL SELECT ticket FROM before) AS passed)
       AND w.ticket = ANY (ARRAY(SELECT ticket FROM next UNION ALL SELECT ticket FROM late
                                 UNION ALL SELECT ticket FROM gone))
    RETURNING w.ticket
), given AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + (SELECT count(*) FROM next),
           owner = next.owner,
           session_id = CASE WHEN next.hold_at_most IS NULL THEN next.session_id END,
           node_info = coalesce(next.node_info, l.node_info),
           reentrant_count = (SELECT count(*) FROM next),
           changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + {term next.hold_at_most},
           lock_delay = coalesce(next.lock_delay, 0),
           metadata = next.metadata,
           revocations = 0,
           last_ticket = CASE
               WHEN EXISTS (SELECT FROM before WHERE ticket NOT IN (SELECT ticket FROM removed))
                    OR (SELECT w.ticket FROM {prefix}waiter w
                         WHERE w.lock_key = $1 AND w.ticket > next.ticket
                         ORDER BY w.ticket LIMIT 1) IS NOT NULL
               THEN l.last_ticket ELSE 0 END
      FROM sure LEFT JOIN next ON true
     WHERE l.lock_key = $1
    RETURNING l.fence, CASE WHEN l.owner IS NULL THEN {asynchronous}
        ELSE {durable} END
)
SELECT (SELECT count(*) FROM locked), (SELECT fence FROM given),
       next.owner, next.session_id, next.hold_at_most, next.bell
  FROM (SELECT 1) AS always LEFT JOIN next ON true

-- $1 key, $2 ticket, $3 owner. Waits at most for a hand-over that is under way. The commit is not
-- made asynchronous: if a crash brought the row back, a hand-over would grant the key to a waiter
-- that has left, for as long as its session lives.
-- name: leave
DELETE FROM {prefix}waiter WHERE lock_key = $1 AND ticket = $2 AND owner = $3;

-- $1 key, $2 owner. Reads: 1 row. Index: waiter_owner; IS TRUE keeps the planner from another one.
-- name: leave_by_owner
DELETE FROM {prefix}waiter WHERE owner = $2 AND (lock_key = $1) IS TRUE;

-- $1 key, $2 ticket, $3 limit: the waiters behind that ticket. Index: the primary key, in its
-- order.
-- name: list
-- gives: ticket owner session node_info waited
SELECT w.ticket, w.owner, w.session_id, w.node_info,
       {since w.queued_at}
  FROM {prefix}waiter w
 WHERE w.lock_key = $1 AND w.ticket > $2
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > clock_timestamp()
 ORDER BY w.ticket
 LIMIT $3;

-- $1 key and $2 ticket: the listed waiters come behind these; $3 the first key after all of them,
-- $4 limit, which the planner does not know: see job.sql. The statement
-- reads a range of the primary key, in its order. Reads: 2 rows for each waiter.
-- name: list_all
-- gives: @list key
SELECT w.ticket, w.owner, w.session_id, w.node_info,
       {since w.queued_at}, w.lock_key
  FROM {prefix}waiter w
 WHERE (w.lock_key, w.ticket) > ($1, $2) AND w.lock_key < $3
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > clock_timestamp()
 ORDER BY w.lock_key, w.ticket
 LIMIT (SELECT $4::bigint);

-- A list of waiters: key, owner, ticket. Plain reads of one snapshot, by the clock. Indexes:
-- primary keys. Reads: 3 rows for each waiter. A grant that is found is carried.
-- name: look
-- gives: number is_holder token term_left is_waiting looks_takeable
SELECT asked.number, l.owner = asked.owner, l.fence,
       {until l.expires_at},
       l.is_waiting,
       coalesce(l.owner IS NULL
           OR {closed_until coalesce(l.expires_at, l.session_until)} <= clock_timestamp(), false),
       CASE WHEN l.owner = asked.owner THEN {carried} END
  FROM ({asked}) AS asked (number, lock_key, owner, ticket)
 CROSS JOIN LATERAL (
    SELECT k.owner, k.fence, k.expires_at, k.lock_delay,
           (SELECT s.expires_at FROM {prefix}session s WHERE s.id = k.session_id) AS session_until,
           (SELECT w.owner FROM {prefix}waiter w
             WHERE w.lock_key = asked.lock_key AND w.ticket = asked.ticket)
               IS NOT DISTINCT FROM asked.owner AS is_waiting
      FROM {prefix}lock k
     WHERE k.lock_key = asked.lock_key
     LIMIT 1) AS l;

-- $1 key, $2 session, $3 ticket. Asks whether this waiter waits for its own session, directly or
-- through others. It finds no session if the waiter's row has become a grant meanwhile, since its
-- own session is then the holder. Indexes: waiter_session, and the primary keys. Reads: 4 rows, and
-- 3 for each call in which one of these sessions waits.
-- name: circle
WITH RECURSIVE blocker (session_id) AS (
    SELECT s.id
      FROM {prefix}lock l
      JOIN {prefix}session s ON s.id = l.session_id AND s.expires_at > clock_timestamp()
     WHERE l.lock_key = $1
       AND (SELECT own.ticket FROM {prefix}waiter own
             WHERE own.lock_key = $1 AND own.ticket = $3) IS NOT NULL
    UNION
    SELECT behind.session_id
      FROM blocker b
     CROSS JOIN LATERAL (
        SELECT (SELECT s.id
                  FROM {prefix}lock l
                  JOIN {prefix}session s ON s.id = l.session_id AND s.expires_at > clock_timestamp()
                 WHERE l.lock_key = w.lock_key) AS session_id
          FROM {prefix}waiter w
         WHERE w.session_id = b.session_id
         ORDER BY w.session_id {all}) AS behind
     WHERE behind.session_id IS NOT NULL
)
SELECT 1 FROM blocker WHERE session_id = $2;

-- $1 channel, $2 owner as text. Runs in a transaction of its own that waits for no flush. The
-- server commits transactions that notify one after the other; if they waited for flushes, each
-- would wait for the flushes of all before it.
-- name: notify
WITH asynchronously AS MATERIALIZED (SELECT {asynchronous})
SELECT pg_notify($1, $2) FROM asynchronously;
