// What differs between MySQL and MariaDB: only {share_skip_locked}, see store.cpp.
//
// What changes a queue is a transaction that begins and ends inside one packet: a client that is
// paused or cut off between two round trips would keep the lock row locked, whatever its TTL. It
// locks the lock row first, by primary key. At READ COMMITTED each statement after that has a
// snapshot of its own, so it sees every waiter: nobody queues without that lock. Only those who
// leave do without, by primary key of their own row. Decisions are handed on in user variables;
// each is assigned by a SELECT … INTO that always answers with one row, so that none is left of an
// earlier packet, and where one says no the statements that follow lock nothing.
// Rows of the queue can be made inside a transaction, unlike lock rows: two of one key cannot be
// made at once, and tickets are never used again, so no insert meets what is left of another row.
#include <algorithm>

#include "dialect/look_row.hpp"
#include "dialect/mysql/list_statement.hpp"
#include "dialect/mysql/stores.hpp"
#include "store/waiter_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

// Of lock row l and the session row s joined to it, on a plain read: may be wrong either way.
#define LOOKS_TAKEABLE         \
    "COALESCE(l.owner IS NULL" \
    " OR COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now}, 0)"

// 1. The lock, or nothing: a proof may keep the row for long.
// 2. Under it, what decides.
// 3. The mark, the row, and the answer.
constexpr std::string_view enqueue_text = R"sql(
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = ? FOR UPDATE SKIP LOCKED;
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now}),
       l.kind, )sql" LOOKS_TAKEABLE R"sql(
INTO @leasehold_live, @leasehold_kind, @leasehold_takeable
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = ?
LEFT JOIN {prefix}session s ON s.id = l.session_id;
SELECT COALESCE(@leasehold_locked = 1 AND @leasehold_live = 1 AND @leasehold_kind = 1, 0)
INTO @leasehold_go;
UPDATE {prefix}lock l SET l.last_ticket = LAST_INSERT_ID(GREATEST(l.last_ticket + 1, {now}))
WHERE l.lock_key = ? AND @leasehold_go = 1;
INSERT INTO {prefix}waiter
    (lock_key, ticket, owner, session_id, node_info, hold_at_most, lock_delay, metadata, queued_at)
SELECT ?, LAST_INSERT_ID(), ?, ?, ?, ?, ?, ?, {now} FROM DUAL WHERE @leasehold_go = 1;
COMMIT;
SELECT @leasehold_go, @leasehold_live, @leasehold_kind, @leasehold_takeable, LAST_INSERT_ID())sql";

// The pre-check keeps a hand-over that comes too late from waiting behind the next holder's proof;
// see release_text of lock_store.cpp. The lock waits for proofs of the same hold.
constexpr std::string_view lock_own_text = R"sql(
SELECT COUNT(*) INTO @leasehold_own FROM {prefix}lock l
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ?;
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND @leasehold_own = 1 AND l.owner = ? AND l.fence = ? FOR UPDATE;)sql";

// Waits for nobody. Then: whether it is free or past its term; if not, whose death to prove; and
// the proof, for which see {proved_dead} in store.cpp.
constexpr std::string_view lock_takeable_text = R"sql(
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = ? AND l.kind = 1 FOR UPDATE SKIP LOCKED;
SELECT COALESCE(l.owner IS NULL OR l.expires_at + l.lock_delay <= {now}, 0),
       IF(s.expires_at + l.lock_delay <= {now}, s.id, NULL), l.lock_delay
INTO @leasehold_free, @leasehold_dead, @leasehold_delay
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key = ? AND @leasehold_locked = 1
LEFT JOIN {prefix}session s ON s.id = l.session_id;
SELECT @leasehold_locked * GREATEST(@leasehold_free, COUNT(*)) INTO @leasehold_go
FROM {prefix}session d
WHERE d.id = @leasehold_dead AND d.expires_at + @leasehold_delay <= {now} {share_skip_locked};)sql";

// With the lock row locked, where @leasehold_go is 1:
// 1. The first waiter that is live, and whether there are others behind it.
// 2. The grant. The multi-table form locks the waiter's row as well, and finds nothing where it has
//    left since: then nothing changes, and the packet has to be sent again.
// 3. Nobody live waits: free.
// 4. The waiter goes, and the dead before it; all, where nobody live is among them.
// Reads: 16 rows, and 4 for each waiter that goes with it. The joins are STRAIGHT, so that no
// statistics can begin them at the sessions.
constexpr std::string_view pass_on_text = R"sql(
SELECT w.ticket, w.owner, w.session_id, w.hold_at_most,
       EXISTS (SELECT 1 FROM {prefix}waiter b WHERE b.lock_key = ? AND b.ticket > w.ticket)
INTO @leasehold_ticket, @leasehold_owner, @leasehold_session, @leasehold_term, @leasehold_more
FROM (SELECT 1 AS one) o
LEFT JOIN (
    SELECT q.ticket, q.owner, q.session_id, q.hold_at_most
    FROM {prefix}waiter q FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN {prefix}session s ON s.id = q.session_id
    WHERE q.lock_key = ? AND s.expires_at > {now} AND @leasehold_go = 1
    ORDER BY q.ticket LIMIT 1) w ON TRUE;
