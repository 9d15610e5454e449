// PostgreSQL: a schema of its own, which the search path of its URL names, in a database that this
// program has for itself: the doctor tells of the tables of all others.
#include <algorithm>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

class own_database {
public:
    own_database() { ask("CREATE DATABASE " + name_); }
    ~own_database() { ask("DROP DATABASE " + name_ + " WITH (FORCE)"); }
    own_database(const own_database&) = delete;
    own_database& operator=(const own_database&) = delete;

    const std::string& name() const { return name_; }

private:
    void ask(const std::string& sql) const { run_in(postgres::open(url_, patient()), {sql}); }

    const std::string url_ = require_url("postgres");
    const std::string name_ = fresh_prefix() + "upkeep";
};

std::string in_own_database(const std::string& url) {
    static const own_database made;
    return with_database(url, made.name());
}

std::string server() {
    return in_own_database(require_url("postgres"));
}

// The properties of a schema that pg_dump writes. Names of the schema itself are left out.
constexpr const char* shape_queries[] = {
    // Tables, indexes, sequences, views.
    R"sql(SELECT 'relation', relname, relkind::text, relpersistence::text,
                 array_to_string(reloptions, ','), relrowsecurity::text, relacl::text
            FROM pg_class WHERE relnamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'column', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
                 CASE WHEN a.attnotnull THEN 'not null' ELSE 'nullable' END,
                 pg_get_expr(d.adbin, d.adrelid), a.attidentity::text, a.attgenerated::text,
                 a.attstorage::text, l.collname, col_description(c.oid, a.attnum)
            FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
            LEFT JOIN pg_collation l ON l.oid = a.attcollation
           WHERE c.relnamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'constraint', conrelid::regclass::text, conname, contype::text,
                 pg_get_constraintdef(oid), condeferrable::text, convalidated::text
            FROM pg_constraint WHERE connamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'index', replace(pg_get_indexdef(i.indexrelid), current_schema() || '.', ''),
                 i.indisvalid::text, i.indisprimary::text, i.indisunique::text
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
           WHERE c.relnamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'function', replace(pg_get_functiondef(oid), current_schema(), ''), proacl::text
            FROM pg_proc WHERE pronamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'trigger', tgname, tgrelid::regclass::text
            FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
           WHERE c.relnamespace = current_schema()::regnamespace)sql",
    R"sql(SELECT 'type', typname FROM pg_type
           WHERE typnamespace = current_schema()::regnamespace)sql",
};

}  // namespace

place::place() : name_(fresh_prefix() + "place") {
    run_in(postgres::open(server(), patient()), {"CREATE SCHEMA " + name_});
    url_ = with_option(server(), "options=-csearch_path%3D" + name_);
}

place::~place() {
    run_in(postgres::open(server(), patient()), {"DROP SCHEMA " + name_ + " CASCADE"});
}

database place::open_url(const std::string& url) {
    return postgres::open(url, patient());
}

database place::open_named(const std::string& prefix) const {
    database_settings settings = patient();
    settings.names.prefix = prefix;
    return postgres::open(url_, settings);
}

database place::open_as_program() const {
    database_settings settings = patient();
    settings.names.schema = name_;
    return postgres::open(
        with_option(
            in_own_database(require_program_url("postgres")), "options=-csearch_path%3D" + name_
        ),
        settings
    );
}

std::string place::grants() const {
    return grants_sql(engine::postgres, {.schema = name_}, program_name());
}

std::string place::program_name() {
    return user_of(require_program_url("postgres"));
}

void place::load(const std::string& script) const {
    open().inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(script); });
}

std::vector<std::string> place::shape() const {
    std::vector<std::string> lines;
    open().inner()->use_unchecked([&](connection& on, store_set&) {
        for (const char* each : shape_queries) {
            const auto found = lines_of(on, each);
            lines.insert(lines.end(), found.begin(), found.end());
        }
    });
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> place::columns() const {
    return open().inner()->use_unchecked([](connection& on, store_set&) {
        return lines_of(
            on,
            "SELECT table_name || '.' || column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema()"
        );
    });
}

const char* place::schema_file() {
    return "postgres.sql";
}

std::vector<std::string> place::alterations() {
    return {
        "ALTER TABLE leasehold_lock SET (fillfactor = 70)",
        "ALTER TABLE leasehold_session ALTER COLUMN node_info DROP NOT NULL",
        "ALTER TABLE leasehold_fence_mark ALTER COLUMN fence TYPE integer",
        "ALTER TABLE leasehold_fence_mark ALTER COLUMN fence SET DEFAULT 0",
        "ALTER TABLE leasehold_fence_mark ALTER COLUMN fence SET DEFAULT 1",
        "ALTER TABLE leasehold_migration ALTER COLUMN applied_at DROP DEFAULT",
        "ALTER TABLE leasehold_lock DROP CONSTRAINT leasehold_lock_fence_positive",
        "ALTER TABLE leasehold_lock ADD CONSTRAINT leasehold_lock_fence_positive CHECK (fence > 1)",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "ALTER TABLE leasehold_lock ADD COLUMN note text",
        "ALTER TABLE leasehold_session DROP CONSTRAINT leasehold_session_pkey",
        "ALTER TABLE leasehold_session RENAME COLUMN notices TO news",
        "CREATE SEQUENCE leasehold_token",
        "ALTER FUNCTION leasehold_enqueue SECURITY DEFINER",
        "ALTER FUNCTION leasehold_enqueue RESET search_path",
        "REVOKE EXECUTE ON FUNCTION leasehold_enqueue FROM PUBLIC",
        "DROP FUNCTION leasehold_enqueue",
        "ALTER FUNCTION leasehold_prove RESET enable_seqscan",
        "DROP FUNCTION leasehold_prove_job",
        "DROP TABLE leasehold_migration",
    };
}

std::vector<std::string> place::drifts() {
    return {
        "ALTER TABLE leasehold_session ALTER COLUMN node_info DROP NOT NULL",
        "ALTER TABLE leasehold_fence_mark ALTER COLUMN fence TYPE integer",
        "ALTER TABLE leasehold_migration ALTER COLUMN applied_at DROP DEFAULT",
        "ALTER TABLE leasehold_lock DROP CONSTRAINT leasehold_lock_fence_positive",
        "CREATE INDEX leasehold_lock_by_session ON leasehold_lock (session_id)",
        "DROP INDEX leasehold_job_order",
        "ALTER TABLE leasehold_lock ADD COLUMN note text",
        "ALTER TABLE leasehold_session DROP CONSTRAINT leasehold_session_pkey",
        "ALTER TABLE leasehold_job ALTER COLUMN queue TYPE text COLLATE \"POSIX\"",
    };
}

}  // namespace leasehold::testing
