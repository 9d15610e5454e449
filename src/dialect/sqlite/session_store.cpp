// SQLite: sessions. ?1 is always the clock, read after the write lock was taken.
#include <algorithm>

#include "dialect/sqlite/stores.hpp"
#include "store/session_store.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// Asked again after a lost answer: the row is there, and its life starts now. A first attempt that
// arrives after its session has ended revives nothing.
constexpr std::string_view start_sql = R"sql(
INSERT INTO {prefix}session (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES (?2, ?3, ?1, ?1, ?1 + ?4, 0)
ON CONFLICT (id) DO UPDATE SET heartbeat_at = ?1, expires_at = ?1 + ?4
 WHERE expires_at > ?1)sql";

// Never revives: the row must not have expired by a clock read after any wait for the write lock.
constexpr std::string_view heartbeat_sql = R"sql(
UPDATE {prefix}session SET heartbeat_at = ?1, expires_at = ?1 + ?3
 WHERE id = ?2 AND expires_at > ?1 AND notices = ?4
   AND ?5 IN ('', (SELECT CAST(schema_version AS TEXT) FROM pragma_schema_version)))sql";

// There is no server that could start. Who puts other contents into the file that is open, as the
// backup interface does, moves the number of its schema on; a migration does so too, which costs a
// look. A session dies with its boot.
constexpr std::string_view news_sql = R"sql(
SELECT notices, (SELECT CAST(schema_version AS TEXT) FROM pragma_schema_version)
  FROM {prefix}session WHERE id = ?2 AND expires_at > ?1)sql";

constexpr std::string_view expire_sql =
    "UPDATE {prefix}session SET expires_at = ?1 WHERE id = ?2 AND expires_at > ?1";

// One of these rows names the session: ?1 id, ?2 key, ?3 owner, ?4 ticket. Reads: 3 rows.
constexpr std::string_view refers_sql = R"sql(
SELECT 1 FROM {prefix}lock WHERE lock_key = ?2 AND session_id = ?1
UNION ALL SELECT 1 FROM {prefix}holder WHERE lock_key = ?2 AND owner = ?3 AND session_id = ?1
UNION ALL SELECT 1 FROM {prefix}waiter WHERE lock_key = ?2 AND ticket = ?4 AND session_id = ?1
LIMIT 1)sql";

constexpr std::string_view remove_sql =
    "DELETE FROM {prefix}session WHERE id = ?2 AND expires_at > ?1";

// There are as many rows as processes: read whole and sorted. Reads: 1 row for each.
constexpr std::string_view list_sql = R"sql(
SELECT id, node_info, ?1 - started_at, ?1 - heartbeat_at, expires_at - ?1
  FROM {prefix}session
 WHERE (SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?2
 ORDER BY started_at, id)sql";

class sqlite_session_store final : public session_store {
public:
    sqlite_session_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          start_(fill_in(start_sql, names)),
          heartbeat_(fill_in(heartbeat_sql, names)),
          news_(fill_in(news_sql, names)),
          refers_(fill_in(refers_sql, names)),
          expire_(fill_in(expire_sql, names)),
          remove_(fill_in(remove_sql, names)),
          list_(fill_in(list_sql, names)) {}

    std::string environment_problem(connection& on) override {
        constexpr int wal_reset_fixed_in = 35103;
        if (on.server().version >= wal_reset_fixed_in) return "";
        return "SQLite " + on.server().version_text +
               " can, rarely, corrupt a database that several processes write (fixed in 3.51.3): "
               "upgrade it where the file holds more than locks";
    }

    bool start(connection& on, const session_start& session) override {
        write_transaction writing{on};
        boot_->enter_inside(on);
        const result answer = on.execute(
            start_,
            {boot_clock::now_microseconds(),
             blob{session.id.bytes()},
             session.node_info,
             session.ttl.count()}
        );
        writing.commit();
        boot_->note_entered();
        return answer.affected_rows > 0;
    }

    heartbeat_result heartbeat(
        connection& on, const session_id& id, microseconds ttl, const session_news& known
    ) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto now = boot_clock::now_microseconds();
        const parameters values{
            now, blob{id.bytes()}, ttl.count(), known.notices, known.incarnation};
        if (on.execute(heartbeat_, values).affected_rows == 1) {
            writing.commit();
            return {heartbeat_status::renewed};
        }
        const auto found = on.execute(news_, {now, blob{id.bytes()}});
        if (found.rows.empty()) return {heartbeat_status::ended};
        return {heartbeat_status::noticed, {found.rows[0].integer(0), found.rows[0].text(1)}};
    }

    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiting>>& remove_unless
    ) override {
        boot_->enter(on);
        write_transaction writing{on};
        const bool is_removed = remove_unless && !is_referred_to(on, id, *remove_unless);
        on.execute(
            is_removed ? remove_ : expire_, {boot_clock::now_microseconds(), blob{id.bytes()}}
        );
        writing.commit();
    }

    std::vector<session_info> list(connection& on) override {
        const auto found = on.execute(list_, {boot_clock::now_microseconds(), boot_->boot_id()});
        std::vector<session_info> sessions;
        for (const row& each : found.rows) {
            session_info info;
            info.id = identity::from_bytes(each.bytes(0));
            info.node_info = each.text(1);
            info.started_ago = microseconds{each.integer(2)};
            info.heartbeat_ago = microseconds{each.integer(3)};
            info.remaining = microseconds{each.integer(4)};
            info.is_live = info.remaining > microseconds{0};
            sessions.push_back(std::move(info));
        }
        return sessions;
    }

private:
    bool is_referred_to(connection& on, const session_id& id, const std::vector<waiting>& by_any_of)
        const {
        return std::any_of(by_any_of.begin(), by_any_of.end(), [&](const waiting& each) {
            const parameters values{
                blob{id.bytes()}, blob{each.key.name()}, blob{each.owner.bytes()}, each.ticket};
            return !on.execute(refers_, values).rows.empty();
        });
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string start_;
    const std::string heartbeat_;
    const std::string news_;
    const std::string refers_;
    const std::string expire_;
    const std::string remove_;
    const std::string list_;
};

}  // namespace

std::unique_ptr<session_store> make_session_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_session_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