UPDATE {prefix}lock l JOIN {prefix}waiter w
    ON w.lock_key = l.lock_key AND w.ticket = @leasehold_ticket
SET l.fence = LAST_INSERT_ID(l.fence + 1), l.owner = w.owner,
    l.session_id = IF(w.hold_at_most IS NULL, w.session_id, NULL), l.node_info = w.node_info,
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = {now} + w.hold_at_most,
    l.lock_delay = w.lock_delay, l.metadata = w.metadata, l.revocations = 0,
    l.last_ticket = IF(@leasehold_more, l.last_ticket, 0)
WHERE l.lock_key = ? AND @leasehold_go = 1 AND @leasehold_ticket IS NOT NULL;
SELECT IF(ROW_COUNT() = 1, LAST_INSERT_ID(), 0) INTO @leasehold_token;
UPDATE {prefix}lock l SET {free}, l.last_ticket = 0
WHERE l.lock_key = ? AND @leasehold_go = 1 AND @leasehold_ticket IS NULL;
SELECT CASE WHEN @leasehold_token > 0 THEN @leasehold_ticket
            WHEN @leasehold_ticket IS NULL THEN 1 << 62 ELSE 0 END
INTO @leasehold_last;
DELETE FROM {prefix}waiter
WHERE lock_key = ? AND @leasehold_go = 1 AND @leasehold_last > 0 AND ticket <= @leasehold_last;
COMMIT;
SELECT @leasehold_go, @leasehold_ticket, @leasehold_token, @leasehold_owner, @leasehold_session,
       @leasehold_term)sql";

constexpr std::string_view leave_text = R"sql(
DELETE FROM {prefix}waiter WHERE lock_key = ? AND ticket = ? AND owner = ?)sql";

// Reads: 2 rows, and leave_text. Index: waiter_owner.
constexpr std::string_view find_waiter_text = R"sql(
SELECT ticket FROM {prefix}waiter WHERE lock_key = ? AND owner = ?)sql";

// Plain reads of one snapshot; one derived row for each waiter asked about, then primary keys.
// Reads: 4 rows for each.
constexpr std::string_view look_head_text = R"sql(
SELECT asked.number, l.owner = asked.owner, l.fence, l.expires_at - {now}, w.ticket IS NOT NULL,
       )sql" LOOKS_TAKEABLE R"sql(
FROM ()sql";
constexpr std::string_view look_tail_text = R"sql() asked
JOIN {prefix}lock l ON l.lock_key = asked.lock_key
LEFT JOIN {prefix}session s ON s.id = l.session_id
LEFT JOIN {prefix}waiter w
    ON w.lock_key = asked.lock_key AND w.ticket = asked.amount AND w.owner = asked.owner)sql";

// Sessions that this waiter waits for, directly and through others; none where its row has become a
// grant meanwhile, which makes its own session the holder. Indexes: waiter_session, and the primary
// keys. Reads: 12 rows, and 4 for each call in which one of these sessions waits.
constexpr std::string_view circle_text = R"sql(
WITH RECURSIVE blocker (session_id) AS (
    SELECT s.id FROM {prefix}lock l STRAIGHT_JOIN {prefix}session s ON s.id = l.session_id
    STRAIGHT_JOIN {prefix}waiter own ON own.lock_key = l.lock_key AND own.ticket = ?
    WHERE l.lock_key = ? AND s.expires_at > {now}
    UNION
    SELECT s.id FROM blocker b
    STRAIGHT_JOIN {prefix}waiter w ON w.session_id = b.session_id
    STRAIGHT_JOIN {prefix}lock l ON l.lock_key = w.lock_key
    STRAIGHT_JOIN {prefix}session s ON s.id = l.session_id
    WHERE s.expires_at > {now})
SELECT 1 FROM blocker WHERE session_id = ?)sql";

class mysql_waiter_store final : public waiter_store {
public:
    mysql_waiter_store(const table_names& names, engine which)
        : enqueue_(statement(enqueue_text, names, which)),
          hand_over_(
              statement(lock_own_text, names, which) + statement(pass_on_text, names, which)
          ),
          serve_(
              statement(lock_takeable_text, names, which) + statement(pass_on_text, names, which)
          ),
          leave_(statement(leave_text, names, which)),
          find_waiter_(statement(find_waiter_text, names, which)),
          look_(look_head_text, look_tail_text, names, which),
          circle_(statement(circle_text, names, which)) {}

