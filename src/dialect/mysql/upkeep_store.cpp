// What differs between MySQL and MariaDB: only {share_skip_locked}, see store.cpp.
//
// Each batch looks for candidates with a plain read of the tables, which locks nothing, and then,
// in a packet that is a transaction of its own, locks one after the other those it can have without
// waiting, and repeats the test on them: why one packet, see batch.hpp.
// FORCE INDEX (PRIMARY): a scan, which the optimizer prefers for small tables, would lock and wait
// for rows we do not want. A statement whose variable is not 1 reads no table.
// No DELETE has a subquery: at READ COMMITTED it locks what it reads, where UPDATE does not.
#include "dialect/mysql/batch.hpp"
#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr std::string_view find_dead_text = R"sql(
SELECT l.lock_key FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.owner IS NOT NULL
  AND (COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now}
       OR (l.session_id IS NOT NULL AND s.id IS NULL))
LIMIT ?)sql";

// ? key, key. The lock row is locked by the first statement, so the snapshot of the second is newer
// than its grant: a session that it does not have was there when the hold was granted, and is gone.
constexpr std::string_view free_dead_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = ? AND l.owner IS NOT NULL FOR UPDATE SKIP LOCKED;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key = ? AND @leasehold_go = 1
  AND (l.expires_at + l.lock_delay <= {now} OR {proved_dead}
       OR (l.session_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM {prefix}session g WHERE g.id = l.session_id)));
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

// NOT IN reads the lock table once for all, where NOT EXISTS would for each session: no index
// serves it, since an index on the session would cost every grant a second write.
constexpr std::string_view find_old_sessions_text = R"sql(
SELECT s.id FROM {prefix}session s
WHERE s.expires_at <= {now} - ?
  AND s.id NOT IN (SELECT l.session_id FROM {prefix}lock l WHERE l.session_id IS NOT NULL)
  AND s.id NOT IN (SELECT h.session_id FROM {prefix}holder h)
LIMIT ?)sql";

// What is left of them in queues. A session that expired is never renewed, so it queues no more.
constexpr std::string_view waiting_sessions_text = R"sql(
SELECT w.lock_key, w.ticket FROM {prefix}waiter w WHERE w.session_id IN ({keys}))sql";

// ? key, ticket, key, ticket.
constexpr std::string_view delete_waiter_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}waiter w FORCE INDEX (PRIMARY)
WHERE w.lock_key = ? AND w.ticket = ? FOR UPDATE SKIP LOCKED;
DELETE FROM {prefix}waiter WHERE lock_key = ? AND ticket = ? AND @leasehold_go = 1;)sql";

// ? id, retention, id. A grant that was under way all the while is found by free_dead_text.
constexpr std::string_view delete_session_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id = ? AND s.expires_at <= {now} - ? FOR UPDATE SKIP LOCKED;
DELETE FROM {prefix}session WHERE id = ? AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

constexpr std::string_view find_idle_text = R"sql(
SELECT l.lock_key FROM {prefix}lock l
WHERE l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= {now} - ?
  AND l.lock_key NOT IN (SELECT h.lock_key FROM {prefix}holder h) LIMIT ?)sql";

// Locked before the first delete, and by every insert of a new key before it inserts: no key can
// come back with a fence below the one it was removed with.
constexpr std::string_view lock_mark_text = R"sql(
SELECT fence INTO @leasehold_fence FROM {prefix}fence_mark WHERE id = 1 FOR UPDATE;)sql";

// ? key, retention, key. The mark is written only where the key has the higher fence.
constexpr std::string_view delete_idle_text = R"sql(
SELECT COUNT(*), COALESCE(MAX(l.fence), 0) INTO @leasehold_go, @leasehold_fence
FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key = ? AND l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at <= {now} - ?
FOR UPDATE SKIP LOCKED;
UPDATE {prefix}fence_mark SET fence = @leasehold_fence
WHERE id = 1 AND @leasehold_go = 1 AND fence < @leasehold_fence;
DELETE FROM {prefix}lock WHERE lock_key = ? AND @leasehold_go = 1;
SELECT @leasehold_count + ROW_COUNT() INTO @leasehold_count;)sql";

class mysql_upkeep_store final : public upkeep_store {
public:
    mysql_upkeep_store(const table_names& names, engine which)
        : find_dead_(statement(find_dead_text, names, which)),
          free_dead_(statement(free_dead_text, names, which)),
          find_old_sessions_(statement(find_old_sessions_text, names, which)),
          waiting_sessions_(statement(waiting_sessions_text, names, which)),
          delete_waiter_(statement(delete_waiter_text, names, which)),
          delete_session_(statement(delete_session_text, names, which)),
          find_idle_(statement(find_idle_text, names, which)),
          lock_mark_(statement(lock_mark_text, names, which)),
          delete_idle_(statement(delete_idle_text, names, which)) {}

    std::int64_t free_locks_of_the_dead(connection& on, int limit) override {
        const result found = on.execute(find_dead_, {limit});
        return in_batches(on, found, [&](batch& into, const row& each) {
            const value name = blob{each.bytes(0)};
            into.add(free_dead_, {name, name});
        });
    }

    std::int64_t remove_sessions(connection& on, std::chrono::microseconds retention, int limit)
        override {
        const result found = on.execute(find_old_sessions_, {as_value(retention), limit});
        if (found.rows.empty()) return 0;
        remove_waiters_of(on, found);
        return in_batches(on, found, [&](batch& into, const row& each) {
            const value id = blob{each.bytes(0)};
            into.add(delete_session_, {id, as_value(retention), id});
        });
    }

    std::int64_t remove_idle_locks(connection& on, std::chrono::microseconds retention, int limit)
        override {
        const result found = on.execute(find_idle_, {as_value(retention), limit});
        const auto add = [&](batch& into, const row& each) {
            const value name = blob{each.bytes(0)};
            into.add(delete_idle_, {name, as_value(retention), name});
        };
        return in_batches(on, found, add, lock_mark_);
    }

private:
    void remove_waiters_of(connection& on, const result& sessions) const;

    const std::string find_dead_;
    const std::string free_dead_;
    const std::string find_old_sessions_;
    const std::string waiting_sessions_;
    const std::string delete_waiter_;
    const std::string delete_session_;
    const std::string find_idle_;
    const std::string lock_mark_;
    const std::string delete_idle_;
};

void mysql_upkeep_store::remove_waiters_of(connection& on, const result& sessions) const {
    parameters ids;
    for (const row& each : sessions.rows) ids.emplace_back(blob{each.bytes(0)});
    const result waiters = on.execute(for_keys(waiting_sessions_, ids.size()), ids);
    in_batches(on, waiters, [&](batch& into, const row& each) {
        const value name = blob{each.bytes(0)};
        const value ticket = each.integer(1);
        into.add(delete_waiter_, {name, ticket, name, ticket});
    });
}

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names, engine which) {
    return std::make_unique<mysql_upkeep_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
