// The suite on PostgreSQL, at LEASEHOLD_TEST_POSTGRES_URL.
#include <cstdlib>

#include "conformance/sql_backend.hpp"
#include "leasehold/driver/postgres.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

// Looks in every schema.
constexpr const char* names_sql =
    "SELECT relname::text FROM pg_class WHERE starts_with(relname::text, $1) "
    "UNION SELECT conname::text FROM pg_constraint WHERE starts_with(conname::text, $1) "
    "UNION SELECT proname::text FROM pg_proc WHERE starts_with(proname::text, $1)";

database open_prefixed(const std::string& url, const std::string& prefix) {
    // Tables are made and dropped, which a disk that others use too may take long for.
    database_settings settings = patient();
    settings.names.prefix = prefix;
    return postgres::open(url, settings);
}

// A schema in which nobody may make anything, its owner included.
forbidden_place closed_schema(const std::string& url, const sql_words& words) {
    const auto run = [=](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const std::string schema = prefix + "closed";
        const database own = postgres::open(url, patient());
        run_alone(
            own,
            {"CREATE SCHEMA " + schema,
             "REVOKE CREATE ON SCHEMA " + schema + " FROM PUBLIC",
             "REVOKE CREATE ON SCHEMA " + schema + " FROM CURRENT_USER"}
        );
        const auto found = try_there(
            open_prefixed(with_option(url, "options=-csearch_path%3D" + schema), prefix),
            attempt,
            own,
            words,
            prefix
        );
        run_alone(own, {"DROP SCHEMA " + schema + " CASCADE"});
        return found;
    };
    return {"no right to make tables", errc::permission_denied, run};
}

forbidden_place read_only_database(const std::string& url, const sql_words& words) {
    const auto run = [=](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const std::string name = prefix + "readonly";
        const database own = postgres::open(url, patient());
        run_alone(
            own,
            {"CREATE DATABASE " + name,
             "ALTER DATABASE " + name + " SET default_transaction_read_only = on"}
        );
        const auto found = [&] {
            const database there = open_prefixed(with_database(url, name), prefix);
            return try_there(there, attempt, there, words, prefix);
        }();
        run_alone(own, {"DROP DATABASE " + name});
        return found;
    };
    return {"default_transaction_read_only", errc::read_only, run};
}

}  // namespace

backend make_backend() {
    const std::string url = require_url("postgres");
    const std::string program_url = require_program_url("postgres");
    const auto opens = [](const std::string& at) {
        return [at](database_settings settings) { return postgres::open(at, std::move(settings)); };
    };
    const std::string ago = "make_interval(secs => MICROS / 1e6)";
    const sql_words words{ago, "$1", "bigint", names_sql, ago};
    backend made = make_sql_backend(
        "postgres", words, {opens(url), opens(program_url), user_of(program_url)}, fresh_prefix()
    );
    made.has_notifications = true;
    made.forbidden_places = {closed_schema(url, words), read_only_database(url, words)};
    const auto own = std::make_shared<database>(opens(url)(patient()));
    const std::string prefix = made.open({}).settings().names.prefix;
    made.run_elsewhere = [=](const backend::visit& visit) {
        const std::string name = prefix + "elsewhere";
        const auto open = [&] { return open_prefixed(with_database(url, name), prefix); };
        // No pooler lets a database be made through it, and one goes on holding connections to it.
        const char* const direct = std::getenv("LEASEHOLD_TEST_POSTGRES_DIRECT_URL");
        const database server = opens(direct ? direct : url)(patient());
        const std::string drops = "DROP DATABASE " + name + " WITH (FORCE)";
        run_in_new_database(server, "CREATE DATABASE " + name, drops, open, visit);
    };
    made.writes_so_far = [own] {
        transaction tx = own->begin();
        // Transaction ids given out plus bytes of log: a refused try must move neither.
        const auto found = tx.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn + "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
        );
        return std::stoll(found.rows.at(0).text(0));
    };
    made.writes_tolerated_per_1000 = 20'000;  // checkpointer and autovacuum write while we look
    return made;
}

}  // namespace leasehold::testing
