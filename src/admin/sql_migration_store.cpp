#include "admin/sql_migration_store.hpp"

#include <algorithm>

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

std::vector<installation> sql_migration_store::installations(connection& on) const {
    std::vector<installation> found;
    const table_names& ours = how_->names();
    const statement& what = how_->of(admin_sql, "installations")["find"];
    const result said = on.execute(what.text(), what.placed({ours.prefix, ours.schema}));
    using column = columns::installations::find;
    for (const row& each : said.rows) {
        const table_names names{each.text(column::prefix), each.text(column::schema)};
        found.push_back({names, each.integer(column::is_ours) == 1});
    }
    return found;
}

migration_texts sql_migration_store::texts(int version) const {
    const auto file = std::ranges::find(files_, version, &migration_file::version);
    return {fill_in(file->up, how_->names()), fill_in(file->down, how_->names())};
}

void sql_migration_store::record(connection& on, const migration_record& what) {
    create_records(on);
    run(on, "record", {what.version, what.name, what.checksum, what.is_finished ? 1 : 0});
}

void sql_migration_store::forget(connection& on, int version) {
    run(on, "forget", {version});
}

void sql_migration_store::drop_records(connection& on) {
    run(on, "drop_records");
}

std::string sql_migration_store::script(int from, int to) const {
    const auto heading = [](const migration& file, const char* direction) {
        return "-- " + std::to_string(file.version) + " " + file.name + " " + direction + "\n";
    };
    std::string text;
    if (from <= to) {
        text = create_records_text() + "\n";
        for (const migration& file : known()) {
            if (file.version <= from || file.version > to) continue;
            text += heading(file, "up") + texts(file.version).up + record_text(file) + "\n";
        }
        return text;
    }
    const auto all = known();
    for (auto file = all.rbegin(); file != all.rend(); ++file) {
        if (file->version > from || file->version <= to) continue;
        text += heading(*file, "down") + texts(file->version).down;
        text += written(texts_.source("forget_by_hand"), {std::to_string(file->version)}) + "\n";
    }
    return text;
}

std::string sql_migration_store::create_records_text() const {
    return texts_.source("create_records") + ";\n";
}

std::string sql_migration_store::record_text(const migration& what) const {
    const bool escapes = how_->which() == engine::mysql || how_->which() == engine::mariadb;
    return written(
        texts_.source("record_by_hand"),
        {std::to_string(what.version),
         quoted(what.name, escapes),
         quoted(what.checksum, escapes),
         how_->which() == engine::postgres ? "true" : "1"}
    );
}

result sql_migration_store::run(connection& on, std::string_view name, const parameters& values)
    const {
    const statement& what = texts_[name];
    return on.execute(what.text(), what.placed(values));
}

}  // namespace leasehold
