// MySQL and MariaDB as the fault tests see them.
#include <mutex>

#include "core/hexadecimal.hpp"
#include "fault/server.hpp"
#include "leasehold/error.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::testing {
namespace {

constexpr const char* now_words = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))";

std::string literal(const std::string& bytes) {
    return "x'" + in_hexadecimal(bytes) + "'";
}

// Names are quoted by {…}: {lock}, {session}, {holder}, {now}.
std::string filled(std::string text, const std::string& prefix) {
    const auto replace = [&](const std::string& word, const std::string& by) {
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word)) {
            text.replace(at, word.size(), by);
        }
    };
    replace("{lock}", prefix + "lock");
    replace("{session}", prefix + "session");
    replace("{holder}", prefix + "holder");
    replace("{now}", now_words);
    return text;
}

class mysql_server final : public server {
public:
    mysql_server(std::string backend, std::string prefix)
        : backend_(std::move(backend)), prefix_(std::move(prefix)) {}

    std::int64_t id_of(connection& on) const override {
        return on.execute("SELECT CONNECTION_ID()").rows.at(0).integer(0);
    }
    void kill(connection& asker, std::int64_t id) const override {
        constexpr int unknown_thread = 1094;
        try {
            asker.execute("KILL CONNECTION " + std::to_string(id));
        } catch (const error& failure) {
            if (failure.native_code() != unknown_thread) throw;  // gone already
        }
    }
    bool is_connected(connection& asker, std::int64_t id) const override {
        const char* sql = "SELECT 1 FROM information_schema.processlist WHERE id = ?";
        return !asker.execute(sql, {id}).rows.empty();
    }
    std::vector<std::int64_t> waiting_behind(connection& asker, std::int64_t id) const override;

    std::int64_t now(connection& asker) const override {
        return asker.execute(sql_of("SELECT {now}")).rows.at(0).integer(0);
    }
    std::int64_t expiry_of(connection& asker, const session_id& id) const override {
        const std::string sql = "SELECT expires_at FROM {session} WHERE id = ";
        return asker.execute(sql_of(sql + literal(id.bytes()))).rows.at(0).integer(0);
    }

    void lock_key_row(connection& inside, const key& name) const override {
        const std::string sql =
            "SELECT 1 FROM {lock} WHERE lock_key = " + literal(name.name()) + " FOR UPDATE";
        if (inside.execute(sql_of(sql)).rows.size() != 1) throw std::runtime_error("no such key");
    }
    void lock_session_row(connection& inside, const session_id& id) const override {
        const std::string sql =
            "SELECT 1 FROM {session} WHERE id = " + literal(id.bytes()) + " FOR UPDATE";
        if (inside.execute(sql_of(sql)).rows.size() != 1) throw std::runtime_error("no session");
    }

    void grant_hold(connection& inside, const key& name, const session_id& to) const override {
        const std::string at_key = " WHERE lock_key = " + literal(name.name());
        inside.execute(sql_of("UPDATE {lock} SET fence = fence + 1" + at_key));
        inside.execute(sql_of(
            "INSERT INTO {holder} (lock_key, owner, session_id, mode, permits, fence, node_info,"
            " granted_at) SELECT lock_key, " +
            literal(owner_id::random().bytes()) + ", " + literal(to.bytes()) +
            ", 2, capacity, fence, 'in flight', {now} FROM {lock}" + at_key
        ));
    }

    bool take(connection& on, careless_take how, const key& name, const session_id& taker)
        const override;
    bool renew(connection& on, careless_renewal how, const session_id& id) const override;

    // A setting that moves NOW() does not move SYSDATE().
    void confuse_clock(connection& on) const override { on.execute("SET timestamp = 86400"); }

private:
    std::string sql_of(std::string text) const { return filled(std::move(text), prefix_); }

    const std::string backend_;
    const std::string prefix_;
    // MariaDB answers from a cache that is renewed only after 100 ms without a question.
    mutable std::mutex asked_mutex_;
    mutable local_clock::time_point asked_{};
    mutable std::int64_t asked_id_ = 0;
    mutable std::vector<std::int64_t> answer_;
};

std::vector<std::int64_t> mysql_server::waiting_behind(connection& asker, std::int64_t id) const {
    const std::lock_guard guard{asked_mutex_};
    std::string sql =
        "SELECT DISTINCT r.processlist_id FROM performance_schema.data_lock_waits w"
        " JOIN performance_schema.threads r ON r.thread_id = w.requesting_thread_id"
        " JOIN performance_schema.threads b ON b.thread_id = w.blocking_thread_id"
        " WHERE b.processlist_id = ?";
    if (backend_ == "mariadb") {
        const auto age = local_clock::now() - asked_;
        if (age < std::chrono::milliseconds{120} && asked_id_ == id) return answer_;
        sql =
            "SELECT DISTINCT r.trx_mysql_thread_id FROM information_schema.innodb_lock_waits w"
            " JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id"
            " JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id"
            " WHERE b.trx_mysql_thread_id = ?";
    }
    answer_.clear();
    for (const row& each : asker.execute(sql, {id}).rows) answer_.push_back(each.integer(0));
    asked_ = local_clock::now();
    asked_id_ = id;
    return answer_;
}

// An UPDATE at READ COMMITTED reads other tables after it has waited for its row, so a subquery of
// its own does not spring the first two traps; programs do something else that does: they look
// first, and change the rows they found.
bool mysql_server::take(connection& on, careless_take how, const key& name, const session_id& taker)
    const {
    const std::string at_key = " WHERE l.lock_key = " + literal(name.name());
    std::string look = "SELECT 1 INTO @careless";
    std::string test = "@careless = 1";
    switch (how) {
        case careless_take::by_old_snapshot:
            look =
                "SELECT COUNT(*) INTO @careless FROM {lock} l LEFT JOIN {session} s"
                " ON s.id = l.session_id" +
                at_key + " AND (l.owner IS NULL OR s.expires_at <= {now})";
            break;
        case careless_take::by_no_live_session:
            look =
                "SELECT COUNT(*) INTO @careless FROM {lock} l LEFT JOIN {session} s"
                " ON s.id = l.session_id AND s.expires_at > {now}" +
                at_key + " AND s.id IS NULL";
            break;
        case careless_take::by_plain_read:
            test =
                "(l.owner IS NULL OR EXISTS (SELECT 1 FROM {session} s"
                " WHERE s.id = l.session_id AND s.expires_at <= {now}))";
            break;
    }
    const std::string change =
        "UPDATE {lock} l SET l.fence = l.fence + 1, l.owner = " +
        literal(owner_id::random().bytes()) + ", l.session_id = " + literal(taker.bytes()) +
        ", l.node_info = 'thief', l.reentrant_count = 1, l.changed_at = {now}, "
        "l.expires_at = NULL" +
        at_key + " AND " + test;
    const std::string packet = sql_of(look + ";" + change + ";SELECT ROW_COUNT()");
    return on.execute_script(packet).rows.at(0).integer(0) == 1;
}

bool mysql_server::renew(connection& on, careless_renewal how, const session_id& id) const {
    std::string sql =
        "UPDATE {session} SET expires_at = {now} + 3600000000 WHERE id = " + literal(id.bytes());
    if (how == careless_renewal::by_the_time_it_came_in) {
        sql += " AND expires_at > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NOW(6))";
    }
    return on.execute(sql_of(sql)).affected_rows == 1;
}

}  // namespace

std::unique_ptr<server> make_server(const std::string& backend, const std::string& prefix) {
    return std::make_unique<mysql_server>(backend, prefix);
}

}  // namespace leasehold::testing
