// What differs between MySQL and MariaDB: only {share_skip_locked}, see store.cpp. Neither has
// UPDATE … RETURNING, so the token travels as LAST_INSERT_ID(fence + 1), and is read in the same
// packet as ROW_COUNT(): after a refusal it is the number of an earlier statement.
//
// All of it runs at READ COMMITTED, each statement of a packet committing by itself unless the
// packet has a transaction of its own. There, the nested SELECT of a single-table UPDATE reads a
// snapshot opened after the wait for the lock row, and locks nothing unless it says so (tried on
// MySQL 9.7 and MariaDB 10.11; the multi-table form, and DELETE, lock what they read).
#include <algorithm>
#include <map>
#include <utility>

#include "dialect/mysql/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/lock_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

// 1. The pre-check: may only refuse. INTO a variable takes no lock and does not wait, where
//    SET @v = (SELECT …) would do both; it always assigns, and where it fails the packet ends, so
//    the variable is never one of an earlier packet.
// 2. Decides. With @leasehold_go = 0 it is an impossible WHERE: no row lock, no transaction id, no
//    wait behind a proof. Otherwise it takes X on the lock row, by primary key, and only then tests
//    again. The test of our own session is a plain read: a lock would block our heartbeat. It names
//    a column of the lock row, which is always true, because MariaDB would answer a subquery that
//    depends on nothing before it waits for the row.
// 3. Reports, and reads who holds the key where it was refused.
constexpr std::string_view acquire_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go
FROM {prefix}lock l
JOIN {prefix}session m ON m.id = ? AND m.expires_at > {now}
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ?
  AND l.kind = 1
  AND (l.owner IS NULL OR COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now});
UPDATE {prefix}lock l
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = ?, l.session_id = ?, l.node_info = ?,
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = {now} + ?, l.lock_delay = ?,
    l.metadata = ?, l.revocations = 0
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.kind = 1
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = ? AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.owner IS NULL OR l.expires_at + l.lock_delay <= {now} OR {proved_dead});
SELECT ROW_COUNT(), LAST_INSERT_ID(),
       EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now}),
       l.kind, {info}
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = ?
LEFT JOIN {prefix}session s ON s.id = l.session_id)sql";

// A free row for a key never seen, ahead of acquire_text in one packet. The locking read of the
// mark comes before the insert: a reaper folding a row of this key holds the mark FOR UPDATE, so
// this waits for it and reads the fence it left. It commits by itself: rows inserted within a
// longer transaction deadlock by the thousand. 1062, somebody was faster, ends the packet. Where a
// removed row of the key has not been purged yet, two inserters can still deadlock over what is
// left of it: rare, and one of them gets the row.
constexpr std::string_view insert_text = R"sql(
INSERT INTO {prefix}lock
    (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, expires_at)
SELECT ?, f.fence, NULL, NULL, '', 0, {now}, NULL FROM {prefix}fence_mark f
WHERE f.id = 1 LOCK IN SHARE MODE;)sql";

// A locking read, so that a grant whose answer was lost is seen even while its commit is still
// being written; S on the lock row goes with the proofs of others.
constexpr std::string_view find_grant_text = R"sql(
SELECT l.fence FROM {prefix}lock l WHERE l.lock_key = ? AND l.owner = ? LOCK IN SHARE MODE)sql";

// Live is tested by a plain read here: only the holder itself can be told no too early, and nobody
// else can have been granted the key while owner and fence are the same.
constexpr std::string_view reenter_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ? AND {unexpired};
UPDATE {prefix}lock l SET l.reentrant_count = LAST_INSERT_ID(l.reentrant_count + 1)
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner = ? AND l.fence = ?
  AND (l.expires_at IS NULL OR l.expires_at > {now})
  AND NOT EXISTS (
      SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= {now});
SELECT ROW_COUNT(), LAST_INSERT_ID())sql";

