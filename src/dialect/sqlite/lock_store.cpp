// SQLite: locks. One writer at a time and a clock shared by all make most traps of the servers
// impossible: whatever is read inside a write transaction is true until it commits. ?1 is always
// the clock, read after the write lock was taken.
#include "store/lock_store.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// Held by an owner not proved dead. A session row that is missing counts as alive. Served by the
// primary keys of both tables.
#define LIVE_HOLD                                                                           \
    "(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > ?1) AND NOT EXISTS (" \
    "SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= ?1))"

// Of an owner, dead or not, that keeps others out: the dead do for the row's lock_delay.
#define CLOSED                                                                             \
    "(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at + l.lock_delay > ?1) " \
    "AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id "           \
    "AND s.expires_at + l.lock_delay <= ?1))"

// ?2 this boot: rows of another boot count as free.
#define LOCK_COLUMNS                                                                         \
    "l.lock_key, l.fence, " LIVE_HOLD                                                        \
    " AND (SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?2 AS is_held, "           \
    "l.owner, l.session_id, l.node_info, l.reentrant_count, ?1 - l.changed_at AS held_for, " \
    "coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s "                    \
    "WHERE s.id = l.session_id), ?1) - ?1 AS remaining, l.metadata, "                        \
    "CASE WHEN l.last_ticket = 0 THEN 0 ELSE (SELECT count(*) FROM {prefix}waiter w "        \
    "WHERE w.lock_key = l.lock_key AND (SELECT ws.expires_at FROM {prefix}session ws "       \
    "WHERE ws.id = w.session_id) > ?1) END AS waiters, l.kind, " CLOSED " AS is_closed"

constexpr std::string_view describe_sql =
    "SELECT " LOCK_COLUMNS " FROM {prefix}lock l WHERE l.lock_key = ?3";

// ?3 the first key that may be listed, ?4 the first after all that have the prefix: a range of the
// primary key, with one bound at each end, since of two SQLite takes either.
constexpr std::string_view list_sql = "SELECT * FROM (SELECT " LOCK_COLUMNS
                                      " FROM {prefix}lock l WHERE l.lock_key >= ?3 "
                                      "AND l.lock_key < ?4 "
                                      "ORDER BY l.lock_key) WHERE is_held LIMIT ?5";

constexpr std::string_view session_is_live_sql =
    "SELECT 1 FROM {prefix}session WHERE id = ?2 AND expires_at > ?1";

constexpr std::string_view take_sql = R"sql(
UPDATE {prefix}lock AS l
   SET fence = fence + 1, owner = ?3, session_id = ?4, node_info = ?5, reentrant_count = 1,
       changed_at = ?1, expires_at = ?1 + ?6, lock_delay = ?7, metadata = ?8, revocations = 0
 WHERE l.lock_key = ?2 AND l.kind = 1 AND NOT )sql" CLOSED R"sql(
RETURNING fence)sql";

// A key never seen starts above every fence that was ever removed. The write lock excludes the
// reaper, which raises the mark.
constexpr std::string_view make_sql = R"sql(
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at, lock_delay, metadata)
SELECT ?2, mark.fence + 1, ?3, ?4, ?5, 1, ?1, ?1 + ?6, ?7, ?8
  FROM {prefix}fence_mark mark WHERE id = 1
ON CONFLICT (lock_key) DO NOTHING
RETURNING fence)sql";

constexpr std::string_view find_grant_sql =
    "SELECT fence FROM {prefix}lock WHERE lock_key = ?1 AND owner = ?2";

constexpr std::string_view reenter_sql = R"sql(
UPDATE {prefix}lock AS l SET reentrant_count = reentrant_count + 1
 WHERE l.lock_key = ?2 AND l.owner = ?3 AND l.fence = ?4 AND )sql" LIVE_HOLD R"sql(
RETURNING reentrant_count)sql";

#define FREE_ROW \
    "owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1"

// Every right-hand side sees the row as it was.
constexpr std::string_view release_sql = R"sql(
UPDATE {prefix}lock
   SET owner = CASE WHEN reentrant_count > 1 THEN owner END,
       session_id = CASE WHEN reentrant_count > 1 THEN session_id END,
       expires_at = CASE WHEN reentrant_count > 1 THEN expires_at END,
       changed_at = CASE WHEN reentrant_count > 1 THEN changed_at ELSE ?1 END,
       reentrant_count = reentrant_count - 1
 WHERE lock_key = ?2 AND owner = ?3 AND fence = ?4 AND (last_ticket = 0 OR reentrant_count > 1)
RETURNING reentrant_count)sql";

