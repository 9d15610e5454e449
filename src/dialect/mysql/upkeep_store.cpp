// What differs between MySQL and MariaDB: only {share_skip_locked}, see store.cpp.
//
// Each batch looks for candidates with a plain read of the table, which locks nothing, and then, in
// one short transaction, locks those it can have without waiting and repeats the test on them.
// FORCE INDEX (PRIMARY): a scan, which the optimizer prefers for small tables, would lock and wait
// for rows we do not want. DELETE takes no such hint, so rows are deleted one by one, in a packet.
// No DELETE has a subquery: at READ COMMITTED it locks what it reads, where UPDATE does not.
#include <algorithm>
#include <iterator>
#include <set>

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr std::string_view find_dead_text = R"sql(
SELECT l.lock_key FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.owner IS NOT NULL
  AND (l.expires_at <= {now} OR s.expires_at <= {now}
       OR (l.session_id IS NOT NULL AND s.id IS NULL))
LIMIT ?)sql";

constexpr std::string_view lock_held_text = R"sql(
SELECT l.lock_key FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.owner IS NOT NULL AND l.lock_key IN ({keys}) FOR UPDATE SKIP LOCKED)sql";

// Its lock rows are locked by the statement before, so its snapshot is newer than their grants: a
// session that it does not have was there when the hold was granted, and is gone.
constexpr std::string_view free_dead_text = R"sql(
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key IN ({keys}) AND l.owner IS NOT NULL
  AND (l.expires_at <= {now} OR {proved_dead}
       OR (l.session_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM {prefix}session g WHERE g.id = l.session_id))))sql";

// NOT IN reads the lock table once for all, where NOT EXISTS would for each session: no index
// serves it, since an index on the session would cost every grant a second write.
constexpr std::string_view find_old_sessions_text = R"sql(
SELECT s.id FROM {prefix}session s
WHERE s.expires_at <= {now} - ?
  AND s.id NOT IN (SELECT l.session_id FROM {prefix}lock l WHERE l.session_id IS NOT NULL)
LIMIT ?)sql";

// After this nobody but us can change them; a session so long expired is granted nothing any more.
constexpr std::string_view lock_old_sessions_text = R"sql(
SELECT s.id FROM {prefix}session s FORCE INDEX (PRIMARY)
WHERE s.id IN ({keys}) AND s.expires_at <= {now} - ? FOR UPDATE SKIP LOCKED)sql";

constexpr std::string_view holding_sessions_text = R"sql(
SELECT DISTINCT l.session_id FROM {prefix}lock l WHERE l.session_id IN ({keys}))sql";

constexpr std::string_view delete_session_text = R"sql(
DELETE FROM {prefix}session WHERE id = ?;)sql";

constexpr std::string_view find_idle_text = R"sql(
SELECT l.lock_key FROM {prefix}lock l
WHERE l.owner IS NULL AND l.changed_at <= {now} - ? LIMIT ?)sql";

// Locked before the first delete, and by every insert of a new key before it inserts: no key can
// come back with a fence below the one it was removed with.
constexpr std::string_view lock_mark_text = R"sql(
SELECT fence FROM {prefix}fence_mark WHERE id = 1 FOR UPDATE)sql";

constexpr std::string_view lock_idle_text = R"sql(
SELECT l.lock_key, l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner IS NULL AND l.changed_at <= {now} - ?
FOR UPDATE SKIP LOCKED)sql";

constexpr std::string_view raise_mark_text = R"sql(
UPDATE {prefix}fence_mark SET fence = ? WHERE id = 1 AND fence < ?)sql";

constexpr std::string_view delete_lock_text = R"sql(
DELETE FROM {prefix}lock WHERE lock_key = ?;)sql";

value as_value(std::chrono::microseconds duration) {
    return std::int64_t{duration.count()};
}

parameters first_columns(const result& from) {
    parameters values;
    values.reserve(from.rows.size());
    for (const row& each : from.rows) values.push_back(blob{each.bytes(0)});
    return values;
}

std::string with_keys(const std::string& sql, std::size_t count) {
    std::string filled = sql;
    constexpr std::string_view word = "{keys}";
    filled.replace(filled.find(word), word.size(), placeholders(count));
    return filled;
}

// Locks are held already, so each deletes exactly one row.
void delete_each(connection& on, const std::string& sql, const parameters& keys) {
    constexpr std::size_t per_packet_max = 500;
    for (std::size_t first = 0; first < keys.size(); first += per_packet_max) {
        const std::size_t count = std::min(per_packet_max, keys.size() - first);
        std::string packet;
        for (std::size_t i = 0; i < count; ++i) packet += sql;
        const auto from = keys.begin() + static_cast<std::ptrdiff_t>(first);
        on.execute_script(packet, {from, from + static_cast<std::ptrdiff_t>(count)});
    }
}