// Assignments run from left to right and see the earlier ones: the count comes last, because the
// others ask for it. The pre-check keeps a release that comes too late from waiting behind the
// next holder's proof; our own grant it cannot miss, owner and fence being of a committed row. A
// mark that comes after it is seen by the change.
constexpr std::string_view release_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ?
  AND (l.last_ticket = 0 OR l.reentrant_count > 1);
UPDATE {prefix}lock l
SET l.session_id = IF(l.reentrant_count > 1, l.session_id, NULL),
    l.expires_at = IF(l.reentrant_count > 1, l.expires_at, NULL),
    l.changed_at = IF(l.reentrant_count > 1, l.changed_at, {now}),
    l.owner = IF(l.reentrant_count > 1, l.owner, NULL),
    l.reentrant_count = LAST_INSERT_ID(l.reentrant_count - 1)
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner = ? AND l.fence = ?
  AND (l.last_ticket = 0 OR l.reentrant_count > 1);
SELECT ROW_COUNT(), LAST_INSERT_ID())sql";

// Without a pre-check on purpose: it queues for the row behind the acquire it settles, which may
// still wait for a proof or for its commit, and so finds what that one did.
constexpr std::string_view release_owner_text = R"sql(
UPDATE {prefix}lock l SET {free} WHERE l.lock_key = ? AND l.owner = ?)sql";

// The lock row alone: S on the session's would block the heartbeat. At any isolation level it reads
// the newest row, and keeps X, hence every takeover, out until the caller's transaction ends.
// Spelled in the one way both servers know.
constexpr std::string_view prove_text = R"sql(
SELECT fence FROM {prefix}lock
WHERE lock_key = ? AND owner = ? AND fence = ? LOCK IN SHARE MODE)sql";

// Plain reads, by primary key or in its order.
constexpr std::string_view held_among_text = R"sql(
SELECT l.lock_key, l.owner, l.fence, l.revocations > 0 FROM {prefix}lock l
LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.owner IS NOT NULL AND {unexpired} AND l.lock_key IN )sql";

constexpr std::string_view describe_text = R"sql(
SELECT {info}, {waiters} FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ?)sql";

constexpr std::string_view list_text = R"sql(
SELECT {info}, {waiters} FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key >= ? AND l.lock_key < ? AND l.lock_key > ?
  AND l.owner IS NOT NULL AND {unexpired}
ORDER BY l.lock_key LIMIT ?)sql";

// What keeps the key closed: a live hold, or a dead one's lock_delay.
#define IS_CLOSED                                                        \
    "l.owner IS NOT NULL"                                                \
    " AND (l.expires_at IS NULL OR l.expires_at + l.lock_delay > {now})" \
    " AND (s.expires_at IS NULL OR s.expires_at + l.lock_delay > {now})"

constexpr std::string_view is_closed_text =
    "SELECT 1 FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id"
    " WHERE l.lock_key = ? AND " IS_CLOSED;

// A transaction inside one packet; see waiter_store.cpp. X on the lock row comes first, and waits
// for proofs; then nothing can change who holds it, and a new statement is a new snapshot: it has
// what was committed meanwhile. What was there is the answer, being the only rows that the packet
// gives. The session's row comes last: nothing waits for a lock row while it holds a session row,
// so no circle of waits can close.
constexpr std::string_view force_text = R"sql(
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = ? FOR UPDATE;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_session
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND )sql" IS_CLOSED R"sql(;
SELECT {info}, {waiters} FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND @leasehold_go = 1;
UPDATE {prefix}lock l SET l.fence = l.fence + 1, {free}
WHERE l.lock_key = ? AND @leasehold_go = 1;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_session AND @leasehold_go = 1;
COMMIT)sql";

