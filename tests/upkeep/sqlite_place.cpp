// SQLite: a file in a folder of its own.
#include <algorithm>
#include <filesystem>

#include "leasehold/driver/sqlite.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

// The text of a CREATE statement without comments, and with one space where there was any white
// space: CHECKs are nowhere else.
std::string plain(const std::string& sql) {
    std::string text;
    for (std::size_t at = 0; at < sql.size(); ++at) {
        if (sql.compare(at, 2, "--") == 0) at = std::min(sql.find('\n', at), sql.size() - 1);
        const bool is_space = sql[at] == ' ' || sql[at] == '\n' || sql[at] == '\t';
        if (!is_space) {
            const bool ends_part = sql[at] == ',' || sql[at] == ')';
            if (ends_part && !text.empty() && text.back() == ' ') text.pop_back();
            text += sql[at];
        } else if (!text.empty() && text.back() != ' ') {
            text += ' ';
        }
    }
    return text;
}

void add(std::vector<std::string>& lines, const std::string& what, std::vector<std::string> more) {
    for (const std::string& each : more) lines.push_back(what + " " + plain(each));
}

}  // namespace

place::place() {
    name_ = fresh_folder();
    url_ = "sqlite:" + name_ + "/leasehold.db";
}

place::~place() {
    std::filesystem::remove_all(name_);
}

database place::open_url(const std::string& url) {
    return sqlite::open(url, patient());
}

database place::open_named(const std::string& prefix) const {
    database_settings settings = patient();
    settings.names.prefix = prefix;
    return sqlite::open(url_, settings);
}

void place::load(const std::string& script) const {
    const database db = open();
    db.inner()->create();  // as sqlite3 makes the file it is given
    db.inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(script); });
}

// SQLite makes it for the first AUTOINCREMENT, and nobody can drop it.
constexpr const char* is_ours = "name <> 'sqlite_sequence'";

std::vector<std::string> place::shape() const {
    std::vector<std::string> lines;
    open().inner()->use_unchecked([&](connection& on, store_set&) {
        const auto tables = lines_of(
            on, std::string{"SELECT name FROM sqlite_master WHERE type = 'table' AND "} + is_ours
        );
        const auto objects = lines_of(
            on, std::string{"SELECT type, name, tbl_name, sql FROM sqlite_master WHERE "} + is_ours
        );
        add(lines, "object", objects);
        for (const std::string& table : tables) {
            const std::string of = "('" + table + "')";
            const auto ask = [&](const std::string& pragma) {
                add(lines, pragma + " " + table, lines_of(on, "PRAGMA " + pragma + of));
            };
            add(lines,
                "table",
                lines_of(on, "SELECT name, type, ncol, wr, strict FROM pragma_table_list" + of));
            ask("table_xinfo");
            ask("foreign_key_list");
            for (const std::string& index :
                 lines_of(on, "SELECT name FROM pragma_index_list" + of)) {
                add(lines, "index " + index, lines_of(on, "PRAGMA index_xinfo('" + index + "')"));
            }
            ask("index_list");
        }
    });
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> place::columns() const {
    return open().inner()->use_unchecked([](connection& on, store_set&) {
        return lines_of(
            on,
            "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c "
            "WHERE m.type = 'table' AND m.name <> 'sqlite_sequence'"
        );
    });
}

const char* place::schema_file() {
    return "sqlite.sql";
}

std::vector<std::string> place::alterations() {
    return {
        "ALTER TABLE leasehold_session ADD COLUMN note TEXT",
        "ALTER TABLE leasehold_session RENAME COLUMN notices TO news",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "DROP TABLE leasehold_fence_mark",
        "CREATE TABLE leasehold_fence_mark (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), "
        "fence INTEGER NOT NULL, boot_id TEXT)",
        "DROP TABLE leasehold_migration",
        "CREATE TABLE leasehold_migration (version INTEGER NOT NULL PRIMARY KEY) WITHOUT ROWID",
    };
}

std::vector<std::string> place::drifts() {
    return {
        "ALTER TABLE leasehold_session ADD COLUMN note TEXT",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "DROP INDEX leasehold_job_order",
        "ALTER TABLE leasehold_session RENAME COLUMN node_info TO node",
    };
}

}  // namespace leasehold::testing