class mysql_upkeep_store final : public upkeep_store {
public:
    mysql_upkeep_store(const table_names& names, engine which)
        : find_dead_(statement(find_dead_text, names, which)),
          lock_held_(statement(lock_held_text, names, which)),
          free_dead_(statement(free_dead_text, names, which)),
          find_old_sessions_(statement(find_old_sessions_text, names, which)),
          lock_old_sessions_(statement(lock_old_sessions_text, names, which)),
          holding_sessions_(statement(holding_sessions_text, names, which)),
          delete_session_(statement(delete_session_text, names, which)),
          find_idle_(statement(find_idle_text, names, which)),
          lock_mark_(statement(lock_mark_text, names, which)),
          lock_idle_(statement(lock_idle_text, names, which)),
          raise_mark_(statement(raise_mark_text, names, which)),
          delete_lock_(statement(delete_lock_text, names, which)) {}

    std::int64_t free_locks_of_the_dead(connection& on, int limit) override;
    std::int64_t remove_sessions(connection& on, std::chrono::microseconds retention, int limit)
        override;
    std::int64_t remove_idle_locks(connection& on, std::chrono::microseconds retention, int limit)
        override;

private:
    std::string find_dead_;
    std::string lock_held_;
    std::string free_dead_;
    std::string find_old_sessions_;
    std::string lock_old_sessions_;
    std::string holding_sessions_;
    std::string delete_session_;
    std::string find_idle_;
    std::string lock_mark_;
    std::string lock_idle_;
    std::string raise_mark_;
    std::string delete_lock_;
};

std::int64_t mysql_upkeep_store::free_locks_of_the_dead(connection& on, int limit) {
    return despite_deadlocks([&]() -> std::int64_t {
        const parameters candidates = first_columns(on.execute(find_dead_, {limit}));
        if (candidates.empty()) return 0;
        transaction_scope work{on};
        const parameters locked =
            first_columns(on.execute(with_keys(lock_held_, candidates.size()), candidates));
        if (locked.empty()) return 0;
        const result freed = on.execute(with_keys(free_dead_, locked.size()), locked);
        work.commit();
        return freed.affected_rows;
    });
}

std::int64_t mysql_upkeep_store::remove_sessions(
    connection& on, std::chrono::microseconds retention, int limit
) {
    return despite_deadlocks([&]() -> std::int64_t {
        parameters candidates =
            first_columns(on.execute(find_old_sessions_, {as_value(retention), limit}));
        if (candidates.empty()) return 0;
        transaction_scope work{on};
        const std::size_t count = candidates.size();
        candidates.push_back(as_value(retention));
        const parameters locked =
            first_columns(on.execute(with_keys(lock_old_sessions_, count), candidates));
        if (locked.empty()) return 0;
        std::set<std::string> holding;
        const result holds = on.execute(with_keys(holding_sessions_, locked.size()), locked);
        for (const row& each : holds.rows) holding.insert(each.bytes(0));
        parameters idle;
        std::copy_if(locked.begin(), locked.end(), std::back_inserter(idle), [&](const value& id) {
            return !holding.contains(id.bytes());
        });
        delete_each(on, delete_session_, idle);
        work.commit();
        return static_cast<std::int64_t>(idle.size());
    });
}

std::int64_t mysql_upkeep_store::remove_idle_locks(
    connection& on, std::chrono::microseconds retention, int limit
) {
    return despite_deadlocks([&]() -> std::int64_t {
        parameters candidates = first_columns(on.execute(find_idle_, {as_value(retention), limit}));
        if (candidates.empty()) return 0;
        transaction_scope work{on};
        on.execute(lock_mark_);
        const std::size_t count = candidates.size();
        candidates.push_back(as_value(retention));
        const result idle = on.execute(with_keys(lock_idle_, count), candidates);
        if (idle.rows.empty()) return 0;
        std::int64_t highest = 0;
        for (const row& each : idle.rows) highest = std::max(highest, each.integer(1));
        on.execute(raise_mark_, {highest, highest});
        delete_each(on, delete_lock_, first_columns(idle));
        work.commit();
        return static_cast<std::int64_t>(idle.rows.size());
    });
}

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names, engine which) {
    return std::make_unique<mysql_upkeep_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
