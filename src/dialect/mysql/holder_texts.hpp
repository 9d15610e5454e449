#pragma once
// Keys that several can hold, on MySQL and MariaDB. What differs between them: only
// {share_skip_locked}, see store.cpp; why the statements are of these shapes: lock_store.cpp.
//
// A grant is a short transaction that begins and ends inside one packet, so that the server carries
// it through whatever becomes of the client. It locks the gate in a statement of its own: MariaDB
// opens the snapshot of an UPDATE before it waits for the row, when it plans a nested SELECT that
// names a row by a constant, and a grant that was waited for is then not in it (tried: both get
// the key). The next statement has a snapshot of its own, and counts the holders; so of two grants
// the second sees the first.
// The rows of others are read by it and never locked: a proof may be open on any of them.
// Where some of them look dead it changes nothing before it is told that their rows were emptied as
// far as can be: one by one, in a packet of its own, see bury_text; the reaper removes them. An
// emptied row has no bits, no permits and token 0, so that nothing its dead owner has or does finds
// it any more.
#include <string_view>

namespace leasehold::mysql_dialect::holder_texts {

// Of holder row h and the session row s joined to it, if there. Missing counts as alive.
#define LIVE "(s.expires_at IS NULL OR s.expires_at > {now})"

// What describes a holder h with its session s, in the order lock_info_of() takes it.
#define HOLDER_COLUMNS                                                             \
    "h.lock_key, h.fence, h.owner, h.session_id, h.node_info, h.mode, h.permits, " \
    "{now} - h.granted_at, COALESCE(s.expires_at - {now}, 0), "                    \
    "COALESCE((SELECT g.kind FROM {prefix}lock g WHERE g.lock_key = h.lock_key), 1) "

// 1. The pre-check, a holder_status: plain reads, in which those who look dead do not count. It may
//    only refuse. What comes after asks for 1 first, and then locks nothing otherwise; nor where
//    there are dead to be buried first. Who of the live has the lowest token is told if refused.
//    ? session, kind, kind, capacity, token or null, key, owner, token, permits, capacity, gives
//    way to, whether the dead were seen to, key, owner, kind, key.
// 2. X on the owner's own row, if there is one: waits for proofs of the owner's own hold before the
//    gate is locked, so that nobody else waits for them. ? key, owner.
// 3. The grant: X on the gate, what others have, then the decision. ? key, key, owner, kind,
//    capacity, node_info, key, session, permits, capacity, gives way to, kind, capacity, kind,
//    token or null, owner, token.
// 4. The row. ? key, owner, session, mode, permits, node_info, mode, permits.
// 5. Reports. ? key, key.
// Reads: 24 rows, and 3 for each other holder; without the dead, see bury_text.
inline constexpr std::string_view try_acquire_text =
    R"sql(
SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now}) THEN 3
    WHEN (l.is_taken OR u.holders > 0) AND l.kind <> ? THEN 4
    WHEN (l.is_taken OR u.holders > 0) AND l.kind = ? AND l.capacity <> ? THEN 5
    WHEN ? IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM {prefix}holder o WHERE o.lock_key = ? AND o.owner = ? AND o.fence = ?) THEN 6
    WHEN u.permits + COALESCE(l.arrived, 0) + ? > ? OR (u.modes & ?) <> 0 THEN 2
    ELSE 1 END, u.dead, u.dead = 0 OR ?, u.first_owner
INTO @leasehold_status, @leasehold_dead, @leasehold_ready, @leasehold_first
FROM (
    SELECT COUNT(IF(NOT p.looks_dead AND p.fence > 0, 1, NULL)) AS holders,
           COALESCE(SUM(IF(p.looks_dead, 0, p.permits)), 0) AS permits,
           BIT_OR(IF(p.looks_dead, 0, p.mode)) AS modes,
           COUNT(IF(p.looks_dead AND p.mode <> 0, 1, NULL)) AS dead,
           SUBSTRING(MIN(IF(NOT p.looks_dead AND p.fence > 0,
                            CONCAT(LPAD(p.fence, 20, '0'), p.owner), NULL)), 21) AS first_owner
    FROM (
        SELECT h.owner, h.mode, h.permits, h.fence, COALESCE(s.expires_at <= {now}, 0) AS looks_dead
        FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
        WHERE h.lock_key = ? AND h.owner <> ?) p) u
