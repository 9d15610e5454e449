// Locks on PostgreSQL.
//
// Three rules hold these statements together.
// 1. One statement reads one snapshot. Where a row changed after it, PostgreSQL evaluates the WHERE
//    of that row again on its newest version, but every *other* table is still read in the old
//    snapshot. Only a locking read sees, and keeps, the newest version: deaths are proved by one.
// 2. An UPDATE that waited behind a mere lock (no newer version) does not evaluate its WHERE again.
//    Where the clock matters after a wait, the row is locked first and the clock is read then.
// 3. What may not wait says SKIP LOCKED; nothing waits for a lock row while it holds a session row.
//    So no two of these statements can wait for each other in a circle.
//
// set_config in a RETURNING list is evaluated for changed rows only, so that a refused statement
// does not pay for it; it lasts until the end of the statement's own transaction.
#include <optional>

#include "dialect/postgres/list_statement.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/lock_store.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 key, $2 owner, $3 session, $4 node_info, $5 term in microseconds or null, $6 delay, $7
// metadata or null.
//
// me:     the snapshot, against the time the statement came in. Both are taken at the same moment,
//         so a renewal that commits while this statement waits cannot make a live session look
//         dead, as it would against a clock read after the wait. A session that dies during the
//         wait is granted a lock that anybody may take from it at once: harmless.
// seen:   the snapshot, for the refused: who holds the key.
// dead:   the proof of rule 1, session row and lock row at once. A heartbeat in flight holds its
//         row, and a proof in flight the lock row: both are skipped, and the try is refused without
//         waiting. A missing session row joins nothing: alive.
// passed: the same for fixed terms, which have no session row.
// taken:  evaluates `dead` and `passed` only for a row that has an owner. Waits only for somebody
//         who is taking or reaping the same free row at this moment, then looks at its new version.
//         The fence is counted on the version that is changed.
// mark:   locks only a row that passes its whole WHERE, so a refused try writes nothing. Locked in
//         share mode before the insert: the reaper, which locks the mark before it deletes, either
//         has raised it already, and we read the newest version, or waits until we are done.
//         Without it a key that lived and was reaped since our snapshot would start again below.
// made:   a key that is in no snapshot. Somebody else's insert of it meanwhile: nothing is made.
// Indexes: the three primary keys.
constexpr std::string_view try_acquire_sql = R"sql(
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $3 AND expires_at > statement_timestamp()
), seen AS MATERIALIZED (
    SELECT l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint AS held_for,
           (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
               * 1000000)::bigint AS remaining,
           l.metadata, l.kind
      FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1
), dead AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1
       AND s.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), passed AS MATERIALIZED (
    SELECT l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1
       AND l.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
       FOR NO KEY UPDATE OF l SKIP LOCKED
), taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = $2,
           session_id = CASE WHEN $5::bigint IS NULL THEN $3::bytea END,
           node_info = $4, reentrant_count = 1, changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond',
           lock_delay = $6::bigint, metadata = $7::text, revocations = 0
     WHERE l.lock_key = $1 AND l.kind = 1
       AND EXISTS (SELECT FROM me)
       AND (l.owner IS NULL
            OR l.session_id IN (SELECT id FROM dead)
            OR (l.expires_at IS NOT NULL AND l.fence IN (SELECT fence FROM passed)))
    RETURNING l.fence, {durable}
), mark AS MATERIALIZED (
    SELECT m.fence
      FROM {prefix}fence_mark m
     WHERE m.id = 1 AND EXISTS (SELECT FROM me) AND NOT EXISTS (SELECT FROM seen)
       FOR SHARE
), made AS (
    INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                              changed_at, expires_at, lock_delay, metadata)
    SELECT $1, mark.fence + 1, $2, CASE WHEN $5::bigint IS NULL THEN $3::bytea END, $4, 1,
           clock_timestamp(), clock_timestamp() + $5::bigint * interval '1 microsecond',
           $6::bigint, $7::text
      FROM mark
    ON CONFLICT (lock_key) DO NOTHING
    RETURNING fence, {durable}
)
SELECT coalesce((SELECT fence FROM taken), (SELECT fence FROM made)),
       (SELECT count(*) FROM me),
       seen.fence, seen.owner, seen.session_id, seen.node_info, seen.reentrant_count,
       seen.held_for, seen.remaining, seen.metadata, seen.kind
  FROM (SELECT 1) AS always LEFT JOIN seen ON true)sql";

