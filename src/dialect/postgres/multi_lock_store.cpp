// Several keys at once on PostgreSQL. The rules of lock_store.cpp, and one more:
// 4. Lock rows that may be waited for are locked in the order of their keys, by a locking read of
//    its own whose sort is below the lock. Whoever holds some of them waits only for greater ones,
//    so that no two of these can wait for each other in a circle.
//
// Rows of keys never seen are made first, free, by a statement of its own: what was inserted in a
// statement cannot be undone by it when another key turns out to be busy.
#include <algorithm>
#include <utility>

#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/multi_lock_store.hpp"

namespace leasehold::postgres_dialect {
namespace {

// {keys}: a list of rows (number, key); {list}: the keys alone; {size}: how many. $1 owner,
// $2 session, $3 node_info, $4 term in microseconds or null, the keys from $5 on.
//
// me, dead, passed: as in try_acquire_sql of lock_store.cpp.
// seen:   the snapshot: which keys are known, of which kind, and who holds them.
// go:     one row where every key is known, a mutex, and free or held by somebody who looks dead;
//         nothing below locks or writes without it. The proofs come later.
// free:   locks the free ones in order. Waits only for somebody who is taking or reaping the same
//         free row at this moment, and then tests the newest version.
// dead, passed: only once `free` has all that looked free, so that nothing is waited for while a
//         session row is held; what is locked is skipped.
// taken:  all or nothing: the rows are locked by now, so that none can change any more. The fence
//         is counted on the version that is changed.
constexpr std::string_view try_acquire_all_sql = R"sql(
WITH asked (number, lock_key) AS MATERIALIZED (
    VALUES {keys}
), me AS MATERIALIZED (
    SELECT id FROM {prefix}session WHERE id = $2 AND expires_at > statement_timestamp()
), seen AS MATERIALIZED (
    SELECT asked.number, l.lock_key, l.fence, l.owner, l.session_id, l.node_info,
           l.reentrant_count, l.kind,
           (extract(epoch FROM clock_timestamp() - l.changed_at) * 1000000)::bigint AS held_for,
           (extract(epoch FROM coalesce(l.expires_at, s.expires_at) - clock_timestamp())
               * 1000000)::bigint AS remaining,
           l.owner IS NULL AS is_free,
           coalesce(coalesce(l.expires_at, s.expires_at) + l.lock_delay * interval '1 microsecond'
                        <= clock_timestamp(), false) AS looks_dead
      FROM asked
      LEFT JOIN {prefix}lock l ON l.lock_key = asked.lock_key
      LEFT JOIN {prefix}session s ON s.id = l.session_id
), go AS MATERIALIZED (
    SELECT 1 FROM me
     WHERE NOT EXISTS (SELECT FROM seen
                        WHERE lock_key IS NULL OR kind <> 1 OR NOT (is_free OR looks_dead))
), free AS MATERIALIZED (
    SELECT l.lock_key
      FROM {prefix}lock l
     WHERE l.lock_key IN ({list}) AND l.owner IS NULL AND l.kind = 1 AND EXISTS (SELECT FROM go)
     ORDER BY l.lock_key
       FOR NO KEY UPDATE OF l
), enough AS MATERIALIZED (
    SELECT 1 FROM go
     WHERE (SELECT count(*) FROM free) = (SELECT count(*) FROM seen WHERE is_free)
), dead AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l JOIN {prefix}session s ON s.id = l.session_id
     WHERE l.lock_key IN ({list})
       AND s.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
       AND EXISTS (SELECT FROM enough)
       FOR SHARE OF s SKIP LOCKED
       FOR NO KEY UPDATE OF l SKIP LOCKED
), passed AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.lock_key IN ({list})
       AND l.expires_at + l.lock_delay * interval '1 microsecond' <= clock_timestamp()
       AND EXISTS (SELECT FROM enough)
       FOR NO KEY UPDATE OF l SKIP LOCKED
), taken AS (
    UPDATE {prefix}lock AS l
       SET fence = l.fence + 1, owner = $1,
           session_id = CASE WHEN $4::bigint IS NULL THEN $2::bytea END,
           node_info = $3, reentrant_count = 1, changed_at = clock_timestamp(),
           expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond',
           lock_delay = 0, revocations = 0, metadata = NULL
     WHERE l.lock_key IN ({list}) AND l.kind = 1
       AND (SELECT count(*) FROM enough) = 1
       AND (SELECT count(*) FROM free) + (SELECT count(*) FROM dead)
               + (SELECT count(*) FROM passed) = {size}
    RETURNING l.lock_key, l.fence, {durable}
)
SELECT taken.fence, (SELECT count(*) FROM me), seen.lock_key, seen.kind, seen.looks_dead,
       seen.fence, seen.owner, seen.session_id, seen.node_info, seen.reentrant_count,
       seen.held_for, seen.remaining
  FROM seen LEFT JOIN taken ON taken.lock_key = seen.lock_key
 ORDER BY seen.number)sql";

