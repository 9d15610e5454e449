// Several keys at once on MySQL and MariaDB. The rules of lock_store.cpp.
//
// Granting is one transaction inside one packet: the rows are locked in the order of the keys, by
// primary key, and only then it is decided, for all of them. Who waits for a row holds only smaller
// ones, so that no two of these can wait for each other in a circle. What is waited for is somebody
// who is taking the same row at this moment, and the proofs of whoever has taken it since the look.
// A death is proved when all rows are locked; see {proved_dead} of store.cpp, which waits for
// nobody.
#include <algorithm>
#include <set>
#include <utility>

#include "dialect/mysql/stores.hpp"
#include "store/multi_lock_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

// The pre-check, which may only refuse: a plain read. {keys} stands for placeholders.
constexpr std::string_view look_text = R"sql(
SELECT EXISTS (SELECT 1 FROM {prefix}session m WHERE m.id = ? AND m.expires_at > {now}),
       l.lock_key, l.kind, l.owner IS NOT NULL AND {unexpired}, l.fence, l.owner, l.session_id,
       l.node_info, l.reentrant_count, {now} - l.changed_at,
       COALESCE(l.expires_at - {now}, s.expires_at - {now}, 0),
       l.owner IS NOT NULL
           AND NOT COALESCE(COALESCE(l.expires_at, s.expires_at) + l.lock_delay <= {now}, 0)
FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key IN ({keys})
LEFT JOIN {prefix}session s ON s.id = l.session_id
ORDER BY l.lock_key)sql";

// A free row for a key never seen; see insert_text of lock_store.cpp.
constexpr std::string_view insert_text = R"sql(
INSERT INTO {prefix}lock
    (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, expires_at)
SELECT ?, f.fence, NULL, NULL, '', 0, {now}, NULL FROM {prefix}fence_mark f
WHERE f.id = 1 LOCK IN SHARE MODE)sql";

// begin_text, lock_row_text for each key, and take_text. Where not all can be taken the WHERE of
// the change is impossible. Then, while they are locked, so that nobody can have freed one by force
// meanwhile: the fences of what is this owner's now.
constexpr std::string_view begin_text = "START TRANSACTION;";
constexpr std::string_view lock_row_text = R"sql(
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l
WHERE l.lock_key = ? FOR UPDATE;)sql";
constexpr std::string_view take_text = R"sql(
SELECT COUNT(*) INTO @leasehold_got FROM {prefix}lock l
JOIN {prefix}session m ON m.id = ? AND m.expires_at > {now}
WHERE l.lock_key IN ({keys}) AND l.kind = 1
  AND (l.owner IS NULL OR l.expires_at + l.lock_delay <= {now} OR {proved_dead});
UPDATE {prefix}lock l FORCE INDEX (PRIMARY)
SET l.fence = l.fence + 1, l.owner = ?, l.session_id = ?, l.node_info = ?,
    l.reentrant_count = 1, l.changed_at = {now}, l.expires_at = {now} + ?,
    l.lock_delay = 0, l.revocations = 0, l.metadata = NULL
WHERE l.lock_key IN ({keys}) AND @leasehold_got = ?;
SELECT l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner = ?
ORDER BY l.lock_key;
COMMIT)sql";

// Locking reads, as find_grant_text of lock_store.cpp has them.
constexpr std::string_view find_grants_text = R"sql(
SELECT l.fence FROM {prefix}lock l FORCE INDEX (PRIMARY)
WHERE l.lock_key IN ({keys}) AND l.owner = ?
ORDER BY l.lock_key LOCK IN SHARE MODE)sql";

// The lock rows alone, in order, as prove_text of lock_store.cpp.
constexpr std::string_view prove_all_text = R"sql(
SELECT lock_key, fence FROM {prefix}lock FORCE INDEX (PRIMARY)
WHERE lock_key IN ({keys}) AND owner = ?
ORDER BY lock_key LOCK IN SHARE MODE)sql";

// An owner id belongs to one acquisition alone, so it stands for the fences too. Where one of the
// holds is not ours any more nothing is freed here, so that nothing waits behind the next holder's
// proof; what is still ours is reported, and released one by one.
constexpr std::string_view release_all_text = R"sql(
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key IN ({keys}) AND l.owner = ?;
UPDATE {prefix}lock l FORCE INDEX (PRIMARY) SET {free}
WHERE l.lock_key IN ({keys}) AND @leasehold_go = ? AND l.owner = ? AND l.last_ticket = 0;
SELECT ROW_COUNT(), l.lock_key FROM (SELECT 1 AS one) o
LEFT JOIN {prefix}lock l ON l.lock_key IN ({keys}) AND l.owner = ?)sql";

lock_info holder_of(const row& from) {
    lock_info holder;
    holder.key = from.bytes(1);
    holder.token = {from.integer(4)};
    holder.is_held = true;
    holder.owner = owner_id::from_bytes(from.bytes(5));
    if (!from.is_null(6)) holder.session = session_id::from_bytes(from.bytes(6));
    holder.node_info = from.bytes(7);
    holder.reentrant_count = from.integer(8);
    holder.held_for = std::chrono::microseconds{from.integer(9)};
    holder.remaining = std::chrono::microseconds{from.integer(10)};
    return holder;
}