// $1 key, $2 owner. A plain read; live or not is not asked.
constexpr std::string_view find_grant_sql = R"sql(
SELECT fence FROM {prefix}lock WHERE lock_key = $1 AND owner = $2)sql";

// $1 key, $2 owner, $3 token.
//
// Rule 2: waits for a proof of the same hold, then asks the clock whether a fixed term has passed.
// The session is the caller's own; why the time the statement came in: `me` of try_acquire_sql.
// Durable: a level that was lost in a crash would free the key one release too early.
constexpr std::string_view reenter_sql = R"sql(
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND (l.expires_at > clock_timestamp()
            OR (l.session_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM {prefix}session s
                 WHERE s.id = l.session_id AND s.expires_at <= statement_timestamp())))
       FOR NO KEY UPDATE OF l
), reached AS MATERIALIZED (
    SELECT lock_key, fence, clock_timestamp() AS instant FROM locked
)
UPDATE {prefix}lock AS l
   SET reentrant_count = l.reentrant_count + 1
  FROM reached
 WHERE l.lock_key = reached.lock_key AND l.owner = $2 AND l.fence = reached.fence
   AND (l.expires_at IS NULL OR l.expires_at > reached.instant)
RETURNING l.reentrant_count, {durable})sql";

// $1 key, $2 owner, $3 token. Waits for proofs of the same hold; whatever it waited for, the levels
// are counted, and the mark tested, on the version that is changed. The commit is asynchronous:
// losing it leaves the key held until the session ends, and whoever took it since has flushed ours.
constexpr std::string_view release_sql = R"sql(
UPDATE {prefix}lock
   SET reentrant_count = reentrant_count - 1,
       owner = CASE WHEN reentrant_count > 1 THEN owner END,
       session_id = CASE WHEN reentrant_count > 1 THEN session_id END,
       expires_at = CASE WHEN reentrant_count > 1 THEN expires_at END,
       changed_at = CASE WHEN reentrant_count > 1 THEN changed_at ELSE clock_timestamp() END
 WHERE lock_key = $1 AND owner = $2 AND fence = $3 AND (last_ticket = 0 OR reentrant_count > 1)
RETURNING reentrant_count, set_config('synchronous_commit', 'off', true))sql";

// $1 key, $2 owner. As release, for all levels; commits as the database is set to, because the
// caller reports what it did as settled.
constexpr std::string_view release_owner_sql = R"sql(
UPDATE {prefix}lock
   SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
       changed_at = clock_timestamp()
 WHERE lock_key = $1 AND owner = $2
RETURNING fence)sql";

// $1 key, $2 owner, $3 token; in the caller's transaction.
//
// The weakest lock that keeps takers out: FOR KEY SHARE does not conflict with their UPDATE. It
// never touches the session row, so the heartbeat goes on, and holders' proofs share it.
// READ COMMITTED: a change in flight is waited for, then the newest version is tested: no error.
// REPEATABLE READ and SERIALIZABLE: the transaction's snapshot decides. A grant younger than that
// snapshot is not in it: answered with "not held", rightly, since what the transaction has read may
// be older than the grant. A row that changed after the snapshot is 40001, which ends the
// transaction: it goes through as the driver made it (transient), because a mere reenter causes it
// too, and the same work in a new transaction gets the answer.
constexpr std::string_view prove_sql = R"sql(
SELECT 1 FROM {prefix}lock WHERE lock_key = $1 AND owner = $2 AND fence = $3 FOR SHARE)sql";

// The list of holds stands between these two; each has a number, a key, an owner and a token.
// Plain reads of one snapshot, by the clock: nothing waits. Indexes: primary keys. Reads: 2 rows
// for each hold; by LATERAL, since a join may be planned as a scan of the whole table.
constexpr std::string_view standings_head_sql = R"sql(
SELECT asked.number, l.revocations > 0
  FROM (VALUES )sql";
