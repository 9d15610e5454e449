-- PostgreSQL: the transactions that keep a row locked. Only people ask for them, so these
-- statements may be slow.

-- $1 the first key, $2 the first after all of them, $3 limit. Lists the keys whose hold is over,
-- and that nobody has taken or cleaned up since.
-- name: list_passed
SELECT l.lock_key
  FROM {prefix}lock l
  LEFT JOIN LATERAL (
    SELECT u.id, u.expires_at FROM {prefix}session u WHERE u.id = l.session_id LIMIT 1) AS s ON true
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.owner IS NOT NULL AND NOT ({is_live})
 ORDER BY l.lock_key
 LIMIT $3;

-- $1 key. Asks whether a row that a taker would lock is locked: the row of the key, or one of its
-- holders. It locks the unlocked ones for an instant, since PostgreSQL has no other way to tell. It
-- waits for no row, nor for a standby. Needs the right to UPDATE.
-- name: is_locked
WITH lock_rows AS MATERIALIZED (
    SELECT FROM {prefix}lock WHERE lock_key = $1 FOR NO KEY UPDATE SKIP LOCKED
), holder_rows AS MATERIALIZED (
    SELECT FROM {prefix}holder WHERE lock_key = $1 FOR NO KEY UPDATE SKIP LOCKED
)
SELECT (SELECT count(*) FROM {prefix}lock WHERE lock_key = $1)
           > (SELECT count(*) FROM lock_rows)
       OR (SELECT count(*) FROM {prefix}holder WHERE lock_key = $1)
           > (SELECT count(*) FROM holder_rows),
       {asynchronous};

-- $1 key. Plain reads, none of which waits.
--
-- marked:  xmax is the last transaction that locked or changed the row, or the number of a list of
--          several that did; no column says which of the two it is.
-- lockers: takes xmax for both: for a transaction, and for a list if a list of that number can
--          exist, since the function fails on any other number. `open_ones` then leaves the open
--          transactions: each that has locked a row, a prepared one too, has a lock on its own
--          number until it ends. A prepared transaction has no process.
-- all_of_them: if `named` is empty, a savepoint that was released since may have locked the row,
--          and no lock on its number is left. Its transaction had a number before it, but nothing
--          says which. So this part takes each transaction that is as old as the mark or older.
-- The columns after the seventh: the name of a prepared transaction; whether the user may not see
-- the activity of another; whether it is committed here and only waits for its standby; its last
-- statement.
-- name: lockers
-- gives: connection user host application state open_for transactions, prepared is_hidden
-- gives: waits_for_standby statement
WITH marked AS MATERIALIZED (
    SELECT xmax AS number, tableoid FROM {prefix}lock WHERE lock_key = $1 AND xmax <> '0'
     UNION ALL
    SELECT xmax, tableoid FROM {prefix}holder WHERE lock_key = $1 AND xmax <> '0'
), lockers AS MATERIALIZED (
    SELECT number FROM marked
     UNION
    SELECT of_list.xid
      FROM marked
      JOIN pg_class c ON c.oid = marked.tableoid
     CROSS JOIN LATERAL pg_get_multixact_members(
        CASE WHEN mxid_age(marked.number) > 0
                  AND mxid_age(marked.number) <= mxid_age(c.relminmxid)
             THEN marked.number END) AS of_list
), open_ones AS MATERIALIZED (
    SELECT k.transactionid AS number, k.pid
      FROM pg_locks k
     WHERE k.locktype = 'transactionid' AND k.granted AND k.mode = 'ExclusiveLock'
       AND k.pid IS DISTINCT FROM pg_backend_pid()
), named AS MATERIALIZED (
    SELECT o.number, o.pid FROM open_ones o JOIN lockers ON lockers.number = o.number
), all_of_them AS (
    SELECT number, pid FROM named
     UNION ALL
    SELECT o.number, o.pid
      FROM open_ones o
     WHERE NOT EXISTS (SELECT FROM named)
       AND EXISTS (SELECT FROM marked WHERE age(marked.number) <= age(o.number))
)
SELECT t.pid, coalesce(a.usename, p.owner)::text, coalesce(a.client_hostname, host(a.client_addr)),
       a.application_name, CASE WHEN p.gid IS NOT NULL THEN 'prepared'
            WHEN a.wait_event = 'SyncRep' THEN 'waiting for a synchronous standby'
            ELSE a.state END,
       (extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared))
        * 1000000)::bigint,
       count(*) OVER (), quote_literal(p.gid),
       coalesce(a.query = '<insufficient privilege>', false),
       coalesce(a.wait_event = 'SyncRep', false), left(a.query, 200)
  FROM all_of_them t
  LEFT JOIN pg_stat_activity a ON a.pid = t.pid
  LEFT JOIN pg_prepared_xacts p ON p.transaction = t.number
 ORDER BY age(t.number) DESC
 LIMIT 1;

-- {connection}: its number.
-- name: end_connection
SELECT pg_terminate_backend({connection});

-- {prepared}: the name of a prepared transaction, as a literal.
-- name: end_prepared
ROLLBACK PREPARED {prepared};