// {keys}: the keys from $1 on. Free rows for those never seen, in order, above the mark; see `mark`
// and `made` of try_acquire_sql in lock_store.cpp. Where another makes the same row at this moment
// its commit is waited for, and nothing is made.
constexpr std::string_view add_keys_sql = R"sql(
WITH asked (number, lock_key) AS MATERIALIZED (
    VALUES {keys}
), mark AS MATERIALIZED (
    SELECT m.fence FROM {prefix}fence_mark m WHERE m.id = 1 FOR SHARE
)
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at)
SELECT asked.lock_key, mark.fence + 1, NULL, NULL, '', 0, clock_timestamp(), NULL
  FROM asked CROSS JOIN mark
 WHERE NOT EXISTS (SELECT FROM {prefix}lock l WHERE l.lock_key = asked.lock_key)
 ORDER BY asked.lock_key
ON CONFLICT (lock_key) DO NOTHING)sql";

// {keys}: key and token from $2 on; $1 owner. Plain reads.
constexpr std::string_view find_grants_sql = R"sql(
SELECT l.fence
  FROM (VALUES {keys}) AS asked (number, lock_key)
  JOIN {prefix}lock l ON l.lock_key = asked.lock_key AND l.owner = $1
 ORDER BY asked.number)sql";

// {keys}: number, key and token from $2 on; $1 owner. The locks of prove_sql in lock_store.cpp.
constexpr std::string_view prove_all_sql = R"sql(
SELECT l.fence
  FROM {prefix}lock l
 WHERE l.owner = $1 AND (l.lock_key, l.fence) IN (VALUES {keys})
 ORDER BY l.lock_key
   FOR SHARE OF l)sql";

// The same list. Waits for proofs in the order of the keys; whatever it waited for, owner, fence
// and queue are tested on the version that is changed. Asynchronous, as release of lock_store.cpp.
constexpr std::string_view release_all_sql = R"sql(
WITH ours AS MATERIALIZED (
    SELECT l.lock_key, l.fence
      FROM {prefix}lock l
     WHERE l.owner = $1 AND (l.lock_key, l.fence) IN (VALUES {keys})
     ORDER BY l.lock_key
       FOR NO KEY UPDATE OF l
), freed AS (
    UPDATE {prefix}lock AS l
       SET reentrant_count = 0, owner = NULL, session_id = NULL, expires_at = NULL,
           changed_at = clock_timestamp()
      FROM ours
     WHERE l.lock_key = ours.lock_key AND l.owner = $1 AND l.fence = ours.fence
       AND l.last_ticket = 0
    RETURNING l.lock_key, set_config('synchronous_commit', 'off', true)
)
SELECT ours.lock_key, ours.fence, freed.lock_key IS NOT NULL
  FROM ours LEFT JOIN freed ON freed.lock_key = ours.lock_key)sql";

std::string replaced(std::string_view text, std::string_view word, const std::string& by) {
    std::string filled{text};
    for (auto at = filled.find(word); at != std::string::npos; at = filled.find(word, at)) {
        filled.replace(at, word.size(), by);
        at += by.size();
    }
    return filled;
}

// "(0, $5::bytea), (1, $6::bytea)"
std::string numbered_keys(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "(" : ", (") + std::to_string(number) + ", $" +
                std::to_string(first + number) + "::bytea)";
    }
    return list;
}

// "$5::bytea, $6::bytea"
std::string placeholders(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "$" : ", $") + std::to_string(first + number) + "::bytea";
    }
    return list;
}

// "($2::bytea, $3::bigint), ($4::bytea, $5::bigint)"
std::string keys_with_tokens(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "($" : ", ($") + std::to_string(first + 2 * number) + "::bytea, $" +
                std::to_string(first + 2 * number + 1) + "::bigint)";
    }
    return list;
}

lock_info holder_of(const row& from) {
    lock_info holder;
    holder.key = from.bytes(2);
    holder.token.number = from.integer(5);
    holder.is_held = true;
    holder.owner = identity::from_bytes(from.bytes(6));
    if (!from.is_null(7)) holder.session = identity::from_bytes(from.bytes(7));
    holder.node_info = from.text(8);
    holder.reentrant_count = from.integer(9);
    const auto not_negative = [&](std::size_t at) {
        return std::chrono::microseconds{
            from.is_null(at) ? 0 : std::max(std::int64_t{0}, from.integer(at))};
    };
    holder.held_for = not_negative(10);
    holder.remaining = not_negative(11);
    return holder;
}

