#include "dialect/schema_store.hpp"

#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

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

// With literals in place of $1, $2 …, of which there are at most nine.
std::string written(std::string text, const std::vector<std::string>& literals) {
    for (std::size_t at = 0; at < literals.size(); ++at) {
        text = replaced(text, "$" + std::to_string(at + 1), literals[at]);
    }
    return text + ";\n";
}

}  // namespace

std::string sql_schema_store::with_names(std::string_view text) const {
    return fill_in(text, how_->names());
}

std::optional<std::vector<migration_record>> sql_schema_store::recorded(connection& on) {
    if (!has_records(on)) return std::nullopt;
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
        // Outside the lock somebody may take the last migration back between the two.
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

std::string sql_schema_store::record_sql(const migration_record& what) const {
    const bool escapes = how_->which() == engine::mysql || how_->which() == engine::mariadb;
    const bool has_booleans = how_->which() == engine::postgres;
    const std::string finished =
        has_booleans ? (what.is_finished ? "true" : "false") : (what.is_finished ? "1" : "0");
    return written(
        texts_.source("record_by_hand"),
        {std::to_string(what.version),
         quoted(what.name, escapes),
         quoted(what.checksum, escapes),
         finished}
    );
}

std::string sql_schema_store::forget_sql(int version) const {
    return written(texts_.source("forget_by_hand"), {std::to_string(version)});
}

std::string sql_schema_store::create_records_sql() const {
    return texts_.source("create_records") + ";\n";
}

result sql_schema_store::run(connection& on, std::string_view name, const parameters& values)
    const {
    const statement& what = texts_[name];
    return on.execute(what.text(), what.placed(values));
}

}  // namespace leasehold
