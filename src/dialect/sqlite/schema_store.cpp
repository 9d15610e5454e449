// SQLite: leasehold's own tables. DDL is transactional, and the write lock is the migrators' lock.
#include "store/schema_store.hpp"
#include "dialect/sqlite/stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold::sqlite_dialect {
namespace {

constexpr migration migrations[] = {
#include "migrations_sqlite.inc"
};

constexpr std::string_view create_records_sql_text = R"sql(
CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,  -- SHA-256 of the file
    applied_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    finished   INTEGER NOT NULL   -- 0: begun, and its end is not known
))sql";

constexpr std::string_view find_records_sql =
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{prefix}migration'";

constexpr std::string_view recorded_sql =
    "SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version";

constexpr std::string_view record_sql_text = R"sql(
INSERT INTO {prefix}migration (version, name, checksum, finished) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (version) DO UPDATE SET name = ?2, checksum = ?3, finished = ?4)sql";

constexpr std::string_view forget_sql_text = "DELETE FROM {prefix}migration WHERE version = ?1";

class sqlite_schema_store final : public schema_store {
public:
    explicit sqlite_schema_store(const table_names& names) : names_(names) {
        require_valid(names_);
    }

    std::span<const migration> known() const override { return migrations; }
    std::string with_names(std::string_view text) const override { return fill_in(text, names_); }
    bool migrates_in_transactions() const override { return true; }

    void lock(connection& on, std::chrono::milliseconds) override { on.begin(); }
    void unlock(connection& on, bool commit) override {
        if (commit) {
            on.commit();
        } else {
            on.rollback();
        }
    }

    std::optional<std::vector<migration_record>> recorded(connection& on) override {
        if (on.execute(with_names(find_records_sql)).rows.empty()) return std::nullopt;
        try {
            return records_in(on.execute(with_names(recorded_sql)));
        } catch (const error& failure) {
            // Outside the lock somebody may take the last migration back between the two.
            if (failure.code() != errc::schema_missing) throw;
            return std::nullopt;
        }
    }

    void apply(connection& on, std::string_view statements) override {
        on.execute_script(statements);
    }

    void record(connection& on, const migration_record& what) override {
        on.execute(with_names(create_records_sql_text));
        on.execute(
            with_names(record_sql_text),
            {what.version, what.name, what.checksum, what.is_finished ? 1 : 0}
        );
    }

    void forget(connection& on, int version) override {
        on.execute(with_names(forget_sql_text), {version});
    }

    void drop_records(connection& on) override {
        on.execute(with_names("DROP TABLE IF EXISTS {prefix}migration"));
    }

    std::string record_sql(const migration_record& what) const override {
        return with_names(
                   "INSERT INTO {prefix}migration (version, name, checksum, finished) VALUES ("
               ) +
               std::to_string(what.version) + ", '" + what.name + "', '" + what.checksum +
               "', 1);\n";
    }
    std::string forget_sql(int version) const override {
        return with_names("DELETE FROM {prefix}migration WHERE version = ") +
               std::to_string(version) + ";\n";
    }
    std::string create_records_sql() const override {
        return with_names(create_records_sql_text) + ";\n";
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

    const table_names names_;
};

}  // namespace

std::unique_ptr<schema_store> make_schema_store(const table_names& names) {
    return std::make_unique<sqlite_schema_store>(names);
}

}  // namespace leasehold::sqlite_dialect