constexpr std::string_view standings_tail_sql = R"sql(
       ) AS asked (number, lock_key, owner, fence)
 CROSS JOIN LATERAL (
    SELECT k.revocations, k.expires_at,
           (SELECT s.expires_at FROM {prefix}session s WHERE s.id = k.session_id) AS session_until
      FROM {prefix}lock k
     WHERE k.lock_key = asked.lock_key AND k.owner = asked.owner AND k.fence = asked.fence
     LIMIT 1) AS l
 WHERE coalesce(l.expires_at > clock_timestamp(), true)
   AND coalesce(l.session_until > clock_timestamp(), true))sql";

// The live ones in the queue of lock row l; looked for only where somebody may wait. Reads: 2 rows
// for each waiter of that key.
#define WAITERS                                                                        \
    "CASE WHEN l.last_ticket = 0 THEN 0 ELSE (SELECT count(*) FROM ("                  \
    "SELECT (SELECT ws.expires_at FROM {prefix}session ws WHERE ws.id = w.session_id)" \
    " AS until FROM {prefix}waiter w WHERE w.lock_key = l.lock_key "                   \
    "ORDER BY w.ticket {all}) AS queue WHERE queue.until > clock_timestamp()) END"

// $1 key. One snapshot, by the clock. A missing session row counts as alive. Reads: 2 rows, and the
// queue.
constexpr std::string_view describe_sql = R"sql(
SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
           * 1000000)::bigint,
       l.metadata, )sql" WAITERS R"sql(,
       l.owner IS NOT NULL
           AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
           AND (s.id IS NULL OR s.expires_at > clock_timestamp())
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1)sql";

// $1 prefix, $2 the first name after all that have it, $3 after, $4 limit. The same columns.
// bytea compares byte by byte, so a prefix is a range of lock_pkey, which also gives the order.
// Reads: 2 rows for each hold listed, 1 for each key passed over, and the queues.
constexpr std::string_view list_sql = R"sql(
SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
           * 1000000)::bigint,
       l.metadata, )sql" WAITERS R"sql(,
       true
  FROM {prefix}lock l
  LEFT JOIN LATERAL (
    SELECT u.id, u.expires_at FROM {prefix}session u WHERE u.id = l.session_id LIMIT 1) AS s ON true
 WHERE l.lock_key >= $1 AND l.lock_key < $2 AND l.lock_key > $3
   AND l.owner IS NOT NULL
   AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
   AND (s.id IS NULL OR s.expires_at > clock_timestamp())
 ORDER BY l.lock_key
 LIMIT $4)sql";

// $1 key. The same columns, of the hold as it was.
//
// locked: waits for proofs, holding nothing. From then on the row cannot change.
// dead:   evaluated after that wait; only proof makes it dead, so a renewal during the wait cannot
//         be overlooked. A heartbeat in flight is skipped: alive.
// freed:  joined by key alone: the old snapshot's owner would hide a hold that is newer than it.
// told:   waits for a heartbeat in flight at most, which waits for nobody.
// Durable: whoever forced a key free relies on it.
constexpr std::string_view force_release_sql = R"sql(
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           l.changed_at, l.expires_at, l.lock_delay, l.metadata, l.last_ticket
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner IS NOT NULL
       FOR NO KEY UPDATE OF l
), dead AS MATERIALIZED (
    SELECT s.id
      FROM locked JOIN {prefix}session s ON s.id = locked.session_id
     WHERE s.expires_at + locked.lock_delay * interval '1 microsecond' <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), freed AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = NULL, session_id = NULL, expires_at = NULL,
           reentrant_count = 0, changed_at = clock_timestamp()
      FROM locked
     WHERE l.lock_key = locked.lock_key
       AND (locked.expires_at IS NULL
            OR locked.expires_at + locked.lock_delay * interval '1 microsecond'
               > clock_timestamp())
       AND NOT EXISTS (SELECT FROM dead)
    RETURNING l.lock_key, {durable}
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
      FROM locked, freed
     WHERE s.id = locked.session_id
)
SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
           * 1000000)::bigint,
       l.metadata, )sql" WAITERS R"sql(,
       coalesce(coalesce(l.expires_at, s.expires_at) > clock_timestamp(), true)
  FROM locked l CROSS JOIN freed LEFT JOIN {prefix}session s ON s.id = l.session_id)sql";

