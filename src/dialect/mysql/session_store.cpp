// What differs between MySQL and MariaDB: in the statements, which servers have a @@server_uuid; in
// environment_problem(), which settings exist (super_read_only is MySQL's, wsrep_on MariaDB's) and
// which value 3 of innodb_flush_log_at_trx_commit is safe (MariaDB alone has it).
#include <map>

#include "dialect/mysql/stores.hpp"
#include "store/session_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

// By primary key, committing by itself.
constexpr std::string_view insert_text = R"sql(
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES (?, ?, {now}, {now}, {now} + ?, 0))sql";

// For a start whose first answer was lost. A first attempt that arrives after its session has ended
// revives nothing.
constexpr std::string_view restart_text = R"sql(
UPDATE {prefix}session
SET heartbeat_at = {now}, expires_at = {now} + ?
WHERE id = ? AND expires_at > {now})sql";

// A server is another one after each start: the last two parts of UUID() are the machine's address
// and 14 bits that are drawn at each start of the server (Uptime is of a second's grain, and moves
// with the clock). Where the draw is the same again, one in 16,384, a direct connection has been
// replaced all the same, which is asked about too; another server differs in the rest. Its 14 bits
// are drawn anew when its clock steps back: then a session looks once more than it must.
#define SERVER_PROCESS \
    "CAST(CONCAT_WS('/', @@hostname, @@port, {server_uuid}, RIGHT(UUID(), 17)) AS BINARY)"

// Takes X on its own row, by primary key, and only then reads the clock: one that waited over its
// expiry changes nothing. No other statement locks a live session's row, but for the moment in
// which force_release() adds a notice.
constexpr std::string_view renew_text = R"sql(
UPDATE {prefix}session SET heartbeat_at = {now}, expires_at = {now} + ?
WHERE id = ? AND expires_at > {now} AND notices = ?
  AND (? = 0 OR )sql" SERVER_PROCESS " = ?)";

constexpr std::string_view look_text =
    "SELECT notices, expires_at > {now}, " SERVER_PROCESS " FROM {prefix}session WHERE id = ?";

constexpr std::string_view end_text = R"sql(
UPDATE {prefix}session SET expires_at = {now} WHERE id = ? AND expires_at > {now})sql";

// One packet, each statement by itself. What is counted is read plainly, since a DELETE would lock
// all that it reads, and wait for proofs. Nothing can come after it: no request of this session is
// under way, and a waiter that could be handed a key is counted as a waiter. {keys}, {owned},
// {queued}: of what the session had last. By primary keys, each of which a scan
// would be preferred to while its table is small; reads: 3 rows for each, and 2.
constexpr std::string_view remove_text = R"sql(
SELECT (SELECT COUNT(*) FROM {prefix}lock l FORCE INDEX (PRIMARY)
        WHERE l.session_id = ? AND l.lock_key IN ({keys}))
     + (SELECT COUNT(*) FROM {prefix}holder h FORCE INDEX (PRIMARY)
        WHERE h.session_id = ? AND ({owned}))
     + (SELECT COUNT(*) FROM {prefix}waiter w FORCE INDEX (PRIMARY)
        WHERE w.session_id = ? AND ({queued}))
INTO @leasehold_kept;
DELETE FROM {prefix}session WHERE id = ? AND expires_at > {now} AND @leasehold_kept = 0;
UPDATE {prefix}session SET expires_at = {now} WHERE id = ? AND expires_at > {now})sql";

// There are as many rows as processes: read whole and sorted. Reads: 1 row for each.
constexpr std::string_view list_text = R"sql(
SELECT id, node_info, expires_at > {now}, {now} - started_at, {now} - heartbeat_at,
       expires_at - {now}
FROM {prefix}session ORDER BY started_at, id)sql";

// NOW is the start of the statement; SYSDATE must have moved on after the sleep. There is no
// variable to ask: `--sysdate-is-now` is an option of the server alone.
constexpr std::string_view clock_text = R"sql(
SELECT SLEEP(0.01), TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) >= 5000)sql";

