// SQLite: cleaning up. ?1 is always the clock, read after the write lock was taken. A look is made
// without the write lock: a clean-up that finds nothing must not make writers wait.
#include <array>

#include "dialect/sqlite/stores.hpp"
#include "dialect/upkeep_place.hpp"
#include "store/upkeep_store.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using std::chrono::microseconds;

constexpr std::string_view progress_sql =
    "SELECT task, turn, ?1 - turned_at, unfinished, place, passes FROM {prefix}upkeep";

// ?2 task, ?3 turn, ?4 every. What stands behind the place when a pass begins was not looked at yet
// by whoever has the turn.
constexpr std::string_view take_turn_sql = R"sql(
UPDATE {prefix}upkeep
   SET turn = turn + 1, turned_at = ?1, unfinished = unfinished + 1,
       sweeps_to = CASE WHEN place = x'' THEN ?1 ELSE sweeps_to END
 WHERE task = ?2 AND turn = ?3 AND (turned_at <= ?1 - ?4 OR turned_at > ?1))sql";

// ?2 task, ?3 turn, ?4 the place, ?5 the oldest end of what is left. An empty place ends the pass.
constexpr std::string_view advance_sql = R"sql(
UPDATE {prefix}upkeep
   SET place = ?4, unfinished = max(unfinished - 1, 0), passes = passes + (?4 = x''),
       swept_to = CASE WHEN ?4 = x'' THEN min(sweeps_to, ?5) ELSE swept_to END,
       sweeps_to = CASE WHEN ?4 = x'' THEN ?1 ELSE min(sweeps_to, ?5) END
 WHERE task = ?2 AND turn = ?3)sql";

// Looks: ?2 rows, ?3 and ?4 the place, ?5 retention. They read the rows behind the place in the
// order of the primary key, and for each at most one session by its own. Each answers with the key
// in two columns, whether there is something to clear, whether somebody may wait for it, and the
// end of its session.
#define END_OF_SESSION(row) "(SELECT s.expires_at FROM {prefix}session s WHERE s.id = " row ")"

constexpr std::string_view look_at_locks_sql = R"sql(
SELECT w.lock_key, NULL,
       CASE WHEN w.owner IS NULL THEN w.is_queued ELSE coalesce(w.ends_at + w.lock_delay <= ?1, 1)
            END,
       w.is_queued, CASE WHEN w.session_id IS NOT NULL THEN w.ends_at END
  FROM (SELECT l.lock_key, l.owner, l.session_id, l.lock_delay,
               l.last_ticket <> 0 AND l.kind = 1 AS is_queued,
               coalesce(l.expires_at, )sql" END_OF_SESSION("l.session_id") R"sql() AS ends_at
          FROM {prefix}lock l WHERE l.lock_key > ?3 ORDER BY l.lock_key LIMIT ?2) w)sql";

// Holders and waiters; see text_about() of upkeep_place.hpp.
constexpr std::string_view look_at_dead_sql =
    "SELECT w.lock_key, w.{rest}, coalesce(w.ends_at <= ?1, 1), 0, w.ends_at FROM ("
    "SELECT h.lock_key, h.{rest}, " END_OF_SESSION("h.session_id"
    ) " AS ends_at "
      "FROM {prefix}{table} h WHERE (h.lock_key, h.{rest}) > (?3, ?4) "
      "ORDER BY h.lock_key, h.{rest} LIMIT ?2) w";

// Tasks 1 to 3 are those that look at what refers to sessions.
constexpr std::string_view look_at_sessions_sql = R"sql(
SELECT s.id, NULL, s.expires_at + ?5
           <= min(?1, (SELECT CASE WHEN count(*) = 3 THEN min(u.swept_to) END
                         FROM {prefix}upkeep u WHERE u.task IN (1, 2, 3))),
       0, NULL
  FROM {prefix}session s WHERE s.id > ?3 ORDER BY s.id LIMIT ?2)sql";

#define IS_IDLE                                                                 \
    "l.owner IS NULL AND l.last_ticket = 0 AND l.changed_at + ?5 <= ?1 AND NOT" \
    " EXISTS (SELECT 1 FROM {prefix}holder h WHERE h.lock_key = l.lock_key)"

constexpr std::string_view look_at_idle_sql =
    "SELECT l.lock_key, NULL, " IS_IDLE
    ", 0, NULL FROM {prefix}lock l WHERE l.lock_key > ?3 ORDER BY l.lock_key LIMIT ?2";

// Clears: one row each. ?3, ?4 and ?5 as above.
#define IS_DEAD(row) \
    "coalesce((SELECT s.expires_at FROM {prefix}session s WHERE s.id = " row ") <= ?1, 1)"

// Held by a session proved dead, past its fixed term, or held by a session whose row is gone: it
// was there when the hold was granted, so somebody has removed it since.
constexpr std::string_view free_lock_sql = R"sql(
UPDATE {prefix}lock
   SET owner = NULL, session_id = NULL, expires_at = NULL, reentrant_count = 0, changed_at = ?1
 WHERE lock_key = ?3 AND owner IS NOT NULL
   AND coalesce(coalesce(expires_at, )sql" END_OF_SESSION("session_id") R"sql(
                ) + lock_delay <= ?1, 1)