// The row first: grants to holders lock it, and the next statement sees those that came before.
// Then one row, by primary key. Holders: none that another table shows.
constexpr std::string_view change_kind_text = R"sql(
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = ? FOR UPDATE;
UPDATE {prefix}lock l SET l.kind = ?
WHERE l.lock_key = ? AND l.owner IS NULL AND l.last_ticket = 0 AND l.arrived = 0
  AND NOT EXISTS (
      SELECT 1 FROM {prefix}holder h
      WHERE h.lock_key = l.lock_key AND (h.mode <> 0 OR h.fence > 0));
COMMIT;
SELECT l.kind FROM {prefix}lock l WHERE l.lock_key = ?)sql";

// What describes a hold, in the order read_info() takes it. A session whose row is gone counts as
// alive, with no time known to remain.
constexpr std::string_view info_columns =
    "l.lock_key, l.fence, l.owner IS NOT NULL AND {unexpired}, l.owner, l.session_id, l.node_info,"
    " l.reentrant_count, {now} - l.changed_at,"
    " COALESCE(l.expires_at - {now}, s.expires_at - {now}, 0), l.metadata";

// Counted only where somebody may wait, and only the live. Reads: 2 rows for each waiter of the
// key.
constexpr std::string_view waiters_column =
    "IF(l.last_ticket = 0, 0,"
    " (SELECT COUNT(*) FROM {prefix}waiter w"
    " STRAIGHT_JOIN {prefix}session ws ON ws.id = w.session_id"
    " WHERE w.lock_key = l.lock_key AND ws.expires_at > {now}))";

constexpr std::size_t keys_per_statement_max = 500;

lock_info read_info(const row& from, std::size_t first) {
    lock_info info;
    info.key = from.bytes(first);
    info.token = {from.integer(first + 1)};
    info.is_held = from.integer(first + 2) != 0;
    if (!info.is_held) return info;
    info.owner = owner_id::from_bytes(from.bytes(first + 3));
    if (!from.is_null(first + 4)) info.session = session_id::from_bytes(from.bytes(first + 4));
    info.node_info = from.bytes(first + 5);
    info.reentrant_count = from.integer(first + 6);
    info.held_for = std::chrono::microseconds{from.integer(first + 7)};
    info.remaining = std::chrono::microseconds{from.integer(first + 8)};
    if (!from.is_null(first + 9)) info.metadata = from.bytes(first + 9);
    return info;
}

// With {waiters} behind it.
lock_info read_described(const row& from) {
    lock_info info = read_info(from, 0);
    info.waiters = from.integer(10);
    return info;
}

