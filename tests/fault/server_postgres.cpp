// PostgreSQL as the fault tests see it.
#include "core/hexadecimal.hpp"
#include "fault/server.hpp"

namespace leasehold::testing {
namespace {

std::string literal(const std::string& bytes) {
    return "'\\x" + in_hexadecimal(bytes) + "'::bytea";
}

// A snapshot is one per statement here: that alone springs the first two traps. PostgreSQL tests
// the WHERE of a row again when it had to wait for it, but other tables as they were before.
std::string test_of(careless_take how, const std::string& prefix) {
    const std::string session =
        "SELECT FROM " + prefix + "session s WHERE s.id = l.session_id AND s.expires_at ";
    switch (how) {
        case careless_take::by_old_snapshot:
        case careless_take::by_plain_read:
            return "EXISTS (" + session + "<= clock_timestamp())";
        case careless_take::by_no_live_session:
            return "NOT EXISTS (" + session + "> clock_timestamp())";
    }
    return "";
}

class postgres_server final : public server {
public:
    explicit postgres_server(std::string prefix) : prefix_(std::move(prefix)) {}

    std::int64_t id_of(connection& on) const override {
        return on.execute("SELECT pg_backend_pid()").rows.at(0).integer(0);
    }
    void kill(connection& asker, std::int64_t id) const override {
        asker.execute("SELECT pg_terminate_backend($1::int)", {id});
    }
    bool is_connected(connection& asker, std::int64_t id) const override {
        const char* sql = "SELECT 1 FROM pg_stat_activity WHERE pid = $1::int";
        return !asker.execute(sql, {id}).rows.empty();
    }
    std::vector<std::int64_t> waiting_behind(connection& asker, std::int64_t id) const override {
        const char* sql =
            "SELECT pid FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND $1::int = ANY (pg_blocking_pids(pid))";
        std::vector<std::int64_t> found;
        for (const row& each : asker.execute(sql, {id}).rows) found.push_back(each.integer(0));
        return found;
    }

    std::int64_t now(connection& asker) const override {
        const char* sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        return asker.execute(sql).rows.at(0).integer(0);
    }
    std::int64_t expiry_of(connection& asker, const session_id& id) const override {
        const std::string sql = "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM " +
                                prefix_ + "session WHERE id = " + literal(id.bytes());
        return asker.execute(sql).rows.at(0).integer(0);
    }

    void lock_key_row(connection& inside, const key& name) const override {
        const std::string sql = "SELECT 1 FROM " + prefix_ +
                                "lock WHERE lock_key = " + literal(name.name()) + " FOR UPDATE";
        if (inside.execute(sql).rows.size() != 1) throw std::runtime_error("no such key");
    }
    void lock_session_row(connection& inside, const session_id& id) const override {
        const std::string sql = "SELECT 1 FROM " + prefix_ +
                                "session WHERE id = " + literal(id.bytes()) + " FOR UPDATE";
        if (inside.execute(sql).rows.size() != 1) throw std::runtime_error("no such session");
    }

    void grant_hold(connection& inside, const key& name, const session_id& to) const override {
        const std::string at_key = " WHERE lock_key = " + literal(name.name());
        inside.execute("UPDATE " + prefix_ + "lock SET fence = fence + 1" + at_key);
        inside.execute(
            "INSERT INTO " + prefix_ +
            "holder (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at) "
            "SELECT lock_key, " +
            literal(owner_id::random().bytes()) + ", " + literal(to.bytes()) +
            ", 2, capacity, fence, 'in flight', clock_timestamp() FROM " + prefix_ + "lock" + at_key
        );
    }

    bool take(connection& on, careless_take how, const key& name, const session_id& taker)
        const override {
        const std::string sql =
            "UPDATE " + prefix_ +
            "lock AS l SET fence = fence + 1, owner = " + literal(owner_id::random().bytes()) +
            ", session_id = " + literal(taker.bytes()) +
            ", node_info = 'thief', reentrant_count = 1, changed_at = clock_timestamp(), "
            "expires_at = NULL WHERE lock_key = " +
            literal(name.name()) + " AND (owner IS NULL OR " + test_of(how, prefix_) + ")";
        return on.execute(sql).affected_rows == 1;
    }
    // clock_timestamp() looks fresh, and is not: an UPDATE that waited behind a mere lock, without
    // a newer version of the row, goes on with what it found before.
    bool renew(connection& on, careless_renewal how, const session_id& id) const override {
        std::string sql = "UPDATE " + prefix_ +
                          "session SET expires_at = clock_timestamp() + interval '1 hour' "
                          "WHERE id = " +
                          literal(id.bytes());
        if (how == careless_renewal::by_the_time_it_came_in) {
            sql += " AND expires_at > clock_timestamp()";
        }
        return on.execute(sql).affected_rows == 1;
    }

    void confuse_clock(connection& on) const override {
        on.execute("SET TimeZone = 'Pacific/Kiritimati'");
        on.execute("SET DateStyle = 'SQL, DMY'");
        on.execute("SET IntervalStyle = 'sql_standard'");
    }

private:
    const std::string prefix_;
};

}  // namespace

std::unique_ptr<server> make_server(const std::string&, const std::string& prefix) {
    return std::make_unique<postgres_server>(prefix);
}

}  // namespace leasehold::testing
