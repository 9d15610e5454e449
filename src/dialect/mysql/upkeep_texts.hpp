#pragma once
// The statements of upkeep_store.cpp. What differs between MySQL and MariaDB: only
// {share_skip_locked}, see store.cpp.
//
// FORCE INDEX (PRIMARY): a look goes through the rows behind the place, in that order, and asks for
// the session of each by its key; a change locks one row. A scan, which the optimizer prefers for
// small tables, would lock and wait for rows we do not want.
#include <string_view>

namespace leasehold::mysql_dialect::upkeep_texts {

inline constexpr std::string_view progress_text =
    "SELECT task, turn, {now} - turned_at, unfinished, place, passes FROM {prefix}upkeep";

// ? task, turn, every. What stands behind the place when a pass begins was not looked at yet by
// whoever has the turn. Assignments are made from left to right.
inline constexpr std::string_view take_turn_text = R"sql(
UPDATE {prefix}upkeep
SET turn = turn + 1, unfinished = unfinished + 1,
    sweeps_to = CASE WHEN place = '' THEN {now} ELSE sweeps_to END, turned_at = {now}
WHERE task = ? AND turn = ? AND (turned_at <= {now} - ? OR turned_at > {now}))sql";

// ? end, end, oldest, end, oldest, place, task, turn: `end` is 1 where the pass ends, `oldest` the
// first end of what is left.
inline constexpr std::string_view advance_text = R"sql(
UPDATE {prefix}upkeep
SET unfinished = GREATEST(unfinished - 1, 0), passes = passes + ?,
    swept_to = CASE ? WHEN 1 THEN LEAST(sweeps_to, ?) ELSE swept_to END,
    sweeps_to = CASE ? WHEN 1 THEN {now} ELSE LEAST(sweeps_to, ?) END,
    place = ?
WHERE task = ? AND turn = ?)sql";

// Each look answers with the key of every row in two columns, whether there is something to clear,
// whether somebody may wait for it, and the end of its session.

// ? place, rows. An owner whose end is not known has lost its session's row.
inline constexpr std::string_view look_at_locks_text = R"sql(
SELECT l.lock_key, NULL,
       CASE WHEN l.owner IS NULL THEN l.last_ticket <> 0 AND l.kind = 1
            ELSE COALESCE(COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now}, 1) END,
       l.last_ticket <> 0 AND l.kind = 1, s.expires_at
FROM {prefix}lock l FORCE INDEX (PRIMARY)
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = l.session_id
WHERE l.lock_key > ? ORDER BY l.lock_key LIMIT ?)sql";

// ? key, key, rest, rows: two ranges of the primary key, where a comparison of rows would be none.
// Holders and waiters; see text_about() of upkeep_place.hpp.
inline constexpr std::string_view look_at_dead_text = R"sql(
SELECT h.lock_key, h.{rest}, COALESCE(s.expires_at <= {now}, 1), 0, s.expires_at
FROM {prefix}{table} h FORCE INDEX (PRIMARY)
LEFT JOIN {prefix}session s FORCE INDEX (PRIMARY) ON s.id = h.session_id
WHERE h.lock_key > ? OR (h.lock_key = ? AND h.{rest} > ?)
ORDER BY h.lock_key, h.{rest} LIMIT ?)sql";

// ? retention, place, rows. Tasks 1 to 3 are those that look at what refers to sessions.
inline constexpr std::string_view look_at_sessions_text = R"sql(
SELECT s.id, NULL, s.expires_at + ? <= LEAST({now},
           (SELECT CASE WHEN COUNT(*) = 3 THEN MIN(u.swept_to) END
            FROM {prefix}upkeep u WHERE u.task IN (1, 2, 3))), 0, NULL
FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id > ? ORDER BY s.id LIMIT ?)sql";

// ? retention, place, rows.
inline constexpr std::string_view look_at_idle_text = R"sql(
SELECT l.lock_key, NULL,
       l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at + ? <= {now}
           AND NOT EXISTS (SELECT 1 FROM {prefix}holder h FORCE INDEX (PRIMARY)
                           WHERE h.lock_key = l.lock_key), 0, NULL
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key > ? ORDER BY l.lock_key LIMIT ?)sql";

// Clears: one row each, in a packet that is a transaction of its own; why, see batch.hpp.
// A statement whose variable is not 1 reads no table. No DELETE has a subquery: at READ COMMITTED
// it locks what it reads, where UPDATE does not.

// ? key, key. The lock row is locked by the first statement, so the snapshot of the second is newer
// than its grant: a session that it does not have was there when the hold was granted, and is gone.
inline constexpr std::string_view free_lock_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = ? AND l.owner IS NOT NULL FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key = ? AND @leasehold_go = 1
  AND (l.expires_at + l.lock_delay <= {now} OR {proved_dead}
       OR (l.session_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM {prefix}session g WHERE g.id = l.session_id)));
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

// Holders and waiters. ? key, rest, key, rest.
// @leasehold_dead: of its session, that is dead, or in a snapshot newer than the lock of its row
// gone.
inline constexpr std::string_view remove_dead_text = R"sql(
SELECT COUNT(*), MAX(h.session_id) INTO @leasehold_go, @leasehold_whose
FROM {prefix}{table} h FORCE INDEX (PRIMARY)
WHERE h.lock_key = ? AND h.{rest} = ? FOR UPDATE SKIP LOCKED;
SELECT COUNT(*) INTO @leasehold_dead FROM {prefix}session d FORCE INDEX (PRIMARY)
WHERE d.id = @leasehold_whose AND d.expires_at <= {now} {share_skip_locked};
SELECT @leasehold_dead + (COUNT(*) = 0) INTO @leasehold_dead FROM {prefix}session g
WHERE g.id = @leasehold_whose;
DELETE FROM {prefix}{table}
WHERE lock_key = ? AND {rest} = ? AND @leasehold_go = 1 AND @leasehold_dead > 0;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

// ? id, retention, id. What a grant in a transaction as old as that leaves is an orphan.
inline constexpr std::string_view remove_session_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id = ? AND s.expires_at <= {now} - ? FOR UPDATE SKIP LOCKED;
DELETE FROM {prefix}session WHERE id = ? AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

// Locked before the first delete, and by every insert of a new key before it inserts: no key can
// come back with a fence below the one it was removed with.
inline constexpr std::string_view lock_mark_text = R"sql(
SELECT fence INTO @leasehold_fence FROM {prefix}fence_mark WHERE id = 1 FOR UPDATE;)sql";

// ? key, retention, key. The mark is written only where the key has the higher fence.
inline constexpr std::string_view remove_idle_text = R"sql(
SELECT COUNT(*), COALESCE(MAX(l.fence), 0) INTO @leasehold_go, @leasehold_fence
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = ? AND l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= {now} - ?
FOR UPDATE SKIP LOCKED;
UPDATE {prefix}fence_mark SET fence = @leasehold_fence
WHERE id = 1 AND @leasehold_go = 1 AND fence < @leasehold_fence;
DELETE FROM {prefix}lock WHERE lock_key = ? AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

}  // namespace leasehold::mysql_dialect::upkeep_texts
