// SQLite: several keys at once. One write transaction for all of them; see lock_store.cpp.
#include "store/multi_lock_store.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// Of an owner, dead or not, that keeps others out: as in lock_store.cpp.
#define CLOSED                                                                             \
    "(l.owner IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at + l.lock_delay > ?1) " \
    "AND NOT EXISTS (SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id "           \
    "AND s.expires_at + l.lock_delay <= ?1))"

// ?2 this boot: rows of another boot count as free.
constexpr std::string_view look_sql =
    "SELECT l.kind, " CLOSED
    " AND (SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?2, "
    "l.fence, l.owner, l.session_id, l.node_info, l.reentrant_count, ?1 - l.changed_at, "
    "coalesce(l.expires_at, (SELECT s.expires_at FROM {prefix}session s "
    "WHERE s.id = l.session_id)) - ?1 FROM {prefix}lock l WHERE l.lock_key = ?3";

constexpr std::string_view session_is_live_sql =
    "SELECT 1 FROM {prefix}session WHERE id = ?2 AND expires_at > ?1";

constexpr std::string_view take_sql = R"sql(
UPDATE {prefix}lock AS l
   SET fence = fence + 1, owner = ?3, session_id = ?4, node_info = ?5, reentrant_count = 1,
       changed_at = ?1, expires_at = ?1 + ?6, lock_delay = 0, revocations = 0, metadata = NULL
 WHERE l.lock_key = ?2 AND l.kind = 1 AND NOT )sql" CLOSED R"sql(
RETURNING fence)sql";

// A key never seen starts above every fence that was ever removed.
constexpr std::string_view make_sql = R"sql(
INSERT INTO {prefix}lock (lock_key, fence, owner, session_id, node_info, reentrant_count,
                          changed_at, expires_at)
SELECT ?2, mark.fence + 1, ?3, ?4, ?5, 1, ?1, ?1 + ?6 FROM {prefix}fence_mark mark WHERE id = 1
ON CONFLICT (lock_key) DO NOTHING
RETURNING fence)sql";

constexpr std::string_view find_grant_sql =
    "SELECT fence FROM {prefix}lock WHERE lock_key = ?1 AND owner = ?2";

// A list of keys and tokens stands between these two. Each by primary key: IN a list of pairs reads
// the whole table. Steps: 60 for each key.
constexpr std::string_view prove_head_sql = "WITH asked (lock_key, fence) AS (VALUES ";
constexpr std::string_view prove_tail_sql = R"sql()
SELECT count(*) FROM asked
 WHERE (SELECT l.fence FROM {prefix}lock l WHERE l.lock_key = asked.lock_key AND l.owner = ?1)
       = asked.fence)sql";

constexpr std::string_view release_sql = R"sql(
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1
 WHERE lock_key = ?2 AND owner = ?3 AND fence = ?4 AND last_ticket = 0)sql";

class sqlite_multi_lock_store final : public multi_lock_store {
public:
    sqlite_multi_lock_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          look_(fill_in(look_sql, names)),
          session_is_live_(fill_in(session_is_live_sql, names)),
          take_(fill_in(take_sql, names)),
          make_(fill_in(make_sql, names)),
          find_grant_(fill_in(find_grant_sql, names)),
          prove_tail_(fill_in(prove_tail_sql, names)),
          release_(fill_in(release_sql, names)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        boot_->enter(on);
        if (auto refused = refusal(on, wanted)) return *refused;
        write_transaction writing{on};
        if (auto refused = refusal(on, wanted)) return *refused;  // somebody was faster
        const bool is_fixed = wanted.hold_at_most.has_value();
        acquire_all_result granted;
        for (const key& each : wanted.keys) {
            const parameters row{
                boot_clock::now_microseconds(),
                blob{each.name()},
                blob{wanted.owner.bytes()},
                is_fixed ? value{} : value{blob{wanted.session.bytes()}},
                wanted.node_info,
                is_fixed ? value{wanted.hold_at_most->count()} : value{},
            };
            auto changed = on.execute(take_, row);
            if (changed.rows.empty()) changed = on.execute(make_, row);
            if (changed.rows.empty()) return {};  // all of it is rolled back
            granted.tokens.push_back({changed.rows[0].integer(0)});
        }
        writing.commit();
        granted.status = acquire_all_status::granted;
        return granted;
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        std::vector<fencing_token> tokens;
        for (const key& each : keys) {
            const auto found = on.execute(find_grant_, {blob{each.name()}, blob{owner.bytes()}});
            if (found.rows.empty()) return std::nullopt;
            tokens.push_back({found.rows[0].integer(0)});
        }
        return tokens;
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        std::string ask{prove_head_sql};
        parameters values{blob{held.front().owner.bytes()}};
        for (const hold& each : held) {
            ask += values.size() == 1 ? "(" : ", (";
            values.emplace_back(blob{each.key.name()});
            ask += "?" + std::to_string(values.size());
            values.emplace_back(each.token.number);
            ask += ", ?" + std::to_string(values.size()) + ")";
        }
        const auto found = inside.execute(ask + prove_tail_, values);
        return found.rows.at(0).integer(0) == static_cast<std::int64_t>(held.size());
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        boot_->enter(on);
        release_all_result done;
        write_transaction writing{on};
        for (const hold& each : held) {
            const parameters which{
                boot_clock::now_microseconds(),
                blob{each.key.name()},
                blob{each.owner.bytes()},
                each.token.number};
            if (on.execute(release_, which).affected_rows == 1) {
                ++done.released;
            } else if (prove_all(on, {each})) {
                done.awaited.push_back(each);
            }
        }
        if (done.released > 0) writing.commit();
        return done;
    }

private:
    // Why the request must be refused as things stand; nothing where it may be granted.
    std::optional<acquire_all_result> refusal(connection& on, const acquire_all_request& wanted)
        const {
        acquire_all_result answer;
        const parameters own{boot_clock::now_microseconds(), blob{wanted.session.bytes()}};
        if (on.execute(session_is_live_, own).rows.empty()) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        bool is_busy = false;
        for (const key& each : wanted.keys) {
            const auto found = on.execute(
                look_, {boot_clock::now_microseconds(), boot_->boot_id(), blob{each.name()}}
            );
            if (found.rows.empty()) continue;
            const row& seen = found.rows[0];
            if (seen.integer(0) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(seen.integer(0));
                answer.misused.emplace(each);
                return answer;
            }
            if (seen.integer(1) == 0) continue;
            is_busy = true;
            const bool is_live = seen.is_null(8) || seen.integer(8) > 0;
            if (is_live && !answer.holder) answer.holder = holder_of(each, seen);
        }
        if (is_busy) return answer;
        return std::nullopt;
    }

    static lock_info holder_of(const key& name, const row& found) {
        lock_info info;
        info.key = name.name();
        info.token = {found.integer(2)};
        info.is_held = true;
        info.owner = identity::from_bytes(found.bytes(3));
        if (!found.is_null(4)) info.session = identity::from_bytes(found.bytes(4));
        info.node_info = found.text(5);
        info.reentrant_count = found.integer(6);
        info.held_for = microseconds{found.integer(7)};
        if (!found.is_null(8)) info.remaining = microseconds{found.integer(8)};
        return info;
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string look_;
    const std::string session_is_live_;
    const std::string take_;
    const std::string make_;
    const std::string find_grant_;
    const std::string prove_tail_;
    const std::string release_;
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_multi_lock_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
