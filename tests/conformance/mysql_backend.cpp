#include "conformance/mysql_backend.hpp"

#include "database/database.hpp"
#include "leasehold/driver/mysql.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

const sql_words words{
    "MICROS",
    "?",
    "BIGINT",
    "SELECT name FROM (SELECT table_schema AS place, table_name AS name "
    "FROM information_schema.tables UNION SELECT constraint_schema, constraint_name "
    "FROM information_schema.table_constraints) found "
    "WHERE place = DATABASE() AND LOCATE(?, name) = 1"};

database open_prefixed(const std::string& url, const std::string& prefix) {
    // Tables are made and dropped, which a disk that others use too may take long for.
    database_settings settings = patient();
    settings.names.prefix = prefix;
    return mysql::open(url, settings);
}

// A user who may change rows but make no tables.
forbidden_place user_without_ddl(const std::string& url) {
    const auto run = [=](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const database own = mysql::open(url, patient());
        const std::string name = prefix + "weak";
        const std::string account = "'" + name + "'@'%'";
        run_alone(
            own,
            {"CREATE USER " + account + " IDENTIFIED BY 'weak'",
             "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold.* TO " + account}
        );
        const auto found = try_there(
            open_prefixed(with_user(url, name, "weak"), prefix), attempt, own, words, prefix
        );
        run_alone(own, {"DROP USER " + account});
        return found;
    };
    return {"no right to make tables", errc::permission_denied, run};
}

// Sessions that take no writes: on a server that others use, read_only cannot be set.
forbidden_place read_only_sessions(const std::string& url) {
    const auto run = [=](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const database own = open_prefixed(url, prefix);
        const auto connect = [own](std::chrono::milliseconds timeout) {
            auto made = own.inner()->connections().connect_apart(timeout);
            made->execute("SET SESSION TRANSACTION READ ONLY");
            return made;
        };
        return try_there(database{connect, own.settings()}, attempt, own, words, prefix);
    };
    return {"read-only transactions", errc::read_only, run};
}

// MySQL alone has these.
forbidden_place read_only_schema(const std::string& url) {
    const auto run = [=](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const std::string name = prefix + "readonly";
        const database own = mysql::open(url, patient());
        run_alone(own, {"CREATE DATABASE " + name, "ALTER DATABASE " + name + " READ ONLY = 1"});
        const auto found = [&] {
            const database there = open_prefixed(with_database(url, name), prefix);
            return try_there(there, attempt, there, words, prefix);
        }();
        run_alone(own, {"ALTER DATABASE " + name + " READ ONLY = 0", "DROP DATABASE " + name});
        return found;
    };
    return {"a read-only database", errc::read_only, run};
}

}  // namespace

backend make_mysql_backend(const std::string& name) {
    const std::string url = require_url(name);
    const std::string program_url = require_program_url(name);
    const auto opens = [](const std::string& at) {
        return [at](database_settings settings) { return mysql::open(at, std::move(settings)); };
    };
    backend made = make_sql_backend(
        name, words, {opens(url), opens(program_url), user_of(program_url)}, fresh_prefix()
    );
    made.forbidden_places = {user_without_ddl(url), read_only_sessions(url)};
    if (name == "mysql") made.forbidden_places.push_back(read_only_schema(url));
    const auto own = std::make_shared<database>(opens(url)(patient()));
    const std::string prefix = made.open({}).settings().names.prefix;
    made.run_elsewhere = [=](const backend::visit& visit) {
        const std::string there = prefix + "elsewhere";
        const auto open = [&] { return open_prefixed(with_database(url, there), prefix); };
        const std::string creates = "CREATE DATABASE " + there;
        run_in_new_database(*own, creates, "DROP DATABASE " + there, open, visit);
    };
    made.writes_so_far = [own] {
        transaction tx = own->begin();
        const auto found = tx.execute("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'");
        return std::stoll(found.rows.at(0).text(1));
    };
    made.writes_tolerated_per_1000 = 20'000;  // the server's own background writes
    // The wrong server must not pass for the right one.
    if (name_of(own->server().engine) != name) {
        throw std::runtime_error("the server for " + name + " is another one");
    }
    return made;
}

}  // namespace leasehold::testing
