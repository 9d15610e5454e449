// MySQL and MariaDB differ here in one word: how a share lock that does not wait is asked for. Each
// refuses the other's spelling with 1064.
#include "dialect/mysql/stores.hpp"

#include "dialect/dialects.hpp"
#include "dialect/sql_text.hpp"
#include "store/claim_store.hpp"
#include "store/custody_store.hpp"
#include "store/fence_store.hpp"
#include "store/holder_store.hpp"
#include "store/lock_store.hpp"
#include "store/multi_lock_store.hpp"
#include "store/pending_store.hpp"
#include "store/run_store.hpp"
#include "store/schema_store.hpp"
#include "store/session_store.hpp"
#include "store/upkeep_store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {
namespace mysql_dialect {
namespace {

// Microseconds since 1970 in UTC, our connections being at time_zone '+00:00'. SYSDATE is read
// anew at each use, also after a wait for a row; NOW would be the start of the statement, and a
// heartbeat that waited over its own expiry would revive itself.
constexpr std::string_view now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))";

// Of lock row l and the session row s joined to it, if there. Missing counts as alive.
constexpr std::string_view unexpired =
    "(l.expires_at IS NULL OR l.expires_at > {now})"
    " AND (s.expires_at IS NULL OR s.expires_at > {now})";

// The session of lock row l is there and expired, for the row's lock_delay, on positive proof. The
// locking read is what makes it proof: a plain one does not see a renewal that is being committed.
// It steps around a locked row instead of waiting, which refuses. The plain test first, so that no
// live session is locked.
constexpr std::string_view proved_dead =
    "(EXISTS (SELECT 1 FROM {prefix}session d"
    " WHERE d.id = l.session_id AND d.expires_at + l.lock_delay <= {now})"
    " AND EXISTS (SELECT 1 FROM {prefix}session d"
    " WHERE d.id = l.session_id AND d.expires_at + l.lock_delay <= {now} {share_skip_locked}))";

// The assignments that free lock row l; its fence and the name of its last holder stay.
constexpr std::string_view free =
    "l.owner = NULL, l.session_id = NULL, l.expires_at = NULL, l.reentrant_count = 0,"
    " l.changed_at = {now}";

void replace_all(std::string& text, std::string_view word, std::string_view by) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
        text.replace(at, word.size(), by);
    }
}

}  // namespace

std::string statement(std::string_view text, const table_names& names, engine which) {
    std::string filled{text};
    replace_all(filled, "{unexpired}", unexpired);
    replace_all(filled, "{proved_dead}", proved_dead);
    replace_all(filled, "{free}", free);
    replace_all(filled, "{now}", now);
    replace_all(
        filled,
        "{share_skip_locked}",
        which == engine::mariadb ? "LOCK IN SHARE MODE SKIP LOCKED" : "FOR SHARE SKIP LOCKED"
    );
    return fill_in(filled, names);
}

result send_packet(connection& on, std::string_view packet, const parameters& values) {
    try {
        return on.execute_script(packet, values);
    } catch (const error& failure) {
        const bool may_have_changed =
            failure.code() == errc::timed_out || failure.code() == errc::database_error;
        if (failure.outcome_is_unknown() || !may_have_changed) throw;
        throw error(
            failure.code(),
            failure.what(),
            {.sqlstate = failure.sqlstate(),
             .native_code = failure.native_code(),
             .server_message = failure.server_message(),
             .outcome_unknown = true}
        );
    }
}

result send_transaction(connection& on, std::string_view packet, const parameters& values) {
    try {
        return send_packet(on, packet, values);
    } catch (...) {
        on.rollback();
        throw;
    }
}

// MariaDB's variable changed its name with 11.1.
std::string session_isolation(connection& inside) {
    const server_info& server = inside.server();
    const bool has_old_name = server.engine == engine::mariadb && server.version < 110101;
    const char* const question =
        has_old_name ? "SELECT @@tx_isolation" : "SELECT @@transaction_isolation";
    return inside.execute(question).rows.at(0).bytes(0);
}

std::string placeholders(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
    return text;
}

std::string for_keys(std::string text, std::size_t count) {
    replace_all(text, "{keys}", placeholders(count));
    return text;
}

}  // namespace mysql_dialect

store make_mysql_store(const table_names& names, engine which) {
    require_valid(names);
    if (!names.schema.empty()) {
        throw error(
            errc::invalid_argument,
            "MySQL and MariaDB have no schema beside the database: leave `schema` empty and name "
            "the database in the URL"
        );
    }
    store made;
    made.locks = mysql_dialect::make_lock_store(names, which);
    made.sessions = mysql_dialect::make_session_store(names, which);
    made.upkeep = mysql_dialect::make_upkeep_store(names, which);
    made.schema = mysql_dialect::make_schema_store(names);
    made.custody = mysql_dialect::make_custody_store(names, which);
    made.runs = mysql_dialect::make_run_store(names, which);
    made.waiters = mysql_dialect::make_waiter_store(names, which);
    made.holders = mysql_dialect::make_holder_store(names, which);
    made.pending = mysql_dialect::make_pending_store(names, which);
    made.multi_locks = mysql_dialect::make_multi_lock_store(names, which);
    made.fences = mysql_dialect::make_fence_store(names);
    made.claims = mysql_dialect::make_claim_store(which);
    return made;
}

}  // namespace leasehold
