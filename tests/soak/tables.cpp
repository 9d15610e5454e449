#include "soak/tables.hpp"

#include <stdexcept>

#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#ifdef LEASEHOLD_WITH_SQLITE
#include "leasehold/driver/sqlite.hpp"
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
#include "leasehold/driver/postgres.hpp"
#endif
#ifdef LEASEHOLD_WITH_MYSQL
#include "leasehold/driver/mysql.hpp"
#endif

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

std::string text(std::int64_t number) {
    return std::to_string(number);
}

}  // namespace

key key_of(int number) {
    return {"soak/" + std::to_string(number)};
}

database open_database(
    const std::string& url, const std::string& prefix, time_outs which, int max_connections
) {
    database_settings settings;
    settings.names.prefix = prefix;
    settings.max_connections = max_connections;
    if (which == time_outs::of_workers) {
        settings.connect_timeout = 2s;
        settings.pool_timeout = 3s;
        settings.statement_timeout = 5s;  // longer than a paused worker may hold a row
    } else {
        settings.connect_timeout = 20s;
        settings.pool_timeout = 30s;
        settings.statement_timeout = 30s;
    }
#ifdef LEASEHOLD_WITH_SQLITE
    if (url.starts_with("sqlite:")) return sqlite::open(url, settings);
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    if (url.starts_with("postgresql:")) return postgres::open(url, settings);
#endif
#ifdef LEASEHOLD_WITH_MYSQL
    if (url.starts_with("mysql:")) return mysql::open(url, settings);
#endif
    throw std::runtime_error("no driver for this URL was built: " + url.substr(0, url.find(':')));
}

bool tables::are_there(const database& db) const {
    try {
        const std::string last = text(key_count - 1);
        return !db.execute("SELECT 1 FROM " + prefix_ + "soak_control WHERE k = " + last)
                    .rows.empty();
    } catch (const leasehold::error&) {
        return false;
    }
}

// No key on the entries: nothing but the lease keeps them in order and single. In a cluster each
// table must have one: a number of no meaning.
void tables::create(const database& db) const {
    migrate(db);
    shares_.create(db);
    jobs_.create(db);
    const engine which = db.server().engine;
    const bool is_mysql = which == engine::mysql || which == engine::mariadb;
    const std::string own_key =
        is_mysql ? ", entry BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY" : "";
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_list (k BIGINT NOT NULL PRIMARY KEY, length BIGINT NOT NULL, "
            "counter BIGINT NOT NULL)"
    );
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_entry (k BIGINT NOT NULL, position BIGINT NOT NULL, token BIGINT NOT NULL, "
            "process BIGINT NOT NULL, id BIGINT NOT NULL" +
            own_key + ")"
    );
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_control (k BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)"
    );
    for (int number = 0; number < key_count; ++number) {
        run_alone(db, "INSERT INTO " + prefix_ + "soak_list VALUES (" + text(number) + ", 0, 0)");
        run_alone(db, "INSERT INTO " + prefix_ + "soak_control VALUES (" + text(number) + ", 0)");
    }
}

void tables::drop(const database& db) const {
    for (const char* each : {"soak_list", "soak_entry", "soak_control"}) {
        run_alone(db, "DROP TABLE " + prefix_ + each);
    }
    shares_.drop(db);
    jobs_.drop(db);
    run_alone(
        db, "DELETE FROM " + prefix_ + "session"
    );  // of killed workers, some of them not expired
    migrate_down(db, 0);
}

counters tables::read(const database& db, int key_number) const {
    transaction tx = db.begin();
    const std::string which = " WHERE k = " + text(key_number);
    const auto list = tx.execute("SELECT counter FROM " + prefix_ + "soak_list" + which);
    const auto control = tx.execute("SELECT value FROM " + prefix_ + "soak_control" + which);
    return {list.rows.at(0).integer(0), control.rows.at(0).integer(0)};
}

void tables::append(
    transaction& tx,
    int key_number,
    std::int64_t token,
    int process,
    std::int64_t id,
    std::int64_t counter
) const {
    tx.execute(
        "UPDATE " + prefix_ + "soak_list SET length = length + 1, counter = " + text(counter) +
        " WHERE k = " + text(key_number)
    );
    // The row is ours until the end, so that positions are those of the commits.
    tx.execute(
        "INSERT INTO " + prefix_ +
        "soak_entry (k, position, token, process, id) SELECT k, length, " + text(token) + ", " +
        text(process) + ", " + text(id) + " FROM " + prefix_ +
        "soak_list WHERE k = " + text(key_number)
    );
}

void tables::set_value(transaction& tx, int key_number, std::int64_t value) const {
    tx.execute(
        "UPDATE " + prefix_ + "soak_control SET value = " + text(value) +
        " WHERE k = " + text(key_number)
    );
}

std::vector<record> tables::content(const database& db) const {
    std::vector<record> all;
    transaction tx = db.begin();
    const auto note = [&](operation what, const row& from, std::size_t column) -> record& {
        record made;
        made.what = what;
        made.when = phase::note;
        made.key = static_cast<int>(from.integer(0));
        made.number = from.integer(column);
        return all.emplace_back(std::move(made));
    };
    const std::string entries = "SELECT k, position, token, process, id FROM ";
    for (const row& each : tx.execute(entries + prefix_ + "soak_entry").rows) {
        record& made = note(operation::entry, each, 1);
        made.token = each.integer(2);
        made.process = static_cast<int>(each.integer(3));
        made.id = each.integer(4);
    }
    const auto lists = tx.execute("SELECT k, length, counter FROM " + prefix_ + "soak_list");
    for (const row& each : lists.rows) {
        note(operation::length, each, 1);
        note(operation::counter, each, 2);
    }
    const auto controls = tx.execute("SELECT k, value FROM " + prefix_ + "soak_control");
    for (const row& each : controls.rows) note(operation::value, each, 1);
    shares_.add_content(tx, all);
    jobs_.add_content(tx, all);
    return all;
}

}  // namespace leasehold::soak
