// MySQL and MariaDB, whichever LEASEHOLD_TEST_BACKEND names: a database of its own.
#include <algorithm>
#include <cstdlib>

#include "leasehold/driver/mysql.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

std::string backend_name() {
    const char* const backend = std::getenv("LEASEHOLD_TEST_BACKEND");
    if (!backend) throw std::runtime_error("set LEASEHOLD_TEST_BACKEND to mysql or mariadb");
    return backend;
}

std::string server() {
    const std::string backend = backend_name();
    const std::string url = require_url(backend);
    // The wrong server must not pass for the right one.
    static const auto found = mysql::open(url).server().engine;
    if (name_of(found) != backend) throw std::runtime_error(url + " is another server");
    return url;
}

// SHOW CREATE TABLE has all of a table, in the server's own spelling; these are what else there is.
constexpr const char* shape_queries[] = {
    "SELECT 'table', table_name, table_type, engine, table_collation, row_format, create_options "
    "FROM information_schema.tables WHERE table_schema = DATABASE()",
    "SELECT 'column', table_name, ordinal_position, column_name, column_type, is_nullable, "
    "column_default, extra, character_set_name, collation_name, column_key, column_comment "
    "FROM information_schema.columns WHERE table_schema = DATABASE()",
    "SELECT 'index', table_name, index_name, seq_in_index, column_name, non_unique, index_type "
    "FROM information_schema.statistics WHERE table_schema = DATABASE()",
    "SELECT 'check', constraint_name, check_clause FROM information_schema.check_constraints "
    "WHERE constraint_schema = DATABASE()",
    "SELECT 'trigger', trigger_name FROM information_schema.triggers "
    "WHERE trigger_schema = DATABASE()",
    "SELECT 'routine', routine_name FROM information_schema.routines "
    "WHERE routine_schema = DATABASE()",
    "SELECT 'event', event_name FROM information_schema.events WHERE event_schema = DATABASE()",
};

void add(std::vector<std::string>& lines, const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

place::place() : name_(fresh_prefix() + "place") {
    run_in(mysql::open(server(), patient()), {"CREATE DATABASE " + name_});
    url_ = with_database(server(), name_);
}

place::~place() {
    run_in(mysql::open(server(), patient()), {"DROP DATABASE " + name_});
}

database place::open_url(const std::string& url) {
    return mysql::open(url, patient());
}

database place::open_named(const std::string& prefix) const {
    database_settings settings = patient();
    settings.names.prefix = prefix;
    return mysql::open(url_, settings);
}

database place::open_as_program() const {
    return mysql::open(with_database(require_program_url(backend_name()), name_), patient());
}

std::string place::grants() const {
    return grants_sql(engine::mysql, {}, program_name());
}

std::string place::program_name() {
    return user_of(require_program_url(backend_name()));
}

void place::load(const std::string& script) const {
    open().inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(script); });
}

std::vector<std::string> place::shape() const {
    std::vector<std::string> lines;
    open().inner()->use_unchecked([&](connection& on, store_set&) {
        for (const char* each : shape_queries) add(lines, lines_of(on, each));
        for (const std::string& table : lines_of(
                 on,
                 "SELECT table_name FROM information_schema.tables "
                 "WHERE table_schema = DATABASE()"
             )) {
            add(lines, lines_of(on, "SHOW CREATE TABLE " + table));
        }
    });
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> place::columns() const {
    return open().inner()->use_unchecked([](connection& on, store_set&) {
        return lines_of(
            on,
            "SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns "
            "WHERE table_schema = DATABASE()"
        );
    });
}

const char* place::schema_file() {
    return "mysql.sql";
}

std::vector<std::string> place::alterations() {
    return {
        "ALTER TABLE leasehold_session MODIFY node_info VARBINARY(255) NULL",
        "ALTER TABLE leasehold_fence_mark MODIFY fence INT NOT NULL",
        "ALTER TABLE leasehold_fence_mark MODIFY fence INT NOT NULL DEFAULT 0",
        "ALTER TABLE leasehold_fence_mark MODIFY fence INT NOT NULL DEFAULT 1",
        "ALTER TABLE leasehold_lock DROP CONSTRAINT leasehold_lock_fence_not_negative",
        "ALTER TABLE leasehold_lock ADD CONSTRAINT leasehold_lock_fence_not_negative "
        "CHECK (fence > 0)",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "ALTER TABLE leasehold_lock ADD COLUMN note TEXT",
        "ALTER TABLE leasehold_migration MODIFY name VARCHAR(100) CHARACTER SET utf8mb4 NOT NULL",
        "ALTER TABLE leasehold_session DROP PRIMARY KEY",
        "ALTER TABLE leasehold_session CHANGE notices news BIGINT NOT NULL",
        "DROP TABLE leasehold_migration",
    };
}

std::vector<std::string> place::drifts() {
    return {
        "ALTER TABLE leasehold_session MODIFY node_info VARBINARY(255) NULL",
        "ALTER TABLE leasehold_fence_mark MODIFY fence INT NOT NULL",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "ALTER TABLE leasehold_lock ADD COLUMN note TEXT",
        "ALTER TABLE leasehold_lock MODIFY lock_key VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL",
        "ALTER TABLE leasehold_session DROP PRIMARY KEY",
        "ALTER TABLE leasehold_job DROP INDEX leasehold_job_due",
    };
}

}  // namespace leasehold::testing
