-- SQLite: fragments of its statements.
--
-- {now}: the clock, in microseconds since the boot, read once the write lock was taken; {wall}: the
-- machine's clock, in microseconds since 1970; {boot}: the boot this process runs in. Each is bound
-- as a parameter, wherever it stands. There is one writer at a time, and one clock for all, so most
-- races of the servers cannot happen: every read inside a write transaction stays true until that
-- commits.

-- True when the rows are of this boot. Rows of another boot belong to nobody.
-- fragment: of_this_boot
(SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = {boot}

-- True if an owner holds the key, and neither its term nor its session has ended. A missing session
-- row counts as alive. Indexes: the primary keys of both tables.
-- fragment: live_hold
(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > {now}) AND NOT EXISTS (
    SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= {now}))

-- A term or a delay, or null. One that somebody has written by hand may be text, negative, or
-- longer than a sum of times can be.
-- fragment: term
min(max(CAST({it} AS INTEGER), 0), {longest})

-- The end of lock row l's lock_delay, which begins at the instant behind the fragment.
-- fragment: closed_until
{it} + {term l.lock_delay}

-- Has an owner that keeps others out. A dead owner does so for the row's lock_delay.
-- fragment: closed
(l.owner IS NOT NULL AND (l.expires_at IS NULL OR {closed_until l.expires_at} > {now})
    AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id
                       AND {closed_until s.expires_at} <= {now}))

-- Free, or the owner has been dead for the row's lock_delay.
-- fragment: takeable
(l.owner IS NULL OR coalesce({closed_until l.expires_at} <= {now}, 0) OR EXISTS (
    SELECT 1 FROM {prefix}session s
     WHERE s.id = l.session_id AND {closed_until s.expires_at} <= {now}))

-- The assignments that free a lock row; its fence and the name of its last holder stay.
-- fragment: free
owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = {now}

-- Describes a hold. The casts, here and in other lists,
-- are for values that somebody has written by hand: a damaged row hides no other one.
-- fragment: hold
-- gives: key token is_held owner session node_info level held_for remaining metadata
l.lock_key, CAST(l.fence AS INTEGER) AS fence, {live_hold} AND {of_this_boot} AS is_held,
CAST(l.owner AS BLOB) AS owner, CAST(l.session_id AS BLOB) AS session_id, l.node_info,
CAST(l.reentrant_count AS INTEGER) AS reentrant_count,
CAST({now} - l.changed_at AS INTEGER) AS held_for,
CAST(coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s WHERE s.id = l.session_id),
              {now}) - {now} AS INTEGER) AS remaining, l.metadata

-- The live waiters in the queue of lock row l; looked for only if somebody may wait.
-- fragment: waiters
CASE WHEN l.last_ticket = 0 THEN 0 ELSE (
    SELECT count(*) FROM {prefix}waiter w
     WHERE w.lock_key = l.lock_key
       AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > {now}) END
