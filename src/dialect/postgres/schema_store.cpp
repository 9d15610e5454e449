// The tables themselves on PostgreSQL: DDL is transactional, so a migration is whole or not at all.
#include "store/schema_store.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

constexpr migration migrations[] = {
#include "migrations_postgres.inc"
};

// $1 the prefix. Held until the transaction ends, so it works behind a pooler too. By the prefix
// alone: an unnamed schema may be the same as a named one, and excluding too many is harmless.
constexpr std::string_view lock_sql = R"sql(
SELECT pg_advisory_xact_lock(hashtextextended('leasehold migrations of ' || lower($1::text), 0))
)sql";

// $1 a table as statements name it. Asks without failing: an error would end the transaction.
// to_regclass() alone answers from a cache, which within a transaction is not told of a table that
// was dropped while the lock was waited for; a statement that reads a table brings it up to date.
constexpr std::string_view table_exists_sql = R"sql(
SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass($1::text)))sql";

// $1 a schema. CREATE SCHEMA IF NOT EXISTS wants the right to create one even where there is one.
constexpr std::string_view schema_exists_sql = R"sql(
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text))sql";

constexpr std::string_view create_records_table_sql =
    R"sql(CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    integer     NOT NULL,
    name       text        NOT NULL,
    checksum   text        NOT NULL,  -- SHA-256 of the up file
    applied_at timestamptz NOT NULL DEFAULT now(),
    finished   boolean     NOT NULL,
    CONSTRAINT {bare}migration_pkey PRIMARY KEY (version)
);
)sql";

constexpr std::string_view recorded_sql = R"sql(
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version)sql";

// $1 version, $2 name, $3 checksum, $4 finished.
constexpr std::string_view record_row_sql = R"sql(
INSERT INTO {prefix}migration (version, name, checksum, finished)
VALUES ($1::bigint, $2, $3, $4::bigint = 1)
ON CONFLICT (version) DO UPDATE
   SET name = excluded.name, checksum = excluded.checksum, finished = excluded.finished,
       applied_at = now())sql";

// $1 version.
constexpr std::string_view forget_row_sql = R"sql(
DELETE FROM {prefix}migration WHERE version = $1::bigint)sql";

constexpr std::string_view drop_records_table_sql = "DROP TABLE IF EXISTS {prefix}migration";

std::string quoted(std::string_view text) {
    std::string literal{"'"};
    for (const char each : text) literal.append(each == '\'' ? 2 : 1, each);
    return literal + "'";
}

class postgres_schema_store final : public schema_store {
public:
    explicit postgres_schema_store(const table_names& names)
        : names_(names),
          records_table_(fill_in("{prefix}migration", names)),
          recorded_(fill_in(recorded_sql, names)),
          create_records_table_(fill_in(create_records_table_sql, names)),
          record_row_(fill_in(record_row_sql, names)),
          forget_row_(fill_in(forget_row_sql, names)) {}

    std::span<const migration> known() const override { return migrations; }

    std::string with_names(std::string_view text) const override { return fill_in(text, names_); }

    bool migrates_in_transactions() const override { return true; }

    void lock(connection& on, std::chrono::milliseconds) override {
        on.begin();
        try {
            on.execute(lock_sql, {names_.prefix});
        } catch (const error& failure) {
            on.rollback();
            // The driver bounds the wait by statement_timeout and lock_timeout, whichever is first.
            if (failure.code() != errc::timed_out && failure.sqlstate() != "55P03") throw;
            throw error{
                errc::timed_out,
                "another process is migrating the tables " + records_table_ +
                    " belongs to and did not finish in time: try again",
                {failure.sqlstate(), failure.native_code(), failure.server_message(), false}};
        }
    }

    // A commit that failed is let through: swallowed, it would pass for an applied migration.
    void unlock(connection& on, bool commit) override {
        if (commit) {
            on.commit();
        } else {
            on.rollback();
        }
    }

    std::optional<std::vector<migration_record>> recorded(connection& on) override {
        if (on.execute(table_exists_sql, {records_table_}).rows.at(0).integer(0) == 0) {
            return std::nullopt;
        }
        try {
            return records_in(on.execute(recorded_));
        } catch (const error& failure) {
            // Outside the lock somebody may take the last migration back between the two.
            const bool is_gone = failure.code() == errc::schema_missing;
            if (!is_gone || on.state() != connection_state::idle) throw;
            return std::nullopt;
        }
    }

    void apply(connection& on, std::string_view statements) override {
        require_namespace(on);
        on.execute_script(statements);
    }

    void record(connection& on, const migration_record& what) override {
        if (on.execute(table_exists_sql, {records_table_}).rows.at(0).integer(0) == 0) {
            require_namespace(on);
            on.execute_script(create_records_table_);
        }
        on.execute(
            record_row_,
            {value{what.version}, what.name, what.checksum, value{what.is_finished ? 1 : 0}}
        );
    }

    void forget(connection& on, int version) override { on.execute(forget_row_, {value{version}}); }

    void drop_records(connection& on) override {
        on.execute(fill_in(drop_records_table_sql, names_));
    }

    std::string record_sql(const migration_record& what) const override {
        const std::string finished = what.is_finished ? "true" : "false";
        return "INSERT INTO " + records_table_ + " (version, name, checksum, finished)\nVALUES (" +
               std::to_string(what.version) + ", " + quoted(what.name) + ", " +
               quoted(what.checksum) + ", " + finished +
               ")\nON CONFLICT (version) DO UPDATE SET finished = excluded.finished;\n";
    }

    std::string forget_sql(int version) const override {
        return "DELETE FROM " + records_table_ + " WHERE version = " + std::to_string(version) +
               ";\n";
    }

    std::string create_records_sql() const override {
        const std::string schema = names_.schema.empty() ? "" : create_schema_text() + ";\n";
        return schema + create_records_table_;
    }

private:
    static std::vector<migration_record> records_in(const result& found) {
        std::vector<migration_record> records;
        for (const row& each : found.rows) {
            records.push_back(
                {static_cast<int>(each.integer(0)),
                 each.text(1),
                 each.text(2),
                 each.integer(3) != 0}
            );
        }
        return records;
    }

    std::string create_schema_text() const {
        return "CREATE SCHEMA IF NOT EXISTS \"" + names_.schema + "\"";
    }

    void require_namespace(connection& on) {
        if (names_.schema.empty()) return;
        const result found = on.execute(schema_exists_sql, {names_.schema});
        if (found.rows.at(0).integer(0) == 0) on.execute(create_schema_text());
    }

    const table_names names_;
    const std::string records_table_;
    const std::string recorded_;
    const std::string create_records_table_;
    const std::string record_row_;
    const std::string forget_row_;
};

}  // namespace

std::unique_ptr<schema_store> make_schema_store(const table_names& names) {
    return std::make_unique<postgres_schema_store>(names);
}

}  // namespace leasehold::postgres_dialect