RETURNING fence)sql";

constexpr std::string_view remove_dead_sql =
    "DELETE FROM {prefix}{table} WHERE lock_key = ?3 AND {rest} = ?4 AND " IS_DEAD("session_id"
    ) " RETURNING 0";

constexpr std::string_view remove_session_sql =
    "DELETE FROM {prefix}session WHERE id = ?3 AND expires_at + ?5 <= ?1 RETURNING notices";

constexpr std::string_view remove_idle_sql =
    "DELETE FROM {prefix}lock AS l WHERE l.lock_key = ?3 AND " IS_IDLE " RETURNING fence";

constexpr std::string_view raise_mark_sql =
    "UPDATE {prefix}fence_mark SET fence = max(fence, ?1) WHERE id = 1";

// As many of these as the statement asks for.
parameters cut_for(std::string_view sql, parameters values) {
    std::size_t highest = 0;
    for (std::size_t at = sql.find('?'); at < sql.size(); at = sql.find('?', at + 1)) {
        highest = std::max<std::size_t>(highest, static_cast<std::size_t>(sql.at(at + 1) - '0'));
    }
    values.resize(std::min(highest, values.size()));
    return values;
}

class sqlite_upkeep_store final : public upkeep_store {
public:
    sqlite_upkeep_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          progress_(fill_in(progress_sql, names)),
          take_turn_(fill_in(take_turn_sql, names)),
          advance_(fill_in(advance_sql, names)),
          raise_mark_(fill_in(raise_mark_sql, names)),
          looks_{
              fill_in(look_at_locks_sql, names),
              fill_in(text_about(upkeep_task::dead_holders, look_at_dead_sql), names),
              fill_in(text_about(upkeep_task::dead_waiters, look_at_dead_sql), names),
              fill_in(look_at_sessions_sql, names),
              fill_in(look_at_idle_sql, names)},
          clears_{
              fill_in(free_lock_sql, names),
              fill_in(text_about(upkeep_task::dead_holders, remove_dead_sql), names),
              fill_in(text_about(upkeep_task::dead_waiters, remove_dead_sql), names),
              fill_in(remove_session_sql, names),
              fill_in(remove_idle_sql, names)} {}

    std::vector<upkeep_progress> progress(connection& on) override {
        boot_->enter(on);
        return upkeep_progress_of(on.execute(progress_, {boot_clock::now_microseconds()}));
    }

    bool take_turn(connection& on, const upkeep_progress& seen, microseconds every) override {
        const auto task = static_cast<std::int64_t>(seen.task);
        return write(on, take_turn_, {task, seen.turn, std::int64_t{every.count()}});
    }

    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override {
        const auto task = static_cast<std::int64_t>(from.task);
        const microseconds oldest =
            leaves ? look.oldest.value_or(microseconds::max()) : microseconds::max();
        return write(
            on, advance_, {task, from.turn, blob{look.place}, std::int64_t{oldest.count()}}
        );
    }

    upkeep_look look(
        connection& on, upkeep_task task, const std::string& place, int rows, microseconds retention
    ) override {
        boot_->enter(on);
        const std::string& sql = looks_.at(number_of(task));
        const result seen = on.execute(sql, cut_for(sql, of(task, place, rows, retention)));
        return upkeep_look_of(task, seen, rows);
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        microseconds retention
    ) override {
        boot_->enter(on);
        write_transaction writing{on};
        std::int64_t cleared = 0;
        std::int64_t highest = 0;
        for (const std::string& each : places) {
            const std::string& sql = clears_.at(number_of(task));
            const result done = on.execute(sql, cut_for(sql, of(task, each, 0, retention)));
            for (const row& gone : done.rows) {
                ++cleared;
                highest = std::max(highest, gone.integer(0));
            }
        }
        if (task == upkeep_task::idle_locks && cleared > 0) on.execute(raise_mark_, {highest});
        writing.commit();
        return cleared;
    }

private:
    static std::size_t number_of(upkeep_task task) { return static_cast<std::size_t>(task) - 1; }

    static parameters of(
        upkeep_task task, const std::string& place, int rows, microseconds retention
    ) {
        auto [key, rest] = split_place(task, place);
        parameters values{boot_clock::now_microseconds(), rows, blob{std::move(key)}};
        if (task == upkeep_task::dead_waiters) {
            values.emplace_back(ticket_of(rest));
        } else {
            values.emplace_back(blob{std::move(rest)});
        }
        values.emplace_back(std::int64_t{retention.count()});
        return values;
    }

    bool write(connection& on, const std::string& sql, const parameters& values) {
        boot_->enter(on);
        write_transaction writing{on};
        parameters all{boot_clock::now_microseconds()};
        all.insert(all.end(), values.begin(), values.end());
        const bool has_written = on.execute(sql, all).affected_rows > 0;
        writing.commit();
        return has_written;
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string progress_;
    const std::string take_turn_;
    const std::string advance_;
    const std::string raise_mark_;
    const std::array<std::string, 5> looks_;
    const std::array<std::string, 5> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_upkeep_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
