// The part of the tables' upkeep that is PostgreSQL's own: it clears a list of rows at a time. The
// statements: schema.sql.
#include "admin/sql_schema_store.hpp"

#include <deque>

#include "leasehold/error.hpp"
#include "sql/postgres/stores.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

constexpr migration_file migrations[] = {
#include "migrations_postgres.inc"
};

class postgres_schema_store final : public transactional_schema_store {
public:
    explicit postgres_schema_store(shared_dialect how)
        : transactional_schema_store(std::move(how), migrations),
          records_table_(fill_in("{prefix}migration", how_->names())) {
        constexpr names_by_task names{
            "free_locks", "remove_dead", "remove_dead", "remove_sessions", "remove_idle"};
        for (const upkeep_task each : tasks) {
            const bool has_ticket = each == upkeep_task::dead_waiters;
            clears_.emplace_back(
                replaced(source_about(each, names), "{asked_rest}", has_ticket ? "amount" : "rest"),
                engine::postgres
            );
        }
    }

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

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        const auto values_of_one = [&](std::size_t at) {
            const parameters all = values_of(task, places[at], 0, retention);
            if (task == upkeep_task::dead_waiters) return parameters{all[0], blob{}, all[1]};
            return parameters{all[0], all[1], all[3]};
        };
        const auto send = [&](const statement& what, const parameters& values) {
            return how_->write(on, what, values);
        };
        std::int64_t cleared = 0;
        const auto count = [&](std::size_t, const row&) { ++cleared; };
        clears_.at(index_of(task)).ask(places.size(), values_of_one, send, count);
        return cleared;
    }

private:
    bool has_records(connection& on) override {
        return run(on, "table_exists", {records_table_}).rows.at(0).integer(0) != 0;
    }

    void create_records(connection& on) override {
        if (has_records(on)) return;
        require_namespace(on);
        transactional_schema_store::create_records(on);
    }

    std::string create_records_text() const override {
        const std::string schema =
            how_->names().schema.empty() ? "" : written_schema("create_schema") + ";\n";
        return schema + transactional_schema_store::create_records_text();
    }

    std::string written_schema(std::string_view name) const {
        return replaced(texts_.source(name), "{schema}", how_->names().schema);
    }

    void require_namespace(connection& on) {
        const std::string& schema = how_->names().schema;
        if (schema.empty()) return;
        const result found = run(on, "schema_exists", {schema});
        if (found.rows.at(0).integer(0) == 0) on.execute(written_schema("create_schema"));
    }

    const std::string records_table_;
    std::deque<list_statement> clears_;
};

}  // namespace

const std::string& grants_text(const sql_dialect& how) {
    return how.of("schema").source("grants");
}

std::unique_ptr<schema_store> make_schema_store(shared_dialect how) {
    return std::make_unique<postgres_schema_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