LEFT JOIN (
    SELECT g.kind, g.capacity, g.arrived, (g.owner IS NOT NULL OR g.arrived > 0
           OR (g.kind <> ? AND g.last_ticket <> 0)) AS is_taken
    FROM {prefix}lock g WHERE g.lock_key = ?) l ON TRUE;
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_own FROM {prefix}holder h
WHERE h.lock_key = ? AND h.owner = ? AND @leasehold_status = 1 AND @leasehold_ready = 1
FOR UPDATE;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND @leasehold_status = 1 AND @leasehold_ready = 1 FOR UPDATE;
SELECT COALESCE(SUM(h.permits), 0), BIT_OR(h.mode), COUNT(IF(h.fence > 0, 1, NULL))
INTO @leasehold_permits, @leasehold_modes, @leasehold_holders
FROM {prefix}holder h WHERE h.lock_key = ? AND h.owner <> ? AND @leasehold_go = 1;
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.kind = ?, l.capacity = ?, l.node_info = ?,
    l.changed_at = {now}
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner IS NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now} AND l.fence >= 0)
  AND l.arrived + @leasehold_permits + ? <= ? AND (@leasehold_modes & ?) = 0
  AND ((l.kind = ? AND l.capacity = ?)
       OR (l.arrived = 0 AND (l.kind = ? OR l.last_ticket = 0) AND @leasehold_holders = 0))
  AND (? IS NULL OR EXISTS (
      SELECT 1 FROM {prefix}holder h
      WHERE h.lock_key = l.lock_key AND h.owner = ? AND h.fence = ?));
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT ?, ?, ?, ?, ?, @leasehold_token, ?, {now} FROM DUAL WHERE @leasehold_token > 0
ON DUPLICATE KEY UPDATE mode = ?, permits = ?, fence = @leasehold_token, granted_at = {now};
COMMIT;
SELECT @leasehold_token, @leasehold_status, g.kind, g.capacity, @leasehold_dead,
       )sql" HOLDER_COLUMNS
    R"sql(
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock g ON g.lock_key = ?
LEFT JOIN ({prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id)
    ON h.lock_key = ? AND h.owner = @leasehold_first AND h.fence > 0)sql";

// Those of others that look dead. ? key, owner.
inline constexpr std::string_view looks_dead_text = R"sql(
SELECT h.owner, h.session_id
FROM {prefix}holder h JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key = ? AND h.owner <> ? AND h.mode <> 0 AND s.expires_at <= {now}
ORDER BY h.owner)sql";

// For each of them: the proof of its death, then its row if nobody has it
// locked, both by primary key; no statement waits, and none touches the row of anybody else. The
// session of a holder row never changes. ? session; key, owner, session; key, owner.
inline constexpr std::string_view bury_text = R"sql(
SELECT COUNT(*) INTO @leasehold_dead FROM {prefix}session d
WHERE d.id = ? AND d.expires_at <= {now} {share_skip_locked};
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}holder h
WHERE h.lock_key = ? AND h.owner = ? AND h.session_id = ? AND h.mode <> 0
  AND @leasehold_dead = 1 FOR UPDATE SKIP LOCKED;
UPDATE {prefix}holder h SET h.mode = 0, h.permits = 0, h.fence = 0
WHERE h.lock_key = ? AND h.owner = ? AND @leasehold_go = 1;
SELECT @leasehold_count + @leasehold_go INTO @leasehold_count;)sql";

// A gate for a key never seen; see insert_text of lock_store.cpp.
inline constexpr std::string_view insert_gate_text = R"sql(
INSERT INTO {prefix}lock
    (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, expires_at)
SELECT ?, f.fence, NULL, NULL, '', 0, {now}, NULL FROM {prefix}fence_mark f
WHERE f.id = 1 LOCK IN SHARE MODE;)sql";

// Plain reads about a list, see list_statement.hpp; STRAIGHT_JOIN, so that the list comes first and
// each row is found by primary key.
//
// Asked for: key, owner; the third value is of no use. Reads: 2 rows for each, and 1.
inline constexpr std::string_view look_head_text = R"sql(
SELECT asked.number, h.mode, h.fence FROM ()sql";
inline constexpr std::string_view look_tail_text = R"sql() asked
STRAIGHT_JOIN {prefix}holder h ON h.lock_key = asked.lock_key AND h.owner = asked.owner)sql";