class mysql_lock_store final : public lock_store {
public:
    mysql_lock_store(const table_names& names, engine which)
        : acquire_(text_of(acquire_text, names, which)),
          insert_and_acquire_(text_of(insert_text, names, which) + acquire_),
          find_grant_(text_of(find_grant_text, names, which)),
          reenter_(text_of(reenter_text, names, which)),
          release_(text_of(release_text, names, which)),
          release_owner_(text_of(release_owner_text, names, which)),
          prove_(text_of(prove_text, names, which)),
          held_among_(text_of(held_among_text, names, which)),
          describe_(text_of(describe_text, names, which)),
          list_(text_of(list_text, names, which)),
          is_closed_(text_of(is_closed_text, names, which)),
          force_(text_of(force_text, names, which)),
          change_kind_(text_of(change_kind_text, names, which)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override;
    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override;
    std::optional<std::int64_t> reenter(connection& on, const hold& held) override;
    release_outcome release(connection& on, const hold& held) override;
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override;
    bool prove(connection& inside, const hold& held) override;
    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override;
    std::optional<lock_info> describe(connection& on, const key& name) override;
    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    std::optional<lock_info> force_release(connection& on, const key& name) override;
    bool change_kind(connection& on, const key& name, lock_kind to) override;

private:
    struct attempt {
        acquire_result answer;
        bool key_is_known = false;
    };

    static std::string text_of(std::string_view text, const table_names& names, engine which) {
        std::string filled{text};
        for (const auto& [word, columns] :
             {std::pair{std::string_view{"{info}"}, info_columns}, {"{waiters}", waiters_column}}) {
            const auto at = filled.find(word);
            if (at != std::string::npos) filled.replace(at, word.size(), columns);
        }
        return statement(filled, names, which);
    }

    static attempt ask(connection& on, const std::string& packet, const parameters& values);
    attempt add_key_and_ask(connection& on, const key& name, const parameters& values) const;
    // Owner, token and key, once for the pre-check and once for the change.
    static parameters twice(const hold& held);

    std::string acquire_;
    std::string insert_and_acquire_;
    std::string find_grant_;
    std::string reenter_;
    std::string release_;
    std::string release_owner_;
    std::string prove_;
    std::string held_among_;
    std::string describe_;
    std::string list_;
    std::string is_closed_;
    std::string force_;
    std::string change_kind_;
};

mysql_lock_store::attempt mysql_lock_store::ask(
    connection& on, const std::string& packet, const parameters& values
) {
    const result reply = send_packet(on, packet, values);
    const row& report = reply.rows.at(0);
    constexpr std::size_t info_first = 4;
    attempt made;
    made.key_is_known = !report.is_null(info_first);
    if (report.integer(0) == 1) {
        made.answer.status = acquire_status::granted;
        made.answer.token = {report.integer(1)};
    } else if (report.integer(2) == 0) {
        made.answer.status = acquire_status::session_ended;
    } else if (made.key_is_known && report.integer(3) != static_cast<int>(lock_kind::mutex)) {
        made.answer.status = acquire_status::wrong_kind;
        made.answer.kind = static_cast<lock_kind>(report.integer(3));
    } else if (made.key_is_known) {
        lock_info holder = read_info(report, info_first);
        if (holder.is_held) made.answer.holder = std::move(holder);
    }
    return made;
}

mysql_lock_store::attempt mysql_lock_store::add_key_and_ask(
    connection& on, const key& name, const parameters& values
) const {
    parameters with_key{as_value(name)};
    with_key.insert(with_key.end(), values.begin(), values.end());
    try {
        return ask(on, insert_and_acquire_, with_key);
    } catch (const error& failure) {
        if (failure.native_code() != duplicate_key_code) throw;
    }
    return ask(on, acquire_, values);
}

acquire_result mysql_lock_store::try_acquire(connection& on, const acquire_request& wanted) {
    const value name = as_value(wanted.key);
    const value own = as_value(wanted.session);
    value lives_with;
    value term;
    value words;
    if (!wanted.metadata.empty()) words = blob{wanted.metadata};
    if (wanted.hold_at_most) {
        term = std::int64_t{wanted.hold_at_most->count()};
    } else {
        lives_with = own;
    }
    const parameters values{
        // 1. the pre-check
        own,
        name,
        // 2. the change
        as_value(wanted.owner),
        lives_with,
        blob{wanted.node_info},
        term,
        std::int64_t{wanted.lock_delay.count()},
        words,
        name,
        own,
        // 3. the report
        own,
        name,
    };
    return despite_deadlocks([&] {
        attempt made = ask(on, acquire_, values);
        if (!made.key_is_known && made.answer.status == acquire_status::busy) {
            made = add_key_and_ask(on, wanted.key, values);
        }
        return made.answer;
    });
}

std::optional<fencing_token> mysql_lock_store::find_grant(
    connection& on, const key& name, const owner_id& owner
) {
    const result found = despite_deadlocks([&] {
        return on.execute(find_grant_, {as_value(name), as_value(owner)});
    });
    if (found.rows.empty()) return std::nullopt;
    return fencing_token{found.rows[0].integer(0)};
}

parameters mysql_lock_store::twice(const hold& held) {
    const value name = as_value(held.key);
    const value owner = as_value(held.owner);
    return {name, owner, held.token.number, name, owner, held.token.number};
}

std::optional<std::int64_t> mysql_lock_store::reenter(connection& on, const hold& held) {
    const result reply = despite_deadlocks([&] { return send_packet(on, reenter_, twice(held)); });
    const row& report = reply.rows.at(0);
    if (report.integer(0) != 1) return std::nullopt;
    return report.integer(1);
}

release_outcome mysql_lock_store::release(connection& on, const hold& held) {
    const result reply = despite_deadlocks([&] { return send_packet(on, release_, twice(held)); });
    const row& report = reply.rows.at(0);
    if (report.integer(0) != 1) return release_outcome::not_held;
    return report.integer(1) == 0 ? release_outcome::released : release_outcome::still_held;
}

release_outcome mysql_lock_store::release_owner(
    connection& on, const key& name, const owner_id& owner
) {
    const result reply = despite_deadlocks([&] {
        return on.execute(release_owner_, {as_value(name), as_value(owner)});
    });
    return reply.affected_rows == 1 ? release_outcome::released : release_outcome::not_held;
}

bool mysql_lock_store::prove(connection& inside, const hold& held) {
    const parameters values{as_value(held.key), as_value(held.owner), held.token.number};
    return !inside.execute(prove_, values).rows.empty();
}

std::vector<standing> mysql_lock_store::standings(connection& on, const std::vector<hold>& held) {
    struct found {
        std::string owner;
        std::int64_t fence = 0;
        bool is_asked = false;
    };
    std::map<std::string, found> grants;
    for (std::size_t first = 0; first < held.size(); first += keys_per_statement_max) {
        const std::size_t last = std::min(held.size(), first + keys_per_statement_max);
        parameters names;
        for (std::size_t i = first; i < last; ++i) names.push_back(as_value(held[i].key));
        const std::string sql = held_among_ + '(' + placeholders(names.size()) + ')';
        for (const row& each : on.execute(sql, names).rows) {
            grants[each.bytes(0)] = {each.bytes(1), each.integer(2), each.integer(3) != 0};
        }
    }
    std::vector<standing> answers;
    answers.reserve(held.size());
    for (const hold& each : held) {
        const found& grant = grants[each.key.name()];
        const bool is_ours = grant.owner == each.owner.bytes() && grant.fence == each.token.number;
        answers.push_back(
            !is_ours         ? standing::gone
            : grant.is_asked ? standing::asked
                             : standing::held
        );
    }
    return answers;
}

std::optional<lock_info> mysql_lock_store::describe(connection& on, const key& name) {
    const result found = on.execute(describe_, {as_value(name)});
    if (found.rows.empty()) return std::nullopt;
    return read_described(found.rows[0]);
}

std::vector<lock_info> mysql_lock_store::list(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    const result found = on.execute(
        list_,
        {blob{std::string{prefix}}, blob{end_of_prefix(prefix)}, blob{std::string{after}}, limit}
    );
    std::vector<lock_info> locks;
    locks.reserve(found.rows.size());
    for (const row& each : found.rows) locks.push_back(read_described(each));
    return locks;
}

std::optional<lock_info> mysql_lock_store::force_release(connection& on, const key& name) {
    const value which = as_value(name);
    // A look first, so that a free key costs no lock and no wait.
    if (on.execute(is_closed_, {which}).rows.empty()) return std::nullopt;
    const result victim = despite_deadlocks([&] {
        return send_transaction(on, force_, {which, which, which, which});
    });
    if (victim.rows.empty()) return std::nullopt;
    return read_described(victim.rows[0]);
}

bool mysql_lock_store::change_kind(connection& on, const key& name, lock_kind to) {
    const value which = as_value(name);
    const int kind = static_cast<int>(to);
    const result found = despite_deadlocks([&] {
        return send_transaction(on, change_kind_, {which, kind, which, which});
    });
    return found.rows.empty() || found.rows[0].integer(0) == kind;
}

}  // namespace

std::unique_ptr<lock_store> make_lock_store(const table_names& names, engine which) {
    return std::make_unique<mysql_lock_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
