// The part of migrations that is PostgreSQL's own: a schema may have to be made. The statements:
// migration.sql.
#include "admin/sql_migration_store.hpp"

#include "admin/sql_stores.hpp"
#include "leasehold/error.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

constexpr migration_file migrations[] = {
#include "migration_texts_postgres.inc"
};

class postgres_migration_store final : public transactional_migration_store {
public:
    explicit postgres_migration_store(shared_dialect how)
        : transactional_migration_store(std::move(how), migrations),
          records_table_(fill_in("{prefix}migration", how_->names())) {}

    void lock(connection& on, std::chrono::milliseconds) override {
        on.begin();
        try {
            run(on, "lock", {how_->names().prefix});
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

    void apply(connection& on, std::string_view statements) override {
        require_namespace(on);
        on.execute_script(statements);
    }

    std::string grants(std::string_view user) const override {
        const std::string quoted = quoted_identifier(user, '"');
        const std::string schema =
            how_->names().schema.empty()
                ? "-- The schema of these tables must be in the user's search path, and USAGE of "
                  "it "
                  "granted;\n-- of public everybody has that.\n"
                : replaced(written_schema("grant_schema"), "{user}", quoted) + ";\n";
        return schema + replaced(texts_.source("grants"), "{user}", quoted) + ";\n";
    }

private:
    void create_records(connection& on) override {
        if (has_records(on)) return;
        require_namespace(on);
        transactional_migration_store::create_records(on);
    }

    std::string create_records_text() const override {
        const std::string schema =
            how_->names().schema.empty() ? "" : written_schema("create_schema") + ";\n";
        return schema + transactional_migration_store::create_records_text();
    }

    std::string written_schema(std::string_view name) const {
        return replaced(texts_.source(name), "{schema}", how_->names().schema);
    }

    void require_namespace(connection& on) {
        const std::string& schema = how_->names().schema;
        if (schema.empty()) return;
        const result found = run(on, "schema_exists", {schema});
        if (only_integer(found) == 0) on.execute(written_schema("create_schema"));
    }

    const std::string records_table_;
};

}  // namespace

std::unique_ptr<migration_store> make_migration_store(shared_dialect how) {
    return std::make_unique<postgres_migration_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