class mysql_multi_lock_store final : public multi_lock_store {
public:
    mysql_multi_lock_store(const table_names& names, engine which)
        : look_(statement(look_text, names, which)),
          insert_(statement(insert_text, names, which)),
          lock_row_(statement(lock_row_text, names, which)),
          take_(statement(take_text, names, which)),
          find_grants_(statement(find_grants_text, names, which)),
          prove_all_(statement(prove_all_text, names, which)),
          release_all_(statement(release_all_text, names, which)) {}

    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        // Takeable when looked at and yet not ours: somebody else was there first.
        constexpr int looks_max = 3;
        for (int look = 1; look <= looks_max; ++look) {
            std::vector<key> unknown;
            if (auto refused = refusal(on, wanted, unknown)) return *refused;
            for (const key& each : unknown) add_key(on, each);
            auto tokens = despite_deadlocks([&] { return take(on, wanted); });
            if (tokens.size() == wanted.keys.size()) {
                acquire_all_result granted;
                granted.status = acquire_all_status::granted;
                granted.tokens = std::move(tokens);
                return granted;
            }
        }
        return {};
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        const parameters values = values_of(keys, owner);
        const std::string ask = for_keys(find_grants_, keys.size());
        const result found = despite_deadlocks([&] { return on.execute(ask, values); });
        if (found.rows.size() != keys.size()) return std::nullopt;
        return tokens_of(found);
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        std::set<std::pair<std::string, std::int64_t>> missing;
        std::vector<key> keys;
        for (const hold& each : held) {
            missing.emplace(each.key.name(), each.token.number);
            keys.push_back(each.key);
        }
        const result found =
            inside.execute(for_keys(prove_all_, keys.size()), values_of(keys, held.front().owner));
        for (const row& each : found.rows) missing.erase({each.bytes(0), each.integer(1)});
        return missing.empty();
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        std::vector<key> keys;
        keys.reserve(held.size());
        for (const hold& each : held) keys.push_back(each.key);
        const owner_id& owner = held.front().owner;
        parameters values = values_of(keys, owner);
        values.reserve(3 * keys.size() + 4);
        for (const key& each : keys) values.push_back(as_value(each));
        values.emplace_back(static_cast<std::int64_t>(keys.size()));
        values.push_back(as_value(owner));
        const parameters again = values_of(keys, owner);
        values.insert(values.end(), again.begin(), again.end());
        const std::string packet = for_keys(release_all_, keys.size());
        const result reply = despite_deadlocks([&] { return send_packet(on, packet, values); });
        release_all_result done;
        done.released =
            static_cast<std::size_t>(std::max<std::int64_t>(0, reply.rows.at(0).integer(0)));
        for (const row& each : reply.rows) {
            if (each.is_null(1)) continue;
            const auto still = std::find_if(held.begin(), held.end(), [&](const hold& one) {
                return one.key.name() == each.bytes(1);
            });
            if (still != held.end()) done.awaited.push_back(*still);
        }
        return done;
    }

private:
    static parameters values_of(const std::vector<key>& keys, const owner_id& owner) {
        parameters values;
        for (const key& each : keys) values.push_back(as_value(each));
        values.push_back(as_value(owner));
        return values;
    }

    static std::vector<fencing_token> tokens_of(const result& found) {
        std::vector<fencing_token> tokens;
        for (const row& each : found.rows) tokens.push_back({each.integer(0)});
        return tokens;
    }

    // Why the request must be refused as things stand, or the keys that have no row yet.
    std::optional<acquire_all_result> refusal(
        connection& on, const acquire_all_request& wanted, std::vector<key>& unknown
    ) const {
        parameters values{as_value(wanted.session)};
        for (const key& each : wanted.keys) values.push_back(as_value(each));
        const result seen = on.execute(for_keys(look_, wanted.keys.size()), values);
        acquire_all_result answer;
        if (seen.rows.at(0).integer(0) == 0) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        std::set<std::string> known;
        bool is_busy = false;
        for (const row& each : seen.rows) {
            if (each.is_null(1)) continue;
            known.insert(each.bytes(1));
            if (each.integer(2) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(each.integer(2));
                answer.misused.emplace(each.bytes(1));
                return answer;
            }
            is_busy = is_busy || each.integer(11) != 0;
            if (each.integer(3) != 0 && !answer.holder) answer.holder = holder_of(each);
        }
        if (is_busy) return answer;
        for (const key& each : wanted.keys) {
            if (!known.contains(each.name())) unknown.push_back(each);
        }
        return std::nullopt;
    }

    void add_key(connection& on, const key& name) const {
        try {
            despite_deadlocks([&] { return on.execute(insert_, {as_value(name)}); });
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
        }
    }

    // The tokens of all keys, or of fewer, and then nothing was changed.
    std::vector<fencing_token> take(connection& on, const acquire_all_request& wanted) const {
        const bool is_fixed = wanted.hold_at_most.has_value();
        value term;
        if (is_fixed) term = std::int64_t{wanted.hold_at_most->count()};
        std::string packet{begin_text};
        parameters keys;
        for (const key& each : wanted.keys) {
            packet += lock_row_;
            keys.push_back(as_value(each));
        }
        packet += for_keys(take_, wanted.keys.size());
        parameters values = keys;
        const auto add = [&](const parameters& more) {
            values.insert(values.end(), more.begin(), more.end());
        };
        const value session = as_value(wanted.session);
        add({session});
        add(keys);
        add({as_value(wanted.owner), is_fixed ? value{} : session, blob{wanted.node_info}, term});
        add(keys);
        add({static_cast<std::int64_t>(keys.size())});
        add(keys);
        add({as_value(wanted.owner)});
        return tokens_of(send_transaction(on, packet, values));
    }

    std::string look_;
    std::string insert_;
    std::string lock_row_;
    std::string take_;
    std::string find_grants_;
    std::string prove_all_;
    std::string release_all_;
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(const table_names& names, engine which) {
    return std::make_unique<mysql_multi_lock_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