class postgres_multi_lock_store final : public multi_lock_store {
public:
    explicit postgres_multi_lock_store(const table_names& names)
        : try_acquire_all_(fill_in(try_acquire_all_sql, names)),
          add_keys_(fill_in(add_keys_sql, names)),
          find_grants_(fill_in(find_grants_sql, names)),
          prove_all_(fill_in(prove_all_sql, names)),
          release_all_(fill_in(release_all_sql, names)) {}

    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        const std::size_t size = wanted.keys.size();
        parameters values{
            bytes_of(wanted.owner),
            bytes_of(wanted.session),
            wanted.node_info,
            wanted.hold_at_most ? microseconds_of(*wanted.hold_at_most) : value{}};
        for (const key& each : wanted.keys) values.push_back(bytes_of(each.name()));
        const std::string ask = replaced(
            replaced(
                replaced(try_acquire_all_, "{keys}", numbered_keys(size, 5)),
                "{list}",
                placeholders(size, 5)
            ),
            "{size}",
            std::to_string(size)
        );
        // Takeable in our snapshot and yet not ours: somebody else was there first. Looking again
        // finds out, and each time somebody has got on.
        constexpr int looks_max = 3;
        for (int look = 1; look <= looks_max; ++look) {
            const std::vector<row> rows = on.execute(ask, values).rows;
            if (auto answer = verdict(rows, wanted)) return *answer;
            const bool is_one_unknown = std::any_of(rows.begin(), rows.end(), [](const row& each) {
                return each.is_null(2);
            });
            if (is_one_unknown) add_keys(on, wanted.keys);
        }
        return {};
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        parameters values{bytes_of(owner)};
        for (const key& each : keys) values.push_back(bytes_of(each.name()));
        const result found =
            on.execute(replaced(find_grants_, "{keys}", numbered_keys(keys.size(), 2)), values);
        if (found.rows.size() != keys.size()) return std::nullopt;
        std::vector<fencing_token> tokens;
        for (const row& each : found.rows) tokens.push_back({each.integer(0)});
        return tokens;
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        const std::string ask = replaced(prove_all_, "{keys}", keys_with_tokens(held.size(), 2));
        return inside.execute(ask, values_of(held)).rows.size() == held.size();
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        const std::string ask = replaced(release_all_, "{keys}", keys_with_tokens(held.size(), 2));
        release_all_result done;
        for (const row& each : on.execute(ask, values_of(held)).rows) {
            if (each.integer(2) != 0) {
                ++done.released;
            } else {
                done.awaited.push_back(
                    {key{each.bytes(0)}, held.front().owner, fencing_token{each.integer(1)}}
                );
            }
        }
        return done;
    }

private:
    // Nothing where it is worth another look.
    static std::optional<acquire_all_result> verdict(
        const std::vector<row>& rows, const acquire_all_request& wanted
    ) {
        acquire_all_result answer;
        if (rows.at(0).integer(1) == 0) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        for (const row& each : rows) {
            if (!each.is_null(0)) answer.tokens.push_back({each.integer(0)});
        }
        if (answer.tokens.size() == wanted.keys.size()) {
            answer.status = acquire_all_status::granted;
            return answer;
        }
        const row* in_the_way = nullptr;
        bool is_one_unknown = false;
        for (const row& each : rows) {
            if (each.is_null(2)) {
                is_one_unknown = true;
                continue;
            }
            if (each.integer(3) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(each.integer(3));
                answer.misused.emplace(each.bytes(2));
                return answer;
            }
            const bool is_free = each.is_null(6);
            const bool looks_dead = each.integer(4) != 0;
            // The dead are in the way only where their death could not be proved just now.
            if (is_free || (looks_dead && in_the_way)) continue;
            if (!in_the_way || in_the_way->integer(4) != 0) in_the_way = &each;
        }
        const bool is_dead_at_most = !in_the_way || in_the_way->integer(4) != 0;
        if (!in_the_way || (is_one_unknown && is_dead_at_most)) return std::nullopt;
        const bool is_live = in_the_way->is_null(11) || in_the_way->integer(11) > 0;
        if (is_live) answer.holder = holder_of(*in_the_way);
        return answer;
    }

    void add_keys(connection& on, const std::vector<key>& keys) const {
        parameters values;
        for (const key& each : keys) values.push_back(bytes_of(each.name()));
        on.execute(replaced(add_keys_, "{keys}", numbered_keys(keys.size(), 1)), values);
    }

    static parameters values_of(const std::vector<hold>& held) {
        parameters values{bytes_of(held.front().owner)};
        for (const hold& each : held) {
            values.push_back(bytes_of(each.key.name()));
            values.emplace_back(each.token.number);
        }
        return values;
    }

    const std::string try_acquire_all_;
    const std::string add_keys_;
    const std::string find_grants_;
    const std::string prove_all_;
    const std::string release_all_;
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(const table_names& names) {
    return std::make_unique<postgres_multi_lock_store>(names);
}

}  // namespace leasehold::postgres_dialect
