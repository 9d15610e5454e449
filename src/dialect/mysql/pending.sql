-- Grants that stand or fall with a transaction of the caller's, on MySQL and MariaDB. One statement
-- each, without a clock, so that neither the time zone nor the flags of the caller's connection
-- matter.

-- $1 key, $2 owner, $3 token, $4 the other owner.
-- By primary key: one record lock. It waits for whoever has the row at this moment, all of whom
-- are done within one statement and hold nothing the caller has: so no circle can close. Not SKIP
-- LOCKED, because MariaDB's may be reported as a deadlock, which rolls the caller back. Reads: 1
-- row.
-- name: move
UPDATE {prefix}lock l SET l.owner = $4 WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3;
