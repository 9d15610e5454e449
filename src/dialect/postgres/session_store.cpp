// Sessions on PostgreSQL. The rules these statements follow: lock_store.cpp.
#include <string>
#include <vector>

#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/session_store.hpp"

namespace leasehold::postgres_dialect {
namespace {

// synchronous_commit is not asked for: each statement that needs a durable commit sees to it.
// transaction_isolation is that of this very statement, so it shows what the driver really does.
constexpr std::string_view environment_sql = R"sql(
SELECT pg_is_in_recovery(),
       current_setting('transaction_read_only'),
       current_setting('transaction_isolation'),
       current_setting('fsync'),
       current_setting('full_page_writes'))sql";

// $1 id, $2 node_info, $3 ttl. A repeated start waits for the first one, if that is still under
// way, and then finds its row; the clock is read again after the wait. A first one that comes after
// its session has ended revives nothing.
constexpr std::string_view start_sql = R"sql(
INSERT INTO {prefix}session AS s (id, node_info, started_at, heartbeat_at, expires_at, notices)
VALUES ($1, $2, clock_timestamp(), clock_timestamp(),
        clock_timestamp() + $3::bigint * interval '1 microsecond', 0)
ON CONFLICT (id) DO UPDATE
   SET heartbeat_at = clock_timestamp(),
       expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
 WHERE s.expires_at > clock_timestamp()
RETURNING {durable})sql";

// A server is another one after each start. Its timeline adds nothing: who is promoted to another
// one was started at another time, and its functions are not everywhere for everybody to call.
#define POSTMASTER_START \
    "to_hex((extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint)"

// $1 id, $2 ttl, $3 notices, $4 incarnation.
//
// mine:    waits for whoever has the row (a taker who proves it dead, a forced release), then
//          tests its newest version; without a match nothing is locked or written.
// reached: reads the clock after that wait. An UPDATE alone would not: behind a mere lock it goes
//          on with what it found and computed before the wait (rule 2), and revive the dead.
// Indexes: session_pkey. A HOT update, since no index has the changed columns.
constexpr std::string_view heartbeat_sql = R"sql(
WITH mine AS MATERIALIZED (
    SELECT s.id
      FROM {prefix}session s
     WHERE s.id = $1 AND s.notices = $3 AND s.expires_at > clock_timestamp()
       AND $4::text IN ('', )sql" POSTMASTER_START R"sql()
       FOR NO KEY UPDATE OF s
), reached AS MATERIALIZED (
    SELECT id, clock_timestamp() AS instant FROM mine
)
UPDATE {prefix}session AS s
   SET heartbeat_at = reached.instant,
       expires_at = reached.instant + $2::bigint * interval '1 microsecond'
  FROM reached
 WHERE s.id = reached.id AND s.notices = $3 AND s.expires_at > reached.instant
RETURNING s.notices, {durable})sql";

// $1 id. Sent only when the heartbeat changed nothing.
constexpr std::string_view look_sql = R"sql(
SELECT notices, )sql" POSTMASTER_START R"sql(
  FROM {prefix}session WHERE id = $1 AND expires_at > clock_timestamp())sql";

// $1 id. A session that expired by itself keeps its instant, for whoever reads the list.
constexpr std::string_view end_sql = R"sql(
UPDATE {prefix}session SET expires_at = clock_timestamp()
 WHERE id = $1 AND expires_at > clock_timestamp())sql";

// $1 id, $2 keys, $3 owners, $4 tickets: the same number of each.
//
// kept:    one snapshot. What a release that this server has forgotten left behind is in it, and
//          nothing comes after it: no request of this session is under way, and a waiter that could
//          be handed a key is found as a waiter.
// removed: the row of one that is live; the other one is for the reaper, which frees what it held
//          first. Each of the two waits for who has the row (a taker, a forced release).
// Indexes: session_pkey, and the primary keys of the others, once per entry: each is asked for in a
// LATERAL query, which cannot become a join that reads a table. Reads: 3 rows for each, and 2.
constexpr std::string_view remove_sql = R"sql(
WITH last_had AS MATERIALIZED (
    SELECT a.lock_key, a.owner, a.ticket
      FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS a (lock_key, owner, ticket)
), kept AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT l.session_id FROM {prefix}lock l
                        WHERE l.lock_key = a.lock_key LIMIT 1) AS one
                    WHERE one.session_id = $1)
        OR EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT h.session_id FROM {prefix}holder h
                        WHERE h.lock_key = a.lock_key AND h.owner = a.owner LIMIT 1) AS one
                    WHERE one.session_id = $1)
        OR EXISTS (SELECT FROM last_had a CROSS JOIN LATERAL (
                       SELECT w.session_id FROM {prefix}waiter w
                        WHERE w.lock_key = a.lock_key AND w.ticket = a.ticket LIMIT 1) AS one
                    WHERE one.session_id = $1) AS is_so
), removed AS (
    DELETE FROM {prefix}session AS s
     USING kept
     WHERE s.id = $1 AND s.expires_at > clock_timestamp() AND NOT kept.is_so
)
UPDATE {prefix}session AS s
   SET expires_at = clock_timestamp()
  FROM kept
 WHERE s.id = $1 AND s.expires_at > clock_timestamp() AND kept.is_so)sql";

