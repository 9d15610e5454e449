// Words on a hold, requests to let go, and moving it, on MySQL and MariaDB. The rules of
// lock_store.cpp.
#include <utility>

#include "dialect/mysql/stores.hpp"
#include "store/custody_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

// The pre-check keeps words that come too late from waiting behind the next holder's proof. The
// report asks the row itself, because words that stay the same are not counted as a change.
constexpr std::string_view set_words_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ?;
UPDATE {prefix}lock l SET l.metadata = ?
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner = ? AND l.fence = ?;
SELECT COUNT(*) FROM {prefix}lock l
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ? AND @leasehold_go = 1)sql";

// What describes a hold, in the order live_info_of() takes it, and the words.
#define CUSTODY_COLUMNS                                                               \
    "l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count, "    \
    "{now} - l.changed_at, COALESCE(l.expires_at - {now}, s.expires_at - {now}, 0), " \
    "l.metadata "

constexpr std::string_view look_text =
    "SELECT " CUSTODY_COLUMNS
    "FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id "
    "WHERE l.lock_key = ? AND l.owner IS NOT NULL AND {unexpired}";

// A transaction inside one packet, as force_text of lock_store.cpp: the hold is the answer.
constexpr std::string_view request_revoke_text = R"sql(
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = ? FOR UPDATE;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_session
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND l.owner IS NOT NULL AND {unexpired};
SELECT )sql" CUSTODY_COLUMNS R"sql(
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND @leasehold_go = 1;
UPDATE {prefix}lock l SET l.revocations = l.revocations + 1
WHERE l.lock_key = ? AND @leasehold_go = 1;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_session AND @leasehold_go = 1;
COMMIT)sql";

// As reenter of lock_store.cpp: only the holder itself can be told no too early. The expiry comes
// before the session in the list, which is read from left to right.
constexpr std::string_view give_term_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ? AND s.expires_at > {now};
UPDATE {prefix}lock l SET l.expires_at = {now} + ?, l.session_id = NULL
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner = ? AND l.fence = ?
  AND l.session_id IS NOT NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now});
SELECT ROW_COUNT())sql";

// The session it comes from is compared on the row as it is when it is changed, so that of two
// adopters the second finds the session of the first. Adopting again changes nothing, which the
// count of affected rows does not tell from a refusal: the report asks the row instead. It is our
// own session's name that it looks for, and nobody else writes that.
constexpr std::string_view adopt_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session m ON m.id = ? AND m.expires_at > {now}
WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ?
  AND (l.session_id = ? OR l.session_id <=> ?);
UPDATE {prefix}lock l SET l.session_id = ?, l.expires_at = NULL, l.node_info = ?
WHERE l.lock_key = ? AND @leasehold_go = 1 AND l.owner = ? AND l.fence = ?
  AND l.session_id <=> ?
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = ? AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.expires_at > {now}
       OR EXISTS (
           SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now}));
SELECT (SELECT COUNT(*) FROM {prefix}lock l
        WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ? AND l.session_id = ?),
       (SELECT COUNT(*) FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now}))sql";

lock_info live_info_of(const row& from) {
    lock_info info;
    info.key = from.bytes(0);
    info.token = {from.integer(1)};
    info.is_held = true;
    info.owner = owner_id::from_bytes(from.bytes(2));
    if (!from.is_null(3)) info.session = session_id::from_bytes(from.bytes(3));
    info.node_info = from.bytes(4);
    info.reentrant_count = from.integer(5);
    info.held_for = std::chrono::microseconds{from.integer(6)};
    info.remaining = std::chrono::microseconds{from.integer(7)};
    return info;
}

class mysql_custody_store final : public custody_store {
public:
    mysql_custody_store(const table_names& names, engine which)
        : set_words_(statement(set_words_text, names, which)),
          look_(statement(look_text, names, which)),
          request_revoke_(statement(request_revoke_text, names, which)),
          give_term_(statement(give_term_text, names, which)),
          adopt_(statement(adopt_text, names, which)) {}

    bool set_words(connection& on, const hold& held, const std::optional<std::string>& words)
        override;
    std::optional<custody> look(connection& on, const key& name) override;
    std::optional<lock_info> request_revoke(connection& on, const key& name) override;
    bool give_term(connection& on, const hold& held, std::chrono::microseconds hold_at_most)
        override;
    adopt_status adopt(connection& on, const adoption& wanted) override;

private:
    std::string set_words_;
    std::string look_;
    std::string request_revoke_;
    std::string give_term_;
    std::string adopt_;
};

bool mysql_custody_store::set_words(
    connection& on, const hold& held, const std::optional<std::string>& words
) {
    const value name = as_value(held.key);
    const value owner = as_value(held.owner);
    const value token = held.token.number;
    const parameters values{
        // 1. the pre-check
        name,
        owner,
        token,
        // 2. the change
        words ? value{blob{*words}} : value{},
        name,
        owner,
        token,
        // 3. the report
        name,
        owner,
        token,
    };
    const result reply = despite_deadlocks([&] { return send_packet(on, set_words_, values); });
    return reply.rows.at(0).integer(0) == 1;
}

std::optional<custody> mysql_custody_store::look(connection& on, const key& name) {
    const result found = on.execute(look_, {as_value(name)});
    if (found.rows.empty()) return std::nullopt;
    const row& first = found.rows[0];
    custody seen{live_info_of(first), std::nullopt};
    if (!first.is_null(8)) seen.words = first.bytes(8);
    return seen;
}

std::optional<lock_info> mysql_custody_store::request_revoke(connection& on, const key& name) {
    // A look first, so that a free key costs no lock and no wait.
    if (!look(on, name)) return std::nullopt;
    const value which = as_value(name);
    const result asked = despite_deadlocks([&] {
        return send_transaction(on, request_revoke_, {which, which, which, which});
    });
    if (asked.rows.empty()) return std::nullopt;
    return live_info_of(asked.rows[0]);
}

bool mysql_custody_store::give_term(
    connection& on, const hold& held, std::chrono::microseconds hold_at_most
) {
    const value name = as_value(held.key);
    const value owner = as_value(held.owner);
    const value token = held.token.number;
    const parameters values{
        name, owner, token, std::int64_t{hold_at_most.count()}, name, owner, token};
    const result reply = despite_deadlocks([&] { return send_packet(on, give_term_, values); });
    return reply.rows.at(0).integer(0) == 1;
}

adopt_status mysql_custody_store::adopt(connection& on, const adoption& wanted) {
    const value name = as_value(wanted.hold.key);
    const value owner = as_value(wanted.hold.owner);
    const value token = wanted.hold.token.number;
    const value from = wanted.from ? as_value(*wanted.from) : value{};
    const value to = as_value(wanted.to);
    const parameters values{
        // 1. the pre-check
        to,
        name,
        owner,
        token,
        to,
        from,
        // 2. the change
        to,
        blob{wanted.node_info},
        name,
        owner,
        token,
        from,
        to,
        // 3. the report
        name,
        owner,
        token,
        to,
        to,
    };
    const result reply = despite_deadlocks([&] { return send_packet(on, adopt_, values); });
    const row& report = reply.rows.at(0);
    if (report.integer(1) == 0) return adopt_status::session_ended;
    return report.integer(0) == 1 ? adopt_status::adopted : adopt_status::gone;
}

}  // namespace

std::unique_ptr<custody_store> make_custody_store(const table_names& names, engine which) {
    return std::make_unique<mysql_custody_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
