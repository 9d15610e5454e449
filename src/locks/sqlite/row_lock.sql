-- SQLite: row_lock.cpp asks the operating system whose transaction keeps the file locked.

-- $1 the first key, $2 the first after all of them, $3 limit. Lists the keys whose hold is over,
-- and that nobody has taken or cleaned up since.
-- name: list_passed
SELECT l.lock_key FROM {prefix}lock l
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.owner IS NOT NULL AND NOT {live_hold}
 ORDER BY l.lock_key LIMIT $3;

-- The database's file; empty where it is in memory.
-- name: file
SELECT file FROM pragma_database_list WHERE name = 'main';
