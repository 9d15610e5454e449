// SQLite: the queue of a key. ?1 is always the clock, read after the write lock was taken. One
// writer at a time: what is read inside a write transaction is the whole queue.
#include <algorithm>
#include <array>

#include "dialect/sqlite/stores.hpp"
#include "store/waiter_store.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

// Free, or its owner is dead and was for the row's lock_delay. ?1 the clock.
#define TAKEABLE                                                                                   \
    "(l.owner IS NULL OR coalesce(l.expires_at + l.lock_delay <= ?1, 0) OR EXISTS (SELECT 1 FROM " \
    "{prefix}session s WHERE s.id = l.session_id AND s.expires_at + l.lock_delay <= ?1))"

constexpr std::string_view session_is_live_sql =
    "SELECT 1 FROM {prefix}session WHERE id = ?2 AND expires_at > ?1";

constexpr std::string_view find_key_sql =
    "SELECT l.kind, " TAKEABLE " FROM {prefix}lock l WHERE l.lock_key = ?2";

constexpr std::string_view mark_sql = R"sql(
UPDATE {prefix}lock SET last_ticket = max(last_ticket + 1, ?1) WHERE lock_key = ?2
RETURNING last_ticket)sql";

constexpr std::string_view queue_sql = R"sql(
INSERT INTO {prefix}waiter (lock_key, ticket, owner, session_id, node_info, hold_at_most,
                            lock_delay, metadata, queued_at)
VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?1))sql";

constexpr std::string_view find_hold_sql =
    "SELECT 1 FROM {prefix}lock WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

// By primary key, in its order. Not a join: before one with many rows SQLite may read the whole
// other table for a Bloom filter. Steps: 30, and 20 for each waiter that is passed over.
constexpr std::string_view first_live_sql = R"sql(
SELECT w.ticket, w.owner, w.session_id, w.hold_at_most
  FROM {prefix}waiter w
 WHERE w.lock_key = ?2
   AND (SELECT s.expires_at FROM {prefix}session s WHERE s.id = w.session_id) > ?1
 ORDER BY w.ticket LIMIT 1)sql";

// The changes of a hand-over, in this order: the grant reads the row that then goes, with all that
// come before it, who are dead.
constexpr std::string_view grant_sql = R"sql(
UPDATE {prefix}lock AS l
   SET fence = l.fence + 1, owner = w.owner,
       session_id = CASE WHEN w.hold_at_most IS NULL THEN w.session_id END,
       node_info = w.node_info, reentrant_count = 1, changed_at = ?1,
       expires_at = ?1 + w.hold_at_most, lock_delay = w.lock_delay, metadata = w.metadata,
       revocations = 0,
       last_ticket = CASE WHEN EXISTS (
           SELECT 1 FROM {prefix}waiter o WHERE o.lock_key = ?2 AND o.ticket > ?3)
           THEN l.last_ticket ELSE 0 END
  FROM {prefix}waiter w
 WHERE l.lock_key = ?2 AND w.lock_key = ?2 AND w.ticket = ?3
RETURNING fence)sql";

constexpr std::string_view remove_until_sql =
    "DELETE FROM {prefix}waiter WHERE lock_key = ?1 AND ticket <= ?2";

constexpr std::string_view free_sql = R"sql(
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1,
       last_ticket = 0
 WHERE lock_key = ?2)sql";

constexpr std::string_view remove_all_sql = "DELETE FROM {prefix}waiter WHERE lock_key = ?1";

constexpr std::string_view leave_sql =
    "DELETE FROM {prefix}waiter WHERE lock_key = ?1 AND ticket = ?2 AND owner = ?3";

// Index: waiter_owner.
constexpr std::string_view find_waiter_sql =
    "SELECT 1 FROM {prefix}waiter WHERE lock_key = ?1 AND owner = ?2";

constexpr std::string_view withdraw_sql =
    "DELETE FROM {prefix}waiter WHERE lock_key = ?1 AND owner = ?2";

// The list of waiters stands before this; each has a number, a key, a ticket and an owner.
constexpr std::string_view look_sql = R"sql()
SELECT asked.number, l.owner = asked.owner, l.fence, l.expires_at - ?1, )sql" TAKEABLE R"sql(,
       EXISTS (SELECT 1 FROM {prefix}waiter w
                WHERE w.lock_key = asked.lock_key AND w.ticket = asked.ticket
                  AND w.owner = asked.owner)
  FROM asked CROSS JOIN {prefix}lock l ON l.lock_key = asked.lock_key)sql";