// SHOW passes over names a server does not know, where SELECT @@name would fail.
constexpr std::string_view settings_text = R"sql(
SHOW VARIABLES WHERE Variable_name IN (
    'binlog_format', 'innodb_flush_log_at_trx_commit', 'innodb_read_only', 'log_bin', 'read_only',
    'super_read_only', 'sync_binlog', 'wsrep_on'))sql";

constexpr int heartbeat_attempts_max = 3;

// The text with its names, and with what tells servers apart.
std::string with_incarnation(std::string_view text, const table_names& names, engine which) {
    constexpr std::string_view word = "{server_uuid}";
    std::string filled{text};
    const auto at = filled.find(word);
    filled.replace(at, word.size(), which == engine::mysql ? "@@server_uuid" : "@@server_id");
    return statement(filled, names, which);
}

void replace(std::string& text, std::string_view word, std::string_view by) {
    text.replace(text.find(word), word.size(), by);
}

using settings_map = std::map<std::string, std::string>;

std::string setting(const settings_map& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string{} : found->second;
}

bool is_on(const settings_map& settings, const std::string& name) {
    const std::string given = setting(settings, name);
    return !given.empty() && given != "OFF" && given != "0";
}

void refuse_what_cannot_work(const settings_map& settings) {
    for (const char* name : {"read_only", "super_read_only", "innodb_read_only"}) {
        if (!is_on(settings, name)) continue;
        throw error(
            errc::read_only,
            std::string{"this server takes no writes ("} + name +
                " is on): connect to the primary, or switch it off there"
        );
    }
    if (is_on(settings, "log_bin") && setting(settings, "binlog_format") == "STATEMENT") {
        throw error(
            errc::unsupported,
            "binlog_format=STATEMENT refuses changes at READ COMMITTED (error 1665): set it to "
            "ROW or MIXED"
        );
    }
}

std::string weak_durability(const settings_map& settings, engine which) {
    std::string problems;
    const auto add = [&](const std::string& problem) {
        problems += (problems.empty() ? "" : "; ") + problem;
    };
    const std::string flush = setting(settings, "innodb_flush_log_at_trx_commit");
    if (flush != "1" && !(which == engine::mariadb && flush == "3")) {
        add("innodb_flush_log_at_trx_commit=" + flush + " can lose grants and repeat tokens when " +
            (flush == "0" ? "the server" : "the machine") + " crashes: set it to 1");
    }
    if (is_on(settings, "log_bin") && setting(settings, "sync_binlog") != "1") {
        add("sync_binlog=" + setting(settings, "sync_binlog") +
            " with the binary log on can lose grants and repeat tokens when the machine crashes: "
            "set it to 1");
    }
    if (is_on(settings, "wsrep_on")) {
        add("wsrep_on: a Galera cluster can lose committed grants; let every process write to the "
            "same node");
    }
    return problems;
}

class mysql_session_store final : public session_store {
public:
    mysql_session_store(const table_names& names, engine which)
        : which_(which),
          insert_(statement(insert_text, names, which)),
          restart_(statement(restart_text, names, which)),
          renew_(with_incarnation(renew_text, names, which)),
          look_(with_incarnation(look_text, names, which)),
          end_(statement(end_text, names, which)),
          remove_(statement(remove_text, names, which)),
          list_(statement(list_text, names, which)) {}

    std::string environment_problem(connection& on) override;
    bool start(connection& on, const session_start& session) override;
    heartbeat_result heartbeat(
        connection& on,
        const session_id& id,
        std::chrono::microseconds ttl,
        const session_news& known
    ) override;
    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiting>>& remove_unless
    ) override;
    std::vector<session_info> list(connection& on) override;

private:
    engine which_;
    std::string insert_;
    std::string restart_;
    std::string renew_;
    std::string look_;
    std::string end_;
    std::string remove_;
    std::string list_;
};

