// The part of sessions that is MySQL's and MariaDB's own. The statements: session.sql.
//
// The two differ in environment(): in the settings that exist (super_read_only is MySQL's) and in
// whether value 3 of innodb_flush_log_at_trx_commit is safe (MariaDB alone has it).
#include "session/sql_session_store.hpp"

#include "sql/mysql/dialect.hpp"
#include "sql/mysql/named_values.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr int max_heartbeat_attempts = 3;

// A default of the server or of the user, which other connections need not have. MariaDB called it
// tx_read_only until 11.1.
std::string why_unsuitable(const named_values& settings) {
    for (const char* name : {"transaction_read_only", "tx_read_only"}) {
        if (!settings.is_on(name)) continue;
        return std::string{"transactions are read-only here: set "} + name +
               " = OFF for the server or this user";
    }
    return {};
}

void refuse_what_cannot_work(const named_values& settings) {
    for (const char* name : {"read_only", "super_read_only", "innodb_read_only"}) {
        if (!settings.is_on(name)) continue;
        throw error(
            errc::read_only,
            std::string{"this server takes no writes ("} + name +
                " is on): connect to the primary, or switch it off there"
        );
    }
    if (settings.is_on("log_bin") && settings["binlog_format"] == "STATEMENT") {
        throw error(
            errc::unsupported,
            "binlog_format=STATEMENT refuses changes at READ COMMITTED (error 1665): set it to "
            "ROW or MIXED"
        );
    }
}

std::string weak_durability(const named_values& settings, engine which) {
    std::string problems;
    const auto add = [&](const std::string& problem) {
        problems += (problems.empty() ? "" : "; ") + problem;
    };
    const std::string flush = settings["innodb_flush_log_at_trx_commit"];
    if (flush != "1" && !(which == engine::mariadb && flush == "3")) {
        add("innodb_flush_log_at_trx_commit=" + flush + " can lose grants and repeat tokens when " +
            (flush == "0" ? "the server" : "the machine") + " crashes: set it to 1");
    }
    if (settings.is_on("log_bin") && settings["sync_binlog"] != "1") {
        add("sync_binlog=" + settings["sync_binlog"] +
            " with the binary log on can lose grants and repeat tokens when the machine crashes: "
            "set it to 1");
    }
    return problems;
}

// Any Galera cluster, of however many nodes now; and a group of MySQL's in which all are primaries.
// The second setting exists if the plugin is loaded.
bool may_have_several_writers(const named_values& settings) {
    constexpr const char* single = "group_replication_single_primary_mode";
    return settings.is_on("wsrep_on") || (!settings[single].empty() && !settings.is_on(single));
}

class mysql_session_store final : public sql_session_store {
public:
    explicit mysql_session_store(shared_dialect how) : sql_session_store(std::move(how)) {}

    server_environment environment(connection& on) override;
    bool has_several_writers(connection& on) override {
        return may_have_several_writers(settings(on));
    }
    void enter_cluster(connection& on) override {
        const bool is_galera = !read(on, "galera").rows.empty();
        read(on, is_galera ? "enter_galera" : "enter_group");
    }
    bool start(connection& on, const session_start& session) override;
    heartbeat_result heartbeat(
        connection& on,
        const session_id& id,
        std::chrono::microseconds ttl,
        const session_news& known
    ) override;

private:
    named_values settings(connection& on) const { return named_values{read(on, "settings")}; }
    void remove(connection& on, const session_id& id, const std::vector<waiter_id>& unless)
        override;
};

server_environment mysql_session_store::environment(connection& on) {
    const auto moves = [&](const char* question) { return only_integer(read(on, question)) != 0; };
    if (!moves("clock") && !moves("clock_after_sleep")) {
        throw error(
            errc::unsupported,
            "SYSDATE() stands still within a statement, so that an expired session could revive: "
            "start the server without --sysdate-is-now"
        );
    }
    const named_values found = settings(on);
    refuse_what_cannot_work(found);
    return {
        .unsuitable = why_unsuitable(found),
        .durability = weak_durability(found, how_->which()),
        .has_several_writers = may_have_several_writers(found)};
}

bool mysql_session_store::start(connection& on, const session_start& session) {
    const parameters values = values_of_start(session);
    const auto send_one = [&](const char* name) { return send(on, texts_[name], values); };
    const result answer = despite_deadlocks([&] {
        return insert_or([&] { return send_one("insert"); }, [&] { return send_one("restart"); });
    });
    return answer.affected_rows > 0;
}

heartbeat_result mysql_session_store::heartbeat(
    connection& on, const session_id& id, std::chrono::microseconds ttl, const session_news& known
) {
    for (int attempt = 1; attempt <= max_heartbeat_attempts; ++attempt) {
        heartbeat_result answer = sql_session_store::heartbeat(on, id, ttl, known);
        if (answer.status != heartbeat_status::noticed) return answer;
        const bool is_other =
            !known.incarnation.empty() && answer.news.incarnation != known.incarnation;
        if (is_other || answer.news.notices != known.notices) return answer;
        // Live, and without news: the update wrote the microsecond that the row had already, which
        // can happen when the clock stepped back, and such a row is not counted. Once more.
    }
    throw error(
        errc::transient, "a heartbeat found its session live but changed nothing: send it again"
    );
}

void mysql_session_store::remove(
    connection& on, const session_id& id, const std::vector<waiter_id>& unless
) {
    parameters values{value_of(id)};
    const auto place = [&](value each) {
        values.push_back(std::move(each));
        return "$" + std::to_string(values.size());
    };
    std::string keys = "NULL", owned = "FALSE", queued = "FALSE";
    for (const waiter_id& each : unless) {
        const std::string key = place(value_of(each.key));
        keys += ", " + key;
        owned += " OR (h.lock_key = " + key + " AND h.owner = " + place(value_of(each.owner)) + ")";
        queued += " OR (w.lock_key = " + key + " AND w.ticket = " + place(each.ticket) + ")";
    }
    std::string text = replaced(texts_.source("remove"), "{keys}", keys);
    text = replaced(replaced(text, "{owned}", owned), "{queued}", queued);
    how_->write(on, statement{text, how_->which()}, values);
}

}  // namespace

std::unique_ptr<session_store> make_session_store(shared_dialect how) {
    return std::make_unique<mysql_session_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