constexpr std::string_view release_owner_sql =
    "UPDATE {prefix}lock SET " FREE_ROW " WHERE lock_key = ?2 AND owner = ?3";

// Inside the caller's transaction. If it has written already it has the write lock, and nobody can
// take over; if it writes later, SQLite refuses that write when anything was committed after this
// read (SQLITE_BUSY_SNAPSHOT; in rollback-journal mode the shared lock blocks the other commit).
constexpr std::string_view prove_sql =
    "SELECT 1 FROM {prefix}lock WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

constexpr std::string_view is_held_sql =
    "SELECT l.revocations FROM {prefix}lock l "
    "WHERE l.lock_key = ?2 AND l.owner = ?3 AND l.fence = ?4 AND " LIVE_HOLD;

constexpr std::string_view force_sql =
    "UPDATE {prefix}lock SET fence = fence + 1, " FREE_ROW " WHERE lock_key = ?2";

// Holders: none of a kind that a lock row's owner and mark do not show.
constexpr std::string_view kind_sql = "SELECT kind FROM {prefix}lock WHERE lock_key = ?1";
constexpr std::string_view change_kind_sql =
    "UPDATE {prefix}lock SET kind = ?2 WHERE lock_key = ?1 AND owner IS NULL AND last_ticket = 0 "
    "AND arrived = 0 AND NOT EXISTS (SELECT 1 FROM {prefix}holder "
    "WHERE lock_key = ?1 AND (mode <> 0 OR fence > 0))";

constexpr std::string_view notify_session_sql =
    "UPDATE {prefix}session SET notices = notices + 1 WHERE id = ?1";

lock_info lock_info_of(const row& found) {
    lock_info info;
    info.key = found.bytes(0);
    info.token = {found.integer(1)};
    info.is_held = found.integer(2) != 0;
    if (info.is_held) {
        info.owner = identity::from_bytes(found.bytes(3));
        if (!found.is_null(4)) info.session = identity::from_bytes(found.bytes(4));
        info.reentrant_count = found.integer(6);
        info.held_for = microseconds{found.integer(7)};
        info.remaining = microseconds{found.integer(8)};
        if (!found.is_null(9)) info.metadata = found.text(9);
    }
    info.node_info = found.text(5);
    info.waiters = found.integer(10);
    return info;
}

bool is_closed(const row& found) {
    return found.integer(12) != 0;
}

class sqlite_lock_store final : public lock_store {
public:
    sqlite_lock_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          describe_(fill_in(describe_sql, names)),
          list_(fill_in(list_sql, names)),
          session_is_live_(fill_in(session_is_live_sql, names)),
          take_(fill_in(take_sql, names)),
          make_(fill_in(make_sql, names)),
          find_grant_(fill_in(find_grant_sql, names)),
          reenter_(fill_in(reenter_sql, names)),
          release_(fill_in(release_sql, names)),
          release_owner_(fill_in(release_owner_sql, names)),
          prove_(fill_in(prove_sql, names)),
          is_held_(fill_in(is_held_sql, names)),
          force_(fill_in(force_sql, names)),
          kind_(fill_in(kind_sql, names)),
          change_kind_(fill_in(change_kind_sql, names)),
          notify_session_(fill_in(notify_session_sql, names)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        boot_->enter(on);
        if (auto refused = refusal(on, wanted)) return *refused;
        write_transaction writing{on};
        if (auto refused = refusal(on, wanted)) return *refused;  // somebody was faster
        const bool is_fixed = wanted.hold_at_most.has_value();
        const parameters row{
            boot_clock::now_microseconds(),
            blob{wanted.key.name()},
            blob{wanted.owner.bytes()},
            is_fixed ? value{} : value{blob{wanted.session.bytes()}},
            wanted.node_info,
            is_fixed ? value{wanted.hold_at_most->count()} : value{},
            wanted.lock_delay.count(),
            wanted.metadata.empty() ? value{} : value{wanted.metadata},
        };
        auto granted = on.execute(take_, row);
        if (granted.rows.empty()) granted = on.execute(make_, row);
        if (granted.rows.empty()) return {};
        writing.commit();
        return {acquire_status::granted, {granted.rows[0].integer(0)}, std::nullopt};
    }

    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override {
        const auto found = on.execute(find_grant_, {blob{name.name()}, blob{owner.bytes()}});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }

    std::optional<std::int64_t> reenter(connection& on, const hold& held) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto changed = on.execute(reenter_, hold_now(held));
        if (changed.rows.empty()) return std::nullopt;
        writing.commit();
        return changed.rows[0].integer(0);
    }

    release_outcome release(connection& on, const hold& held) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto changed = on.execute(release_, hold_now(held));
        if (changed.rows.empty()) return release_outcome::not_held;
        writing.commit();
        const bool is_free = changed.rows[0].integer(0) == 0;
        return is_free ? release_outcome::released : release_outcome::still_held;
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        boot_->enter(on);
        write_transaction writing{on};
        const parameters which{
            boot_clock::now_microseconds(), blob{name.name()}, blob{owner.bytes()}};
        if (on.execute(release_owner_, which).affected_rows == 0) return release_outcome::not_held;
        writing.commit();
        return release_outcome::released;
    }

    bool prove(connection& inside, const hold& held) override {
        const parameters which{blob{held.key.name()}, blob{held.owner.bytes()}, held.token.number};
        return !inside.execute(prove_, which).rows.empty();
    }

    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override {
        boot_->enter(on);
        std::vector<standing> answers;
        answers.reserve(held.size());
        for (const hold& each : held) {  // no server: a statement costs microseconds
            const auto found = on.execute(is_held_, hold_now(each));
            answers.push_back(
                found.rows.empty()             ? standing::gone
                : found.rows[0].integer(0) > 0 ? standing::asked
                                               : standing::held
            );
        }
        return answers;
    }

    std::optional<lock_info> describe(connection& on, const key& name) override {
        const auto found = read(on, name);
        if (found.rows.empty()) return std::nullopt;
        return lock_info_of(found.rows[0]);
    }

    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const auto found = on.execute(
            list_,
            {boot_clock::now_microseconds(),
             boot_->boot_id(),
             blob{first_of_page(prefix, after)},
             blob{end_of_prefix(prefix)},
             limit}
        );
        std::vector<lock_info> locks;
        for (const row& each : found.rows) locks.push_back(lock_info_of(each));
        return locks;
    }

    std::optional<lock_info> force_release(connection& on, const key& name) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto found = read(on, name);
        if (found.rows.empty() || !is_closed(found.rows[0])) return std::nullopt;
        const lock_info victim = lock_info_of(found.rows[0]);
        on.execute(force_, {boot_clock::now_microseconds(), blob{name.name()}});
        if (victim.session) on.execute(notify_session_, {blob{victim.session->bytes()}});
        writing.commit();
        return victim;
    }

    bool change_kind(connection& on, const key& name, lock_kind to) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto found = on.execute(kind_, {blob{name.name()}});
        if (found.rows.empty() || found.rows[0].integer(0) == static_cast<int>(to)) return true;
        const parameters change{blob{name.name()}, static_cast<int>(to)};
        if (on.execute(change_kind_, change).affected_rows == 0) return false;
        writing.commit();
        return true;
    }

private:
    static parameters hold_now(const hold& held) {
        return {
            boot_clock::now_microseconds(),
            blob{held.key.name()},
            blob{held.owner.bytes()},
            held.token.number};
    }

    // Why the request must be refused as things stand; nothing where it may be granted.
    std::optional<acquire_result> refusal(connection& on, const acquire_request& wanted) {
        const auto now = boot_clock::now_microseconds();
        if (on.execute(session_is_live_, {now, blob{wanted.session.bytes()}}).rows.empty()) {
            return acquire_result{acquire_status::session_ended, {}, std::nullopt};
        }
        const auto found = read(on, wanted.key);
        if (found.rows.empty()) return std::nullopt;
        const row& as_it_is = found.rows[0];
        const auto kind = static_cast<lock_kind>(as_it_is.integer(11));
        if (kind != lock_kind::mutex) {
            return acquire_result{acquire_status::wrong_kind, {}, std::nullopt, kind};
        }
        if (!is_closed(as_it_is)) return std::nullopt;
        std::optional<lock_info> holder = lock_info_of(as_it_is);
        if (!holder->is_held) holder.reset();  // dead, within its lock_delay
        return acquire_result{acquire_status::busy, {}, std::move(holder)};
    }

    result read(connection& on, const key& name) {
        return on.execute(
            describe_, {boot_clock::now_microseconds(), boot_->boot_id(), blob{name.name()}}
        );
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string describe_;
    const std::string list_;
    const std::string session_is_live_;
    const std::string take_;
    const std::string make_;
    const std::string find_grant_;
    const std::string reenter_;
    const std::string release_;
    const std::string release_owner_;
    const std::string prove_;
    const std::string is_held_;
    const std::string force_;
    const std::string kind_;
    const std::string change_kind_;
    const std::string notify_session_;
};

}  // namespace

std::unique_ptr<lock_store> make_lock_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_lock_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
