// SQLite: words on a hold, requests to let go, and moving it. As in lock_store.cpp, whatever is
// read inside a write transaction is true until it commits, and ?1 is the clock, read after the
// write lock was taken.
#include "store/custody_store.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// A session row that is missing counts as alive.
#define LIVE_HOLD                                                                           \
    "(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > ?1) AND NOT EXISTS (" \
    "SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= ?1))"

#define THIS_HOLD "l.lock_key = ?2 AND l.owner = ?3 AND l.fence = ?4"

constexpr std::string_view set_words_sql =
    "UPDATE {prefix}lock SET metadata = ?1 WHERE lock_key = ?2 AND owner = ?3 AND fence = ?4";

// ?2 this boot: rows of another boot count as free.
constexpr std::string_view look_sql =
    "SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count, "
    "?1 - l.changed_at, coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s "
    "WHERE s.id = l.session_id), ?1) - ?1, l.metadata "
    "FROM {prefix}lock l WHERE l.lock_key = ?3 AND " LIVE_HOLD
    " AND (SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?2";

constexpr std::string_view ask_sql =
    "UPDATE {prefix}lock SET revocations = revocations + 1 WHERE lock_key = ?1";

constexpr std::string_view notify_session_sql =
    "UPDATE {prefix}session SET notices = notices + 1 WHERE id = ?1";

constexpr std::string_view give_term_sql =
    "UPDATE {prefix}lock AS l SET session_id = NULL, expires_at = ?1 + ?5 WHERE " THIS_HOLD
    " AND l.session_id IS NOT NULL AND " LIVE_HOLD;

constexpr std::string_view session_is_live_sql =
    "SELECT 1 FROM {prefix}session WHERE id = ?2 AND expires_at > ?1";

// ?5 from or null, ?6 to, ?7 node_info. A session row that is gone is no sign of life here.
constexpr std::string_view adopt_sql =
    "UPDATE {prefix}lock AS l SET session_id = ?6, expires_at = NULL, node_info = ?7 "
    "WHERE " THIS_HOLD
    " AND (l.session_id = ?6 "
    "OR (l.session_id = ?5 AND EXISTS (SELECT 1 FROM {prefix}session s "
    "WHERE s.id = ?5 AND s.expires_at > ?1)) "
    "OR (?5 IS NULL AND l.expires_at > ?1))";

lock_info live_info_of(const row& found) {
    lock_info info;
    info.key = found.bytes(0);
    info.token = {found.integer(1)};
    info.is_held = true;
    info.owner = identity::from_bytes(found.bytes(2));
    if (!found.is_null(3)) info.session = identity::from_bytes(found.bytes(3));
    info.node_info = found.text(4);
    info.reentrant_count = found.integer(5);
    info.held_for = microseconds{found.integer(6)};
    info.remaining = microseconds{found.integer(7)};
    return info;
}

class sqlite_custody_store final : public custody_store {
public:
    sqlite_custody_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          set_words_(fill_in(set_words_sql, names)),
          look_(fill_in(look_sql, names)),
          ask_(fill_in(ask_sql, names)),
          notify_session_(fill_in(notify_session_sql, names)),
          give_term_(fill_in(give_term_sql, names)),
          session_is_live_(fill_in(session_is_live_sql, names)),
          adopt_(fill_in(adopt_sql, names)) {}

    bool set_words(connection& on, const hold& held, const std::optional<std::string>& words)
        override {
        boot_->enter(on);
        write_transaction writing{on};
        const parameters row{
            words ? value{*words} : value{},
            blob{held.key.name()},
            blob{held.owner.bytes()},
            held.token.number};
        if (on.execute(set_words_, row).affected_rows == 0) return false;
        writing.commit();
        return true;
    }

    std::optional<custody> look(connection& on, const key& name) override {
        const auto found = on.execute(
            look_, {boot_clock::now_microseconds(), boot_->boot_id(), blob{name.name()}}
        );
        if (found.rows.empty()) return std::nullopt;
        const row& first = found.rows[0];
        custody seen{live_info_of(first), std::nullopt};
        if (!first.is_null(8)) seen.words = first.text(8);
        return seen;
    }

    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        boot_->enter(on);
        if (!look(on, name)) return std::nullopt;
        write_transaction writing{on};
        const auto seen = look(on, name);
        if (!seen) return std::nullopt;
        on.execute(ask_, {blob{name.name()}});
        if (seen->hold.session) on.execute(notify_session_, {blob{seen->hold.session->bytes()}});
        writing.commit();
        return seen->hold;
    }

    bool give_term(connection& on, const hold& held, microseconds hold_at_most) override {
        boot_->enter(on);
        write_transaction writing{on};
        parameters row = hold_now(held);
        row.emplace_back(std::int64_t{hold_at_most.count()});
        if (on.execute(give_term_, row).affected_rows == 0) return false;
        writing.commit();
        return true;
    }

    adopt_status adopt(connection& on, const adoption& wanted) override {
        boot_->enter(on);
        write_transaction writing{on};
        parameters row = hold_now(wanted.hold);
        const blob to{wanted.to.bytes()};
        if (on.execute(session_is_live_, {row[0], to}).rows.empty()) {
            return adopt_status::session_ended;
        }
        row.push_back(wanted.from ? value{blob{wanted.from->bytes()}} : value{});
        row.emplace_back(to);
        row.emplace_back(wanted.node_info);
        if (on.execute(adopt_, row).affected_rows == 0) return adopt_status::gone;
        writing.commit();
        return adopt_status::adopted;
    }

private:
    static parameters hold_now(const hold& held) {
        return {
            boot_clock::now_microseconds(),
            blob{held.key.name()},
            blob{held.owner.bytes()},
            held.token.number};
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string set_words_;
    const std::string look_;
    const std::string ask_;
    const std::string notify_session_;
    const std::string give_term_;
    const std::string session_is_live_;
    const std::string adopt_;
};

}  // namespace

std::unique_ptr<custody_store> make_custody_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_custody_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