// Asked for: key, owner, token. Reads: 3 rows for each, and 1.
inline constexpr std::string_view are_held_head_text = "SELECT asked.number FROM (";
inline constexpr std::string_view are_held_tail_text =
    ") asked STRAIGHT_JOIN {prefix}holder h "
    "ON h.lock_key = asked.lock_key AND h.owner = asked.owner AND h.fence = asked.amount "
    "LEFT JOIN {prefix}session s ON s.id = h.session_id WHERE " LIVE;

// A locking read, so that a grant whose commit is still being written is seen.
inline constexpr std::string_view find_grant_text = R"sql(
SELECT fence FROM {prefix}holder
WHERE lock_key = ? AND owner = ? AND fence > 0 LOCK IN SHARE MODE)sql";

// By primary key: locks nothing else, and waits for proofs of this hold alone.
inline constexpr std::string_view release_text = R"sql(
DELETE FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND fence = ?)sql";
// A row of a dead one that says nothing any more is the reaper's.
inline constexpr std::string_view release_owner_text = R"sql(
DELETE FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND (mode <> 0 OR fence > 0))sql";

// The holder's own row alone; see prove_text of lock_store.cpp.
inline constexpr std::string_view prove_text = R"sql(
SELECT fence FROM {prefix}holder
WHERE lock_key = ? AND owner = ? AND fence = ? LOCK IN SHARE MODE)sql";

inline constexpr std::string_view announce_text = R"sql(
INSERT INTO {prefix}holder
    (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)
SELECT ?, ?, m.id, 8, 0, 0, ?, {now} FROM {prefix}session m
WHERE m.id = ? AND m.expires_at > {now}
ON DUPLICATE KEY UPDATE mode = {prefix}holder.mode | 8)sql";

inline constexpr std::string_view withdraw_text = R"sql(
DELETE FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND fence = 0;
UPDATE {prefix}holder SET mode = mode & ~8 WHERE lock_key = ? AND owner = ? AND fence > 0)sql";

// Affected rows do not tell a hold that has what it should have from one that is not there.
inline constexpr std::string_view reduce_text = R"sql(
UPDATE {prefix}holder SET mode = ?, permits = ? WHERE lock_key = ? AND owner = ? AND fence = ?;
SELECT 1 FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND fence = ?)sql";

inline constexpr std::string_view arrive_text = R"sql(
START TRANSACTION;
DELETE FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND fence = ?;
SELECT ROW_COUNT() INTO @leasehold_gone;
UPDATE {prefix}lock SET arrived = LAST_INSERT_ID(arrived + 1), changed_at = {now}
WHERE lock_key = ? AND @leasehold_gone = 1;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_arrived;
COMMIT;
SELECT @leasehold_arrived)sql";

// Reads: 1 row, and 2 for each holder.
inline constexpr std::string_view tally_text =
    "SELECT l.kind, l.capacity, l.arrived, (l.owner IS NOT NULL) + "
    "(SELECT COUNT(*) FROM {prefix}holder h "
    "LEFT JOIN {prefix}session s ON s.id = h.session_id "
    "WHERE h.lock_key = l.lock_key AND h.fence > 0 AND " LIVE
    ") "
    "FROM {prefix}lock l WHERE l.lock_key = ?";

// The rows that make up a complete phase: counted before the gate is locked, where that may only
// refuse, and once more when the gate and every place are. Who gives up does not lock the gate, but
// waits for the row. Who is alive is asked for one moment, read after the waits: the rows that are
// counted are the rows that pass. Reads: 8 rows, and 8 for each holder.
// ? key, key, key, key, key, key.
inline constexpr std::string_view pass_text =
    R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND l.capacity > 0 AND l.capacity = (
    SELECT SUM(h.permits) FROM {prefix}holder h
    LEFT JOIN {prefix}session s ON s.id = h.session_id
    WHERE h.lock_key = l.lock_key AND )sql" LIVE R"sql();
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_gate FROM {prefix}lock l
WHERE l.lock_key = ? AND @leasehold_go = 1 FOR UPDATE;
SELECT COUNT(*) INTO @leasehold_places FROM {prefix}holder h
WHERE h.lock_key = ? AND @leasehold_gate = 1 AND h.permits > 0 FOR UPDATE;
SELECT {now} INTO @leasehold_now;
SELECT COALESCE(SUM(h.permits), 0) INTO @leasehold_places FROM {prefix}holder h
WHERE h.lock_key = ? AND @leasehold_gate = 1 AND NOT EXISTS (
    SELECT 1 FROM {prefix}session d WHERE d.id = h.session_id AND d.expires_at <= @leasehold_now);
