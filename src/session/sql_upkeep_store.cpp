#include "session/sql_upkeep_store.hpp"

#include <algorithm>

#include "session/sql_upkeep_place.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {

sql_upkeep_store::sql_upkeep_store(std::shared_ptr<const sql_dialect> how)
    : sql_store(std::move(how), session_sql, "upkeep"), looks_([this] {
          constexpr names_by_task names{
              "look_at_locks", "look_at_dead", "look_at_dead", "look_at_sessions", "look_at_idle"};
          std::array<std::string, tasks.size()> looks;
          for (const upkeep_task each : tasks) looks[index_of(each)] = source_about(each, names);
          return looks;
      }()) {}

std::vector<upkeep_progress> sql_upkeep_store::progress(connection& on) {
    how_->enter(on);
    return upkeep_progress_of(read(on, "progress"));
}

bool sql_upkeep_store::begin_turn(
    connection& on, const upkeep_progress& seen, std::chrono::microseconds every
) {
    const parameters values{static_cast<int>(seen.task), seen.turn, value_of(every)};
    return write(on, "begin_turn", values).affected_rows > 0;
}

bool sql_upkeep_store::advance(
    connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves
) {
    // An instant, and no duration: it may be before a boot that was a moment ago.
    constexpr std::chrono::microseconds never = std::chrono::hours{24L * 365 * 1000};
    const auto left = look.oldest_passed_over.value_or(never);
    const auto oldest = leaves ? std::min(left, look.oldest.value_or(never)) : left;
    const parameters values{
        static_cast<int>(from.task), from.turn, blob{look.place}, std::int64_t{oldest.count()}};
    return write(on, "advance", values).affected_rows > 0;
}

upkeep_look sql_upkeep_store::look(
    connection& on,
    upkeep_task task,
    const std::string& place,
    int rows,
    std::chrono::microseconds retention
) {
    how_->enter(on);
    const statement looking{
        replaced(looks_.at(index_of(task)), "{rows}", std::to_string(rows)), how_->which()};
    const result seen = how_->read(on, looking, values_of(task, place, rows, retention));
    return upkeep_look_of(task, seen, rows);
}

std::string sql_upkeep_store::source_about(upkeep_task task, const names_by_task& names) const {
    const bool is_of_holders = task == upkeep_task::dead_holders;
    return replaced(
        replaced(
            texts_.source(names.at(index_of(task))), "{table}", is_of_holders ? "holder" : "waiter"
        ),
        "{rest}",
        is_of_holders ? "owner" : "ticket"
    );
}

std::array<statement, sql_upkeep_store::tasks.size()> sql_upkeep_store::about_tasks(
    const names_by_task& names
) const {
    std::array<statement, tasks.size()> all;
    for (const upkeep_task each : tasks) {
        all[index_of(each)] = {source_about(each, names), how_->which()};
    }
    return all;
}

parameters sql_upkeep_store::values_of(
    upkeep_task task, const std::string& place, int rows, std::chrono::microseconds retention
) {
    auto [key, rest] = split_place(task, place);
    const bool has_ticket = task == upkeep_task::dead_waiters;
    return {
        blob{std::move(key)},
        has_ticket ? value{ticket_of(rest)} : value{blob{std::move(rest)}},
        rows,
        value_of(retention)};
}

std::int64_t sql_upkeep_store::prune_history(connection& on, int max_rows) {
    return write(on, "prune_history", {max_rows}).affected_rows;
}

}  // namespace leasehold