// One snapshot. There are as many rows as processes: read whole and sorted. Reads: 1 row for each.
constexpr std::string_view list_sql = R"sql(
SELECT id, node_info,
       (extract(epoch FROM clock_timestamp() - started_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000000)::bigint,
       (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
  FROM {prefix}session
 ORDER BY started_at, id)sql";

// The text of an array of bytea, or of numbers.
template <class Element>
std::string array_of(const std::vector<waiting>& from, Element&& element) {
    std::string text = "{";
    for (const waiting& each : from) {
        if (text.size() > 1) text += ',';
        text += element(each);
    }
    return text + "}";
}

std::string hexadecimal(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "\"\\\\x";  // a quoted element, in which the backslash is escaped
    for (const char each : bytes) {
        const auto byte = static_cast<unsigned char>(each);
        text += digits[byte / 16];
        text += digits[byte % 16];
    }
    return text + '"';
}

class postgres_session_store final : public session_store {
public:
    explicit postgres_session_store(const table_names& names)
        : start_(fill_in(start_sql, names)),
          heartbeat_(fill_in(heartbeat_sql, names)),
          look_(fill_in(look_sql, names)),
          end_(fill_in(end_sql, names)),
          remove_(fill_in(remove_sql, names)),
          list_(fill_in(list_sql, names)) {}

    std::string environment_problem(connection& on) override {
        constexpr int version_min = 130000;
        const server_info& server = on.server();
        if (server.version != 0 && server.version < version_min) {
            return "PostgreSQL " + server.version_text + " is too old: use 13 or newer";
        }
        const row found = on.execute(environment_sql).rows.at(0);
        if (found.integer(0) != 0) {
            return "this PostgreSQL server is a read-only replica: connect to the primary "
                   "(target_session_attrs=read-write finds it)";
        }
        if (found.text(1) != "off") {
            return "transactions are read-only here: set default_transaction_read_only = off for "
                   "this user or database";
        }
        if (found.text(2) != "read committed") {
            return "statements run at " + found.text(2) +
                   " here, and locks need read committed: set default_transaction_isolation in "
                   "the connections that are handed to leasehold";
        }
        for (const auto& [column, setting] : {std::pair{3, "fsync"}, {4, "full_page_writes"}}) {
            if (found.text(static_cast<std::size_t>(column)) != "on") {
                return std::string{"PostgreSQL runs with "} + setting +
                       " = off: after a crash, grants may be forgotten and tokens given twice; "
                       "turn it on";
            }
        }
        return {};
    }

    bool start(connection& on, const session_start& session) override {
        const parameters values{
            bytes_of(session.id), session.node_info, microseconds_of(session.ttl)};
        return on.execute(start_, values).affected_rows > 0;
    }

    heartbeat_result heartbeat(
        connection& on,
        const session_id& id,
        std::chrono::microseconds ttl,
        const session_news& known
    ) override {
        const parameters values{
            bytes_of(id), microseconds_of(ttl), value{known.notices}, known.incarnation};
        const result renewed = on.execute(heartbeat_, values);
        if (!renewed.rows.empty()) return {heartbeat_status::renewed};
        const result found = on.execute(look_, {bytes_of(id)});
        if (found.rows.empty()) return {heartbeat_status::ended};
        return {heartbeat_status::noticed, {found.rows[0].integer(0), found.rows[0].text(1)}};
    }

    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiting>>& remove_unless
    ) override {
        if (!remove_unless) {
            on.execute(end_, {bytes_of(id)});
            return;
        }
        const auto key_of = [](const waiting& each) { return hexadecimal(each.key.name()); };
        const auto owner_of = [](const waiting& each) { return hexadecimal(each.owner.bytes()); };
        const auto ticket_of = [](const waiting& each) { return std::to_string(each.ticket); };
        on.execute(
            remove_,
            {bytes_of(id),
             array_of(*remove_unless, key_of),
             array_of(*remove_unless, owner_of),
             array_of(*remove_unless, ticket_of)}
        );
    }

    std::vector<session_info> list(connection& on) override {
        const result found = on.execute(list_);
        std::vector<session_info> sessions;
        sessions.reserve(found.rows.size());
        for (const row& each : found.rows) {
            session_info info;
            info.id = identity::from_bytes(each.bytes(0));
            info.node_info = each.text(1);
            info.started_ago = std::chrono::microseconds{each.integer(2)};
            info.heartbeat_ago = std::chrono::microseconds{each.integer(3)};
            info.remaining = std::chrono::microseconds{each.integer(4)};
            info.is_live = info.remaining.count() > 0;
            sessions.push_back(std::move(info));
        }
        return sessions;
    }

private:
    const std::string start_;
    const std::string heartbeat_;
    const std::string look_;
    const std::string end_;
    const std::string remove_;
    const std::string list_;
};

}  // namespace

std::unique_ptr<session_store> make_session_store(const table_names& names) {
    return std::make_unique<postgres_session_store>(names);
}

}  // namespace leasehold::postgres_dialect