UPDATE {prefix}lock l SET l.fence = LAST_INSERT_ID(l.fence + 1), l.changed_at = {now}
WHERE l.lock_key = ? AND @leasehold_gate = 1 AND l.capacity = @leasehold_places;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
UPDATE {prefix}holder h SET h.mode = 16, h.permits = 0, h.fence = @leasehold_token
WHERE h.lock_key = ? AND @leasehold_token > 0 AND h.permits > 0 AND NOT EXISTS (
    SELECT 1 FROM {prefix}session d WHERE d.id = h.session_id AND d.expires_at <= @leasehold_now);
COMMIT;
SELECT @leasehold_token)sql";

// Reads: 3 rows for each holder.
inline constexpr std::string_view holders_text =
    "SELECT " HOLDER_COLUMNS
    "FROM {prefix}holder h "
    "LEFT JOIN {prefix}session s ON s.id = h.session_id "
    "WHERE h.lock_key = ? AND h.fence > 0 AND " LIVE " ORDER BY h.fence, h.owner";

// A range of the primary key. The two comparisons of a row value would not be. Reads: 3 rows for
// each hold listed, 2 for each row passed over.
inline constexpr std::string_view list_text =
    "SELECT " HOLDER_COLUMNS
    "FROM {prefix}holder h "
    "LEFT JOIN {prefix}session s ON s.id = h.session_id "
    "WHERE h.lock_key >= ? AND h.lock_key >= ? AND h.lock_key < ? "
    "AND (h.lock_key > ? OR h.owner > ?) AND h.fence > 0 AND " LIVE
    " ORDER BY h.lock_key, h.owner LIMIT ?";

inline constexpr std::string_view is_used_text = R"sql(
SELECT 1 FROM {prefix}lock l WHERE l.lock_key = ? AND l.owner IS NULL
AND (l.arrived > 0 OR EXISTS (
    SELECT 1 FROM {prefix}holder h
    WHERE h.lock_key = l.lock_key AND (h.mode <> 0 OR h.fence > 0))))sql";

// A look at whom it concerns. Then one packet: their rows, waiting for proofs, so that nobody waits
// but who proves or ends one of these very holds; then the gate; then what was live, which is the
// answer, being the only rows that the packet gives; then the changes, all by primary key, the
// sessions last: see force_release of lock_store.cpp. Who is granted a hold after the look keeps
// it, being younger than the wish to free the key.
inline constexpr std::string_view whose_text = R"sql(
SELECT h.owner, h.session_id FROM {prefix}holder h WHERE h.lock_key = ? ORDER BY h.owner)sql";
// ? key, owner, for each.
inline constexpr std::string_view lock_one_text = R"sql(
SELECT COUNT(*) INTO @leasehold_row FROM {prefix}holder h
WHERE h.lock_key = ? AND h.owner = ? FOR UPDATE;)sql";
// ? key, key, and each owner.
inline constexpr std::string_view force_gate_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND l.owner IS NULL FOR UPDATE;
SELECT )sql" HOLDER_COLUMNS R"sql(
FROM {prefix}holder h LEFT JOIN {prefix}session s ON s.id = h.session_id
WHERE h.lock_key = ? AND @leasehold_go = 1 AND h.fence > 0 AND )sql" LIVE R"sql(
  AND h.owner IN (NULL{owners}) ORDER BY h.fence, h.owner;
UPDATE {prefix}lock SET fence = fence + 1, arrived = 0, changed_at = {now}
WHERE lock_key = ? AND @leasehold_go = 1;)sql";
// ? key, owner, for each.
inline constexpr std::string_view force_one_text = R"sql(
DELETE FROM {prefix}holder WHERE lock_key = ? AND owner = ? AND @leasehold_go = 1;)sql";
// ? session, for each.
inline constexpr std::string_view add_notice_text = R"sql(
UPDATE {prefix}session SET notices = notices + 1 WHERE id = ? AND @leasehold_go = 1;)sql";

#undef LIVE
#undef HOLDER_COLUMNS

}  // namespace leasehold::mysql_dialect::holder_texts