std::string mysql_session_store::environment_problem(connection& on) {
    if (on.execute(clock_text).rows.at(0).integer(1) != 1) {
        throw error(
            errc::unsupported,
            "SYSDATE() stands still within a statement, so that an expired session could revive: "
            "start the server without --sysdate-is-now"
        );
    }
    settings_map settings;
    const result found = on.execute(settings_text);
    for (const row& each : found.rows) settings[each.bytes(0)] = each.bytes(1);
    refuse_what_cannot_work(settings);
    return weak_durability(settings, which_);
}

bool mysql_session_store::start(connection& on, const session_start& session) {
    const result answer = despite_deadlocks([&] {
        const value id = as_value(session.id);
        try {
            return on.execute(insert_, {id, blob{session.node_info}, as_value(session.ttl)});
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
            return on.execute(restart_, {as_value(session.ttl), id});
        }
    });
    return answer.affected_rows > 0;
}

heartbeat_result mysql_session_store::heartbeat(
    connection& on, const session_id& id, std::chrono::microseconds ttl, const session_news& known
) {
    const blob incarnation{known.incarnation};
    const std::int64_t is_known = known.incarnation.empty() ? 0 : 1;
    for (int attempt = 1; attempt <= heartbeat_attempts_max; ++attempt) {
        const result renewed = despite_deadlocks([&] {
            return on.execute(
                renew_, {as_value(ttl), as_value(id), known.notices, is_known, incarnation}
            );
        });
        if (renewed.affected_rows == 1) return {heartbeat_status::renewed};
        const result found = on.execute(look_, {as_value(id)});
        if (found.rows.empty() || found.rows[0].integer(1) == 0) return {};
        session_news now{found.rows[0].integer(0), found.rows[0].bytes(2)};
        const bool is_other = is_known != 0 && now.incarnation != known.incarnation;
        if (is_other || now.notices != known.notices) {
            return {heartbeat_status::noticed, std::move(now)};
        }
        // Live and nothing to notice: the update wrote the microsecond that was there already, as
        // it can when the clock stepped back, and a change of nothing counts no row. Once more.
    }
    throw error(
        errc::transient, "a heartbeat found its session live but changed nothing: send it again"
    );
}

void mysql_session_store::end(
    connection& on, const session_id& id, const std::optional<std::vector<waiting>>& remove_unless
) {
    if (!remove_unless) {
        despite_deadlocks([&] { on.execute(end_, {as_value(id)}); });
        return;
    }
    parameters values{as_value(id)};
    const auto each_of = [&](std::string_view column, auto&& second) {
        std::string text = "FALSE";
        for (const waiting& each : *remove_unless) {
            text.append(" OR (").append(column);
            values.emplace_back(as_value(each.key));
            values.emplace_back(second(each));
        }
        return text;
    };
    for (const waiting& each : *remove_unless) values.emplace_back(as_value(each.key));
    std::string text = remove_;
    replace(text, "{keys}", remove_unless->empty() ? "NULL" : placeholders(remove_unless->size()));
    values.emplace_back(as_value(id));
    replace(text, "{owned}", each_of("h.lock_key = ? AND h.owner = ?)", [](const waiting& each) {
                return as_value(each.owner);
            }));
    values.emplace_back(as_value(id));
    replace(text, "{queued}", each_of("w.lock_key = ? AND w.ticket = ?)", [](const waiting& each) {
                return value{each.ticket};
            }));
    values.emplace_back(as_value(id));
    values.emplace_back(as_value(id));
    despite_deadlocks([&] { on.execute_script(text, values); });
}

std::vector<session_info> mysql_session_store::list(connection& on) {
    std::vector<session_info> sessions;
    const result found = on.execute(list_);
    sessions.reserve(found.rows.size());
    for (const row& each : found.rows) {
        sessions.push_back({
            .id = session_id::from_bytes(each.bytes(0)),
            .node_info = each.bytes(1),
            .is_live = each.integer(2) != 0,
            .started_ago = std::chrono::microseconds{each.integer(3)},
            .heartbeat_ago = std::chrono::microseconds{each.integer(4)},
            .remaining = std::chrono::microseconds{each.integer(5)},
        });
    }
    return sessions;
}

}  // namespace

std::unique_ptr<session_store> make_session_store(const table_names& names, engine which) {
    return std::make_unique<mysql_session_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
