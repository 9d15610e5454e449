// Words on a hold, requests to let go, and moving it, on PostgreSQL. The rules of lock_store.cpp.
#include <algorithm>

#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/custody_store.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 key, $2 owner, $3 token, $4 words or null. Waits for proofs of this hold; owner and fence are
// tested on the version that is changed. Losing it in a crash loses words only.
constexpr std::string_view set_words_sql = R"sql(
UPDATE {prefix}lock SET metadata = $4::text
 WHERE lock_key = $1 AND owner = $2 AND fence = $3
RETURNING fence)sql";

// $1 key. One snapshot, by the clock. A missing session row counts as alive.
constexpr std::string_view look_sql = R"sql(
SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
           * 1000000)::bigint,
       l.metadata
  FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
 WHERE l.lock_key = $1 AND l.owner IS NOT NULL
   AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
   AND (s.id IS NULL OR s.expires_at > clock_timestamp()))sql";

// $1 key. The same columns. As force_release of lock_store.cpp: `locked` waits for proofs, `dead`
// is the proof of death read after that wait, `told` waits for a heartbeat in flight at most.
constexpr std::string_view request_revoke_sql = R"sql(
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
           l.changed_at, l.expires_at, l.metadata
      FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key = $1 AND l.owner IS NOT NULL
       AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp())
       AND (s.id IS NULL OR s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
), dead AS MATERIALIZED (
    SELECT s.id
      FROM locked JOIN {prefix}session s ON s.id = locked.session_id
     WHERE s.expires_at <= clock_timestamp()
       FOR SHARE OF s SKIP LOCKED
), asked AS (
    UPDATE {prefix}lock AS l
       SET revocations = l.revocations + 1
      FROM locked
     WHERE l.lock_key = locked.lock_key
       AND (locked.expires_at IS NULL OR locked.expires_at > clock_timestamp())
       AND NOT EXISTS (SELECT FROM dead)
    RETURNING l.lock_key
), told AS (
    UPDATE {prefix}session AS s
       SET notices = s.notices + 1
      FROM locked, asked
     WHERE s.id = locked.session_id
)
SELECT l.lock_key, l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count,
       (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
           * 1000000)::bigint,
       l.metadata
  FROM locked l CROSS JOIN asked LEFT JOIN {prefix}session s ON s.id = l.session_id)sql";

// $1 key, $2 owner, $3 token, $4 term in microseconds. As reenter of lock_store.cpp: waits for a
// proof, then reads the clock. The session is the caller's own.
constexpr std::string_view give_term_sql = R"sql(
WITH locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM {prefix}session s
                    WHERE s.id = l.session_id AND s.expires_at > statement_timestamp())
       FOR NO KEY UPDATE OF l
)
UPDATE {prefix}lock AS l
   SET session_id = NULL, expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
  FROM locked
 WHERE l.lock_key = locked.lock_key AND l.owner = $2 AND l.fence = locked.fence
RETURNING l.fence, {durable})sql";

// $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info.
//
// me, live: why the time the statement came in, see `me` of try_acquire_sql in lock_store.cpp. A
//           hold that runs out while this waits for a proof is moved nonetheless: nobody else can
//           have been granted the key while owner and fence are the same. A session row that is
//           gone is no sign of life here: what it held is not adopted.
// locked:   evaluated again on the newest version where it waited for a change, so that of two
//           adopters the second finds the session of the first.
constexpr std::string_view adopt_sql = R"sql(
WITH me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $5 AND expires_at > statement_timestamp()
), live AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $4::bytea AND expires_at > statement_timestamp()
), locked AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       AND EXISTS (SELECT FROM me)
       AND (l.session_id = $5
            OR (l.session_id = $4::bytea AND EXISTS (SELECT FROM live))
            OR ($4::bytea IS NULL AND l.expires_at > clock_timestamp()))
       FOR NO KEY UPDATE OF l
), reached AS MATERIALIZED (
    SELECT lock_key, fence, clock_timestamp() AS instant FROM locked
), moved AS (
    UPDATE {prefix}lock AS l
       SET session_id = $5, expires_at = NULL, node_info = $6
      FROM reached
     WHERE l.lock_key = reached.lock_key AND l.owner = $2 AND l.fence = reached.fence
       AND (l.expires_at IS NULL OR l.expires_at > reached.instant)
    RETURNING l.fence, {durable}
)
SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM me))sql";

lock_info live_info_of(const row& from) {
    lock_info info;
    info.key = from.bytes(0);
    info.token.number = from.integer(1);
    info.is_held = true;
    info.owner = identity::from_bytes(from.bytes(2));
    if (!from.is_null(3)) info.session = identity::from_bytes(from.bytes(3));
    info.node_info = from.text(4);
    info.reentrant_count = from.integer(5);
    const auto not_negative = [&](std::size_t at) {
        return std::chrono::microseconds{
            from.is_null(at) ? 0 : std::max(std::int64_t{0}, from.integer(at))};
    };
    info.held_for = not_negative(6);
    info.remaining = not_negative(7);
    return info;
}

class postgres_custody_store final : public custody_store {
public:
    explicit postgres_custody_store(const table_names& names)
        : set_words_(fill_in(set_words_sql, names)),
          look_(fill_in(look_sql, names)),
          request_revoke_(fill_in(request_revoke_sql, names)),
          give_term_(fill_in(give_term_sql, names)),
          adopt_(fill_in(adopt_sql, names)) {}

    bool set_words(connection& on, const hold& held, const std::optional<std::string>& words)
        override {
        parameters values = values_of(held);
        values.push_back(words ? value{*words} : value{});
        return !on.execute(set_words_, values).rows.empty();
    }

    std::optional<custody> look(connection& on, const key& name) override {
        const result found = on.execute(look_, {bytes_of(name.name())});
        if (found.rows.empty()) return std::nullopt;
        const row& first = found.rows[0];
        custody seen{live_info_of(first), std::nullopt};
        if (!first.is_null(8)) seen.words = first.text(8);
        return seen;
    }

    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        const result asked = on.execute(request_revoke_, {bytes_of(name.name())});
        if (asked.rows.empty()) return std::nullopt;
        return live_info_of(asked.rows[0]);
    }

    bool give_term(connection& on, const hold& held, std::chrono::microseconds hold_at_most)
        override {
        parameters values = values_of(held);
        values.push_back(microseconds_of(hold_at_most));
        return !on.execute(give_term_, values).rows.empty();
    }

    adopt_status adopt(connection& on, const adoption& wanted) override {
        parameters values = values_of(wanted.hold);
        values.push_back(wanted.from ? bytes_of(*wanted.from) : value{});
        values.push_back(bytes_of(wanted.to));
        values.push_back(wanted.node_info);
        const row answer = on.execute(adopt_, values).rows.at(0);
        if (answer.integer(0) == 1) return adopt_status::adopted;
        return answer.integer(1) == 0 ? adopt_status::session_ended : adopt_status::gone;
    }

private:
    static parameters values_of(const hold& held) {
        return {bytes_of(held.key.name()), bytes_of(held.owner), value{held.token.number}};
    }

    const std::string set_words_;
    const std::string look_;
    const std::string request_revoke_;
    const std::string give_term_;
    const std::string adopt_;
};

}  // namespace

std::unique_ptr<custody_store> make_custody_store(const table_names& names) {
    return std::make_unique<postgres_custody_store>(names);
}

}  // namespace leasehold::postgres_dialect