    enqueue_result enqueue(connection& on, const acquire_request& wanted) override;
    hand_over_result hand_over(connection& on, const hold& held) override;
    hand_over_result serve(connection& on, const key& name) override;
    bool leave(connection& on, const waiting& who) override;
    bool withdraw(connection& on, const key& name, const owner_id& owner) override;
    std::vector<look_result> look(connection& on, const std::vector<waiting>& who) override;
    bool closes_a_circle(connection& on, const waiting& who, const session_id& own) override;
    // Neither has bells that any connection could hear.
    void ring(connection&, const owner_id&) override {}
    std::string channel() const override { return {}; }

private:
    static hand_over_result pass_on(
        connection& on, const std::string& packet, parameters values, const key& name
    );

    std::string enqueue_;
    std::string hand_over_;
    std::string serve_;
    std::string leave_;
    std::string find_waiter_;
    list_statement look_;
    std::string circle_;
};

enqueue_result mysql_waiter_store::enqueue(connection& on, const acquire_request& wanted) {
    const value name = as_value(wanted.key);
    const value own = as_value(wanted.session);
    value term;
    if (wanted.hold_at_most) term = std::int64_t{wanted.hold_at_most->count()};
    value words;
    if (!wanted.metadata.empty()) words = blob{wanted.metadata};
    const parameters values{// 1. the lock
                            name,
                            // 2. what decides
                            own,
                            name,
                            // 3. the mark and the row
                            name,
                            name,
                            as_value(wanted.owner),
                            own,
                            blob{wanted.node_info},
                            term,
                            std::int64_t{wanted.lock_delay.count()},
                            words};
    const result reply = despite_deadlocks([&] { return send_transaction(on, enqueue_, values); });
    const row& report = reply.rows.at(0);
    enqueue_result answer;
    if (!report.is_null(2)) answer.kind = static_cast<lock_kind>(report.integer(2));
    if (report.integer(1) == 0) {
        answer.status = enqueue_status::session_ended;
    } else if (answer.kind != lock_kind::mutex) {
        answer.status = enqueue_status::wrong_kind;
    } else if (report.integer(0) == 1) {
        answer.status = enqueue_status::waiting;
        answer.looks_takeable = report.integer(3) != 0;
        answer.ticket = report.integer(4);
    }
    return answer;
}

// `packet` locks the row, with `values`, and ends with pass_on_text.
hand_over_result mysql_waiter_store::pass_on(
    connection& on, const std::string& packet, parameters values, const key& name
) {
    values.insert(values.end(), 5, as_value(name));
    // A packet that changed nothing, because the waiter it found left in that moment, has let go of
    // the lock row. So each time there is one waiter less.
    while (true) {
        const result reply =
            despite_deadlocks([&] { return send_transaction(on, packet, values); });
        const row& report = reply.rows.at(0);
        if (report.integer(0) != 1) return {};
        if (report.is_null(1)) return {hand_over_status::freed, std::nullopt};
        if (report.integer(2) == 0) continue;
        successor next{
            name,
            identity::from_bytes(report.bytes(3)),
            identity::from_bytes(report.bytes(4)),
            {report.integer(2)},
            std::nullopt};
        if (!report.is_null(5)) next.hold_at_most = std::chrono::microseconds{report.integer(5)};
        return {hand_over_status::handed_over, std::move(next)};
    }
}

hand_over_result mysql_waiter_store::hand_over(connection& on, const hold& held) {
    const value name = as_value(held.key);
    const value owner = as_value(held.owner);
    const value token = held.token.number;
    return pass_on(on, hand_over_, {name, owner, token, name, owner, token}, held.key);
}

hand_over_result mysql_waiter_store::serve(connection& on, const key& name) {
    return pass_on(on, serve_, {as_value(name), as_value(name)}, name);
}

bool mysql_waiter_store::leave(connection& on, const waiting& who) {
    const parameters which{as_value(who.key), who.ticket, as_value(who.owner)};
    return despite_deadlocks([&] { return on.execute(leave_, which).affected_rows == 1; });
}

bool mysql_waiter_store::withdraw(connection& on, const key& name, const owner_id& owner) {
    // Found first: a delete by anything but the primary key would lock what it passes by.
    const result found = on.execute(find_waiter_, {as_value(name), as_value(owner)});
    bool is_gone = false;
    for (const row& each : found.rows) is_gone = leave(on, {name, owner, each.integer(0)});
    return is_gone;
}

std::vector<look_result> mysql_waiter_store::look(connection& on, const std::vector<waiting>& who) {
    std::vector<look_result> answers(who.size());
    const auto values_of = [&](std::size_t at) {
        return parameters{as_value(who[at].key), as_value(who[at].owner), who[at].ticket};
    };
    look_.ask(on, who.size(), values_of, [&](std::size_t at, const row& seen) {
        answers.at(at) = look_result_of(seen);
    });
    return answers;
}

bool mysql_waiter_store::closes_a_circle(
    connection& on, const waiting& who, const session_id& own
) {
    return !on.execute(circle_, {who.ticket, as_value(who.key), as_value(own)}).rows.empty();
}

}  // namespace

std::unique_ptr<waiter_store> make_waiter_store(const table_names& names, engine which) {
    return std::make_unique<mysql_waiter_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