// Sessions that this waiter waits for, directly and through others; none where its row has become a
// grant meanwhile, which makes its own session the holder. Indexes: waiter_session, and the primary
// keys. Steps: 200, and 60 for each call in which one of these sessions waits.
constexpr std::string_view circle_sql = R"sql(
WITH RECURSIVE blocker (session_id) AS (
    SELECT s.id FROM {prefix}lock l CROSS JOIN {prefix}session s ON s.id = l.session_id
     CROSS JOIN {prefix}waiter own ON own.lock_key = l.lock_key AND own.ticket = ?4
     WHERE l.lock_key = ?2 AND s.expires_at > ?1
    UNION
    SELECT (SELECT s.id FROM {prefix}lock l CROSS JOIN {prefix}session s ON s.id = l.session_id
             WHERE l.lock_key = w.lock_key AND s.expires_at > ?1)
      FROM blocker b CROSS JOIN {prefix}waiter w ON w.session_id = b.session_id
)
SELECT 1 FROM blocker WHERE session_id = ?3)sql";

class sqlite_waiter_store final : public waiter_store {
public:
    sqlite_waiter_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          session_is_live_(fill_in(session_is_live_sql, names)),
          find_key_(fill_in(find_key_sql, names)),
          mark_(fill_in(mark_sql, names)),
          queue_(fill_in(queue_sql, names)),
          find_hold_(fill_in(find_hold_sql, names)),
          first_live_(fill_in(first_live_sql, names)),
          grant_(fill_in(grant_sql, names)),
          remove_until_(fill_in(remove_until_sql, names)),
          free_(fill_in(free_sql, names)),
          remove_all_(fill_in(remove_all_sql, names)),
          leave_(fill_in(leave_sql, names)),
          find_waiter_(fill_in(find_waiter_sql, names)),
          withdraw_(fill_in(withdraw_sql, names)),
          circle_(fill_in(circle_sql, names)) {
        for (std::size_t index = 0; index < chunk_sizes.size(); ++index) {
            look_[index] = fill_in(look_text(chunk_sizes[index]), names);
        }
    }

    enqueue_result enqueue(connection& on, const acquire_request& wanted) override {
        boot_->enter(on);
        write_transaction writing{on};
        const auto now = boot_clock::now_microseconds();
        const value name = blob{wanted.key.name()};
        enqueue_result answer;
        if (on.execute(session_is_live_, {now, blob{wanted.session.bytes()}}).rows.empty()) {
            answer.status = enqueue_status::session_ended;
            return answer;
        }
        const auto found = on.execute(find_key_, {now, name});
        if (found.rows.empty()) return answer;
        answer.kind = static_cast<lock_kind>(found.rows[0].integer(0));
        if (answer.kind != lock_kind::mutex) {
            answer.status = enqueue_status::wrong_kind;
            return answer;
        }
        answer.ticket = on.execute(mark_, {now, name}).rows.at(0).integer(0);
        on.execute(
            queue_,
            {now,
             name,
             answer.ticket,
             blob{wanted.owner.bytes()},
             blob{wanted.session.bytes()},
             wanted.node_info,
             wanted.hold_at_most ? value{wanted.hold_at_most->count()} : value{},
             wanted.lock_delay.count(),
             wanted.metadata.empty() ? value{} : value{wanted.metadata}}
        );
        writing.commit();
        answer.status = enqueue_status::waiting;
        answer.looks_takeable = found.rows[0].integer(1) != 0;
        return answer;
    }

    hand_over_result hand_over(connection& on, const hold& held) override {
        boot_->enter(on);
        const parameters which{blob{held.key.name()}, blob{held.owner.bytes()}, held.token.number};
        // A look without the write lock: nobody else can make it ours.
        if (on.execute(find_hold_, which).rows.empty()) return {};
        write_transaction writing{on};
        if (on.execute(find_hold_, which).rows.empty()) return {};
        return pass_on(on, writing, held.key);
    }

    hand_over_result serve(connection& on, const key& name) override {
        boot_->enter(on);
        const auto is_takeable = [&] {
            const auto found =
                on.execute(find_key_, {boot_clock::now_microseconds(), blob{name.name()}});
            return !found.rows.empty() && found.rows[0].integer(0) == 1 &&
                   found.rows[0].integer(1) != 0;
        };
        if (!is_takeable()) return {};
        write_transaction writing{on};
        if (!is_takeable()) return {};
        return pass_on(on, writing, name);
    }

    bool leave(connection& on, const waiting& who) override {
        write_transaction writing{on};
        const parameters which{blob{who.key.name()}, who.ticket, blob{who.owner.bytes()}};
        const auto gone = on.execute(leave_, which).affected_rows;
        writing.commit();
        return gone > 0;
    }

