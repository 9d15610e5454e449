-- SQLite: words of its statements.
--
-- {now}: the clock, in microseconds since the boot, read once the write lock was taken; {wall}: the
-- machine's clock, in microseconds since 1970; {boot}: the boot this process runs in. Each is bound
-- as a parameter, wherever it stands. One writer at a time and a clock shared by all make most
-- traps of the servers impossible: whatever is read inside a write transaction is true until it
-- commits.

-- Rows of another boot are of nobody.
-- word: of_this_boot
(SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = {boot}

-- Held by an owner not proved dead. A session row that is missing counts as alive. Served by the
-- primary keys of both tables.
-- word: live_hold
(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > {now}) AND NOT EXISTS (
    SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= {now}))

-- Of an owner, dead or not, that keeps others out: the dead do for the row's lock_delay.
-- word: closed
(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at + l.lock_delay > {now})
    AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id
                       AND s.expires_at + l.lock_delay <= {now}))

-- Free, or its owner is dead and was for the row's lock_delay.
-- word: takeable
(l.owner IS NULL OR coalesce(l.expires_at + l.lock_delay <= {now}, 0) OR EXISTS (
    SELECT 1 FROM {prefix}session s
     WHERE s.id = l.session_id AND s.expires_at + l.lock_delay <= {now}))

-- The assignments that free a lock row; its fence and the name of its last holder stay.
-- word: free
owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = {now}

-- What describes a hold, in the order of hold_in() in hold_rows.cpp.
-- word: hold
l.lock_key, l.fence, {live_hold} AND {of_this_boot} AS is_held, l.owner, l.session_id, l.node_info,
l.reentrant_count, {now} - l.changed_at AS held_for,
coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s WHERE s.id = l.session_id),
         {now}) - {now} AS remaining, l.metadata
