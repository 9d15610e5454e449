-- PostgreSQL: fragments of its statements.

-- Whether commits here wait for a standby. Null on a standby, which commits nothing.
-- fragment: waits
CASE WHEN NOT pg_is_in_recovery() THEN current_setting('synchronous_standby_names') <> '' END

-- A column of RETURNING by which this commit waits for the disk and for the standbys that
-- synchronous_standby_names names, whatever synchronous_commit says. Each of the values below
-- `on` answers before a synchronous standby has flushed the commit; without such a standby `on` is
-- `local`. remote_apply waits for more and stays.
-- fragment: durable
CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
     THEN set_config('synchronous_commit', 'on', true) END

-- The same where a standby is required: without one the statement fails, and writes nothing. The
-- server reads a changed setting before it begins a statement. If the setting is emptied while the
-- commit waits, the driver finds out: it knows such statements by the value that makes them fail.
-- fragment: durable on standby
CASE WHEN current_setting('synchronous_standby_names') = ''
     THEN set_config('synchronous_commit', 'no synchronous standby', true)
     WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
     THEN set_config('synchronous_commit', 'on', true) END

-- A column of a read by which its answer, too, waits for those standbys: the rows it has found may
-- be of a commit whose wait was cancelled, or that was under way when the server crashed, and a
-- fail-over would undo it. The message that is written here comes behind that commit in the WAL,
-- and nobody reads it. Without such a standby nothing is written.
-- fragment: carried
CASE WHEN current_setting('synchronous_standby_names') <> ''
     THEN concat(pg_logical_emit_message(true, 'leasehold', ''), {durable}) END

-- The same where a standby is required: without one a row that is found fails the statement, since
-- the commit that wrote the row may have waited for none.
-- fragment: carried on standby
concat({durable}, pg_logical_emit_message(true, 'leasehold', ''))

-- True when there are standbys and no commit waits for any. A subscriber to a part of the data
-- alone is no standby.
-- fragment: unwaited
current_setting('synchronous_standby_names') = '' AND EXISTS (
    SELECT FROM pg_stat_replication r
     WHERE NOT EXISTS (SELECT FROM pg_replication_slots s
                        WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))

-- A column of RETURNING by which this commit waits for neither the disk nor a standby. set_config
-- in a RETURNING list is evaluated for changed rows only, so that a refused statement does not pay
-- for it; it lasts until the end of the statement's own transaction.
-- fragment: asynchronous
set_config('synchronous_commit', 'off', true)

-- Selects all rows. The planner assumes that a limit that it cannot know is a tenth of them. So it
-- walks the index with the order of ORDER BY, and looks up the few rows of a joined table. If there
-- is no limit, and statistics say that most of the table belongs to one key, it reads and sorts the
-- whole table, and does so for every key.
-- fragment: all
LIMIT (SELECT 1::bigint << 62)

-- The fragments with an instant behind them: {since l.changed_at}. An instant before 1970 or behind
-- the year 9999, such as infinity, which somebody has written by hand, counts as that bound.
-- fragment: finite
CASE WHEN {it} < 'epoch' THEN 'epoch'
     WHEN {it} > timestamptz '9999-01-01 00:00:00+00' THEN timestamptz '9999-01-01 00:00:00+00'
     ELSE {it} END

-- Microseconds.
-- fragment: since
(extract(epoch FROM clock_timestamp() - {finite {it}}) * 1000000)::bigint

-- fragment: until
(extract(epoch FROM {finite {it}} - clock_timestamp()) * 1000000)::bigint

-- The lock_delay of lock row l. One that somebody has written by hand may be longer than a sum of
-- times can be.
-- fragment: delay
greatest(least(l.lock_delay, {longest}), 0) * interval '1 microsecond'

-- The end of that delay, which begins at the instant behind the fragment.
-- fragment: closed_until
{finite {it}} + {delay}

-- The term behind the fragment, or null; also of one that somebody has written by hand.
-- fragment: term
CASE WHEN {it} > {longest} THEN {longest} WHEN {it} < 0 THEN 0 ELSE {it} END
    * interval '1 microsecond'

-- Describes the hold of lock row l and of session row s, which may be missing. A statement that
-- found the row held before sets the third column itself.
-- fragment: hold
-- gives: key token is_held owner session node_info level held_for remaining metadata
l.lock_key, l.fence, {is_live}, {rest_of_hold}
-- fragment: rest_of_hold
l.owner, l.session_id, l.node_info, l.reentrant_count, {held_for}, {remaining}, l.metadata
-- fragment: held_for
{since l.changed_at}

-- fragment: remaining
{until coalesce(l.expires_at, s.expires_at)}

-- True if an owner holds the key, and neither its term nor its session has ended. A missing session
-- row counts as alive.
-- fragment: is_live
l.owner IS NOT NULL
    AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
    AND (s.id IS NULL OR s.expires_at > clock_timestamp())

-- The live waiters in the queue of lock row l; looked for only if somebody may wait. Reads: 2 rows
-- for each waiter of that key.
-- fragment: waiters
CASE WHEN l.last_ticket = 0 THEN 0 ELSE (
    SELECT count(*)
      FROM (SELECT (SELECT ws.expires_at FROM {prefix}session ws
                     WHERE ws.id = w.session_id) AS until
              FROM {prefix}waiter w WHERE w.lock_key = l.lock_key ORDER BY w.ticket {all}) AS queue
     WHERE queue.until > clock_timestamp()) END

-- The schema that our table of records stands in: $1 the prefix.
-- fragment: ours
SELECT c.oid, c.reloptions, c.relrowsecurity,
       substr(c.relname::text, length(lower($1::text)) + 1) AS name
  FROM pg_class c
 WHERE c.relkind IN ('r', 'p') AND left(c.relname::text, length($1::text)) = lower($1::text)
   AND c.relnamespace = (SELECT m.relnamespace FROM pg_class m
                          WHERE m.oid = to_regclass('{prefix}migration'))
