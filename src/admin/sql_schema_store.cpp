#include "admin/sql_schema_store.hpp"

#include <algorithm>

#include "admin/sql_upkeep_place.hpp"
#include "leasehold/error.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

// Names of migrations and checksums: file names and hexadecimal digits, but nothing relies on it.
std::string quoted(std::string_view text, bool escapes_backslashes) {
    std::string literal{"'"};
    for (const char each : text) {
        if (each == '\'' || (each == '\\' && escapes_backslashes)) literal += each;
        literal += each;
    }
    return literal + "'";
}

// Puts literals in place of $1, $2 …, of which there are at most nine.
std::string written(std::string text, const std::vector<std::string>& literals) {
    for (std::size_t at = 0; at < literals.size(); ++at) {
        text = replaced(text, "$" + std::to_string(at + 1), literals[at]);
    }
    return text + ";\n";
}

}  // namespace

sql_schema_store::sql_schema_store(
    std::shared_ptr<const sql_dialect> how, std::span<const migration_file> built_in
)
    : sql_store(std::move(how), "schema"), looks_([this] {
          constexpr names_by_task names{
              "look_at_locks", "look_at_dead", "look_at_dead", "look_at_sessions", "look_at_idle"};
          std::array<std::string, tasks.size()> looks;
          for (const upkeep_task each : tasks) looks[index_of(each)] = source_about(each, names);
          return looks;
      }()) {
    for (const migration_file& each : built_in) {
        known_.push_back(
            {each.version,
             std::string{each.name},
             fill_in(each.up, how_->names()),
             fill_in(each.down, how_->names()),
             std::string{each.checksum}}
        );
    }
}

std::optional<std::vector<migration_record>> sql_schema_store::recorded(connection& on) {
    // If an error would end the transaction this asks first; elsewhere an error tells it for free.
    const bool is_inside = on.state() == connection_state::in_transaction;
    if (is_inside && !has_records(on)) return std::nullopt;
    std::vector<migration_record> records;
    try {
        for (const row& each : run(on, "recorded").rows) {
            records.push_back({
                .version = static_cast<int>(each.integer(0)),
                .name = each.bytes(1),
                .checksum = each.bytes(2),
                .is_finished = each.integer(3) != 0,
            });
        }
    } catch (const error& failure) {
        const bool is_gone = failure.code() == errc::schema_missing;
        if (!is_gone || on.state() == connection_state::failed) throw;
        return std::nullopt;
    }
    return records;
}

void sql_schema_store::record(connection& on, const migration_record& what) {
    create_records(on);
    run(on, "record", {what.version, what.name, what.checksum, what.is_finished ? 1 : 0});
}

void sql_schema_store::forget(connection& on, int version) {
    run(on, "forget", {version});
}

void sql_schema_store::drop_records(connection& on) {
    run(on, "drop_records");
}

std::string sql_schema_store::script(int from, int to) const {
    const auto heading = [](const migration& file, const char* direction) {
        return "-- " + std::to_string(file.version) + " " + file.name + " " + direction + "\n";
    };
    std::string text;
    if (from <= to) {
        text = create_records_text() + "\n";
        for (const migration& file : known_) {
            if (file.version <= from || file.version > to) continue;
            text += heading(file, "up") + file.up + record_text(file) + "\n";
        }
        return text;
    }
    for (auto file = known_.rbegin(); file != known_.rend(); ++file) {
        if (file->version > from || file->version <= to) continue;
        text += heading(*file, "down") + file->down;
        text += written(texts_.source("forget_by_hand"), {std::to_string(file->version)}) + "\n";
    }
    return text;
}

std::string sql_schema_store::create_records_text() const {
    return texts_.source("create_records") + ";\n";
}

std::string sql_schema_store::record_text(const migration& what) const {
    const bool escapes = how_->which() == engine::mysql || how_->which() == engine::mariadb;
    return written(
        texts_.source("record_by_hand"),
        {std::to_string(what.version),
         quoted(what.name, escapes),
         quoted(what.checksum, escapes),
         how_->which() == engine::postgres ? "true" : "1"}
    );
}

result sql_schema_store::run(connection& on, std::string_view name, const parameters& values)
    const {
    const statement& what = texts_[name];
    return on.execute(what.text(), what.placed(values));
}

// ------------------------------------------------------------------------------- the clean-up

std::vector<upkeep_progress> sql_schema_store::progress(connection& on) {
    how_->enter(on);
    return upkeep_progress_of(read(on, "progress"));
}

bool sql_schema_store::take_turn(
    connection& on, const upkeep_progress& seen, std::chrono::microseconds every
) {
    const parameters values{static_cast<int>(seen.task), seen.turn, value_of(every)};
    return write(on, "take_turn", values).affected_rows > 0;
}

bool sql_schema_store::advance(
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

upkeep_look sql_schema_store::look(
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

std::string sql_schema_store::source_about(upkeep_task task, const names_by_task& names) const {
    const bool is_of_holders = task == upkeep_task::dead_holders;
    return replaced(
        replaced(
            texts_.source(names.at(index_of(task))), "{table}", is_of_holders ? "holder" : "waiter"
        ),
        "{rest}",
        is_of_holders ? "owner" : "ticket"
    );
}

std::array<statement, sql_schema_store::tasks.size()> sql_schema_store::about_tasks(
    const names_by_task& names
) const {
    std::array<statement, tasks.size()> all;
    for (const upkeep_task each : tasks) {
        all[index_of(each)] = {source_about(each, names), how_->which()};
    }
    return all;
}

parameters sql_schema_store::values_of(
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

}  // namespace leasehold