    bool withdraw(connection& on, const key& name, const owner_id& owner) override {
        const parameters which{blob{name.name()}, blob{owner.bytes()}};
        if (on.execute(find_waiter_, which).rows.empty()) return false;
        write_transaction writing{on};
        const auto gone = on.execute(withdraw_, which).affected_rows;
        writing.commit();
        return gone > 0;
    }

    std::vector<look_result> look(connection& on, const std::vector<waiting>& who) override {
        std::vector<look_result> answers(who.size());
        for (std::size_t first = 0; first < who.size();) {
            const std::size_t left = who.size() - first;
            std::size_t index = 0;
            while (index + 1 < chunk_sizes.size() && chunk_sizes[index] < left) ++index;
            const std::size_t asked = std::min(left, chunk_sizes[index]);
            parameters values{boot_clock::now_microseconds()};
            values.reserve(1 + chunk_sizes[index] * 3);
            for (std::size_t number = 0; number < chunk_sizes[index]; ++number) {
                // The last one fills up the chunk.
                const waiting& each = who[first + std::min(number, asked - 1)];
                const parameters one{blob{each.key.name()}, each.ticket, blob{each.owner.bytes()}};
                values.insert(values.end(), one.begin(), one.end());
            }
            for (const row& each : on.execute(look_[index], values).rows) {
                const auto number = static_cast<std::size_t>(each.integer(0));
                answers[first + std::min(number, asked - 1)] = look_result_of(each);
            }
            first += asked;
        }
        return answers;
    }

    bool closes_a_circle(connection& on, const waiting& who, const session_id& own) override {
        const parameters which{
            boot_clock::now_microseconds(), blob{who.key.name()}, blob{own.bytes()}, who.ticket};
        return !on.execute(circle_, which).rows.empty();
    }

    // The file itself is the bell: each commit changes it.
    void ring(connection&, const owner_id&) override {}
    std::string channel() const override { return "commits"; }

private:
    // Few different texts, because each is prepared once per connection.
    static constexpr std::array<std::size_t, 5> chunk_sizes{1, 4, 16, 64, 256};

    static std::string look_text(std::size_t size) {
        std::string text = "WITH asked (number, lock_key, ticket, owner) AS (VALUES ";
        for (std::size_t number = 0; number < size; ++number) {
            text += number == 0 ? "(" : ", (";
            const auto placeholder = [&](std::size_t column) {
                return ", ?" + std::to_string(number * 3 + column + 1);
            };
            text += std::to_string(number) + placeholder(1) + placeholder(2) + placeholder(3) + ")";
        }
        return text.append(look_sql);
    }

    static look_result look_result_of(const row& seen) {
        look_result answer;
        if (!seen.is_null(1) && seen.integer(1) == 1) {
            answer.status = look_status::granted;
            answer.token = {seen.integer(2)};
            if (!seen.is_null(3)) answer.term_left = microseconds{seen.integer(3)};
        } else if (seen.integer(5) != 0) {
            answer.status = look_status::waiting;
            answer.looks_takeable = seen.integer(4) != 0;
        }
        return answer;
    }

    hand_over_result pass_on(connection& on, write_transaction& writing, const key& name) {
        const auto now = boot_clock::now_microseconds();
        const value key_value = blob{name.name()};
        const auto first = on.execute(first_live_, {now, key_value});
        if (first.rows.empty()) {
            on.execute(free_, {now, key_value});
            on.execute(remove_all_, {key_value});
            writing.commit();
            return {hand_over_status::freed, std::nullopt};
        }
        const row& next = first.rows[0];
        const auto granted = on.execute(grant_, {now, key_value, next.integer(0)});
        on.execute(remove_until_, {key_value, next.integer(0)});
        writing.commit();
        successor who{
            name,
            identity::from_bytes(next.bytes(1)),
            identity::from_bytes(next.bytes(2)),
            {granted.rows.at(0).integer(0)},
            std::nullopt};
        if (!next.is_null(3)) who.hold_at_most = microseconds{next.integer(3)};
        return {hand_over_status::handed_over, std::move(who)};
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string session_is_live_;
    const std::string find_key_;
    const std::string mark_;
    const std::string queue_;
    const std::string find_hold_;
    const std::string first_live_;
    const std::string grant_;
    const std::string remove_until_;
    const std::string free_;
    const std::string remove_all_;
    const std::string leave_;
    const std::string find_waiter_;
    const std::string withdraw_;
    const std::string circle_;
    std::array<std::string, chunk_sizes.size()> look_;
};

}  // namespace

std::unique_ptr<waiter_store> make_waiter_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_waiter_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