// $1 key, $2 kind. Counts on what `seen` was, as a grant of holder_texts.hpp does; why owner and
// tickets are asked of the newest version: `taken` there. Reads: 4 rows, and those of holders that
// say nothing any more.
constexpr std::string_view change_kind_sql = R"sql(
WITH seen AS MATERIALIZED (
    SELECT l.fence, l.kind,
           l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0 AND NOT EXISTS (
               SELECT FROM (SELECT h.mode, h.fence FROM {prefix}holder h
                              WHERE h.lock_key = $1 ORDER BY h.owner {all}) AS h
                WHERE h.mode <> 0 OR h.fence > 0) AS is_idle
      FROM {prefix}lock l
     WHERE l.lock_key = $1
), changed AS (
    UPDATE {prefix}lock AS l
       SET kind = $2::smallint
      FROM seen
     WHERE l.lock_key = $1 AND seen.is_idle AND seen.kind <> $2::smallint
       AND l.fence = seen.fence AND l.kind = seen.kind
       AND l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0
    RETURNING 1
)
SELECT seen.kind, seen.is_idle, (SELECT count(*) FROM changed) FROM seen)sql";

// A hold that is not live is shown as what it is to everybody else: free.
void fill_holder(lock_info& info, const row& from, std::size_t column) {
    info.is_held = true;
    info.owner = identity::from_bytes(from.bytes(column));
    if (!from.is_null(column + 1)) info.session = identity::from_bytes(from.bytes(column + 1));
    info.reentrant_count = from.integer(column + 3);
    const auto not_negative = [&](std::size_t at) {
        return std::chrono::microseconds{
            from.is_null(at) ? 0 : std::max(std::int64_t{0}, from.integer(at))};
    };
    info.held_for = not_negative(column + 4);
    info.remaining = not_negative(column + 5);
    if (!from.is_null(column + 6)) info.metadata = from.text(column + 6);
}

// Of the eleven columns that describe, list and force_release have in common.
lock_info lock_info_of(const row& from) {
    lock_info info;
    info.key = from.bytes(0);
    info.token.number = from.integer(1);
    info.node_info = from.text(4);
    info.waiters = from.integer(9);
    if (from.integer(10) != 0) fill_holder(info, from, 2);
    return info;
}

class postgres_lock_store final : public lock_store {
public:
    explicit postgres_lock_store(const table_names& names)
        : try_acquire_(fill_in(try_acquire_sql, names)),
          find_grant_(fill_in(find_grant_sql, names)),
          reenter_(fill_in(reenter_sql, names)),
          release_(fill_in(release_sql, names)),
          release_owner_(fill_in(release_owner_sql, names)),
          prove_(fill_in(prove_sql, names)),
          describe_(fill_in(describe_sql, names)),
          list_(fill_in(list_sql, names)),
          force_release_(fill_in(force_release_sql, names)),
          change_kind_(fill_in(change_kind_sql, names)),
          standings_(standings_head_sql, standings_tail_sql, names) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values{
            bytes_of(wanted.key.name()),
            bytes_of(wanted.owner),
            bytes_of(wanted.session),
            wanted.node_info,
            wanted.hold_at_most ? microseconds_of(*wanted.hold_at_most) : value{},
            microseconds_of(wanted.lock_delay),
            wanted.metadata.empty() ? value{} : value{wanted.metadata}};
        // Free or absent in our snapshot and yet not ours: somebody else was there first, or the
        // reaper was. Looking again finds out, and each time somebody has got on.
        constexpr int looks_max = 4;
        for (int look = 1; look <= looks_max; ++look) {
            const row found = on.execute(try_acquire_, values).rows.at(0);
            if (!found.is_null(0)) {
                return {acquire_status::granted, fencing_token{found.integer(0)}, std::nullopt};
            }
            if (found.integer(1) == 0) return {acquire_status::session_ended, {}, std::nullopt};
            const auto kind =
                found.is_null(10) ? lock_kind::mutex : static_cast<lock_kind>(found.integer(10));
            if (kind != lock_kind::mutex) {
                return {acquire_status::wrong_kind, {}, std::nullopt, kind};
            }
            if (found.is_null(3)) continue;
            lock_info holder;
            holder.key = wanted.key.name();
            holder.token.number = found.integer(2);
            holder.node_info = found.text(5);
            fill_holder(holder, found, 3);
            // Dead, and its lock_delay has not passed, or its proof is another's at this moment.
            if (!found.is_null(8) && found.integer(8) <= 0) break;
            return {acquire_status::busy, {}, std::move(holder)};
        }
        return {acquire_status::busy, {}, std::nullopt};
    }

    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override {
        const result found = on.execute(find_grant_, {bytes_of(name.name()), bytes_of(owner)});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }

    std::optional<std::int64_t> reenter(connection& on, const hold& held) override {
        const result counted = on.execute(reenter_, values_of(held));
        if (counted.rows.empty()) return std::nullopt;
        return counted.rows[0].integer(0);
    }

    release_outcome release(connection& on, const hold& held) override {
        const result left = on.execute(release_, values_of(held));
        if (left.rows.empty()) return release_outcome::not_held;
        return left.rows[0].integer(0) > 0 ? release_outcome::still_held
                                           : release_outcome::released;
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        const result freed = on.execute(release_owner_, {bytes_of(name.name()), bytes_of(owner)});
        return freed.rows.empty() ? release_outcome::not_held : release_outcome::released;
    }

    bool prove(connection& inside, const hold& held) override {
        return !inside.execute(prove_, values_of(held)).rows.empty();
    }

    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override {
        std::vector<standing> answers(held.size(), standing::gone);
        standings_.ask(
            on,
            held.size(),
            [&](std::size_t at) { return values_of(held[at]); },
            [&](std::size_t at, const row& seen) {
                answers[at] = seen.integer(1) != 0 ? standing::asked : standing::held;
            }
        );
        return answers;
    }

    std::optional<lock_info> describe(connection& on, const key& name) override {
        const result found = on.execute(describe_, {bytes_of(name.name())});
        if (found.rows.empty()) return std::nullopt;
        return lock_info_of(found.rows[0]);
    }

    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const std::string begin{prefix};
        const result found = on.execute(
            list_,
            {bytes_of(begin),
             bytes_of(end_of_prefix(begin)),
             bytes_of(std::string{after}),
             value{std::max(limit, 0)}}
        );
        std::vector<lock_info> held;
        held.reserve(found.rows.size());
        for (const row& each : found.rows) held.push_back(lock_info_of(each));
        return held;
    }

    std::optional<lock_info> force_release(connection& on, const key& name) override {
        const result freed = on.execute(force_release_, {bytes_of(name.name())});
        if (freed.rows.empty()) return std::nullopt;
        return lock_info_of(freed.rows[0]);
    }

    bool change_kind(connection& on, const key& name, lock_kind to) override {
        const parameters change{bytes_of(name.name()), static_cast<int>(to)};
        // Idle and yet not changed: somebody else was there since our snapshot.
        constexpr int looks_max = 4;
        for (int look = 1;; ++look) {
            const result found = on.execute(change_kind_, change);
            if (found.rows.empty()) return true;
            const row& seen = found.rows[0];
            if (seen.integer(0) == static_cast<int>(to) || seen.integer(2) != 0) return true;
            if (seen.integer(1) == 0 || look == looks_max) return false;
        }
    }

private:
    static parameters values_of(const hold& held) {
        return {bytes_of(held.key.name()), bytes_of(held.owner), value{held.token.number}};
    }

    const std::string try_acquire_;
    const std::string find_grant_;
    const std::string reenter_;
    const std::string release_;
    const std::string release_owner_;
    const std::string prove_;
    const std::string describe_;
    const std::string list_;
    const std::string force_release_;
    const std::string change_kind_;
    const list_statement standings_;
};

}  // namespace

std::unique_ptr<lock_store> make_lock_store(const table_names& names) {
    return std::make_unique<postgres_lock_store>(names);
}

}  // namespace leasehold::postgres_dialect
