// What differs between MySQL and MariaDB: nothing that is used here. GET_LOCK takes fractions of a
// second on MariaDB and rounds them on MySQL, where names are also case-insensitive and at most 64
// characters long; so waits are whole seconds, and names are hashed to 60 lower-case digits.
//
// DDL commits by itself on both: a migration that fails leaves a part of itself behind, and its
// record says that it is not finished.
#include <array>

#include "dialect/mysql/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/schema_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr auto migrations = std::to_array<migration>({
#include "migrations_mysql.inc"
});

// One second at a time, so that no answer is waited for longer than the least statement time-out.
constexpr int wait_per_try_s = 1;

// The lock belongs to the connection, so a migrator that dies frees it. In one form for both
// functions: what is locked is this prefix in this database.
constexpr std::string_view get_lock_text = R"sql(
SELECT GET_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', ?), 256), 60), ?))sql";
constexpr std::string_view release_lock_text = R"sql(
SELECT RELEASE_LOCK(
    LEFT(SHA2(CONCAT('leasehold migrations of ', LOWER(DATABASE()), '/', ?), 256), 60)))sql";

constexpr std::string_view has_records_text = R"sql(
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?)sql";

constexpr std::string_view recorded_text = R"sql(
SELECT version, name, checksum, finished FROM {prefix}migration ORDER BY version)sql";

constexpr std::string_view create_text = R"sql(CREATE TABLE IF NOT EXISTS {prefix}migration (
    version    INT          NOT NULL,
    name       VARCHAR(100) CHARACTER SET ascii NOT NULL,
    checksum   CHAR(64)     CHARACTER SET ascii NOT NULL COMMENT 'SHA-256 of the up file',
    applied_at BIGINT       NOT NULL COMMENT 'microseconds since 1970, UTC',
    finished   TINYINT      NOT NULL COMMENT '0: begun, its statements must be run again',
    PRIMARY KEY (version)
) ENGINE = InnoDB)sql";

// UNIX_TIMESTAMP() is in UTC whatever the time zone of whoever runs this by hand. The values are
// named twice because the servers share no word for "the row that was to be inserted".
constexpr std::string_view record_text =
    R"sql(INSERT INTO {prefix}migration (version, name, checksum, applied_at, finished)
VALUES (?, ?, ?, UNIX_TIMESTAMP() * 1000000, ?)
ON DUPLICATE KEY UPDATE
    name = ?, checksum = ?, applied_at = UNIX_TIMESTAMP() * 1000000, finished = ?)sql";

constexpr std::string_view forget_text = R"sql(DELETE FROM {prefix}migration WHERE version = ?)sql";
constexpr std::string_view drop_text = R"sql(DROP TABLE IF EXISTS {prefix}migration)sql";

// Names of migrations and checksums: file names and hexadecimal digits, but nothing relies on it.
std::string quoted(std::string_view text) {
    std::string literal = "'";
    for (const char each : text) {
        if (each == '\'' || each == '\\') literal += each;
        literal += each;
    }
    return literal + "'";
}

std::string with_values(std::string_view text, const std::vector<std::string>& literals) {
    std::string filled;
    std::size_t next = 0;
    for (const char each : text) {
        if (each == '?') {
            filled += literals.at(next++);
        } else {
            filled += each;
        }
    }
    return filled + ";\n";
}

class mysql_schema_store final : public schema_store {
public:
    explicit mysql_schema_store(const table_names& names)
        : names_(names),
          recorded_(fill_in(recorded_text, names)),
          create_(fill_in(create_text, names)),
          record_(fill_in(record_text, names)),
          forget_(fill_in(forget_text, names)),
          drop_(fill_in(drop_text, names)) {}

    std::span<const migration> known() const override { return migrations; }
    std::string with_names(std::string_view text) const override { return fill_in(text, names_); }
    bool migrates_in_transactions() const override { return false; }

    void lock(connection& on, std::chrono::milliseconds patience) override;
    void unlock(connection& on, bool commit) override;
    std::optional<std::vector<migration_record>> recorded(connection& on) override;
    void apply(connection& on, std::string_view statements) override;
    void record(connection& on, const migration_record& what) override;
    void forget(connection& on, int version) override;
    void drop_records(connection& on) override { on.execute(drop_); }

    std::string record_sql(const migration_record& what) const override;
    std::string forget_sql(int version) const override;
    std::string create_records_sql() const override { return create_ + ";\n"; }

private:
    table_names names_;
    std::string recorded_;
    std::string create_;
    std::string record_;
    std::string forget_;
    std::string drop_;
};

void mysql_schema_store::lock(connection& on, std::chrono::milliseconds patience) {
    const auto waited_max = std::chrono::ceil<std::chrono::seconds>(patience);
    for (int waited_s = 0; waited_s < waited_max.count(); waited_s += wait_per_try_s) {
        const result answer = on.execute(get_lock_text, {names_.prefix, wait_per_try_s});
        const row& got = answer.rows.at(0);
        if (got.is_null(0)) {
            throw error(
                errc::database_error,
                "the server could not lock the migrations of prefix " + names_.prefix +
                    " (GET_LOCK): name a database in the URL, and look into the server's log"
            );
        }
        if (got.integer(0) == 1) return;
    }
    throw error(
        errc::timed_out,
        "another process has been migrating the tables with prefix " + names_.prefix + " for " +
            std::to_string(waited_max.count()) + " s: wait for it, then try again"
    );
}

void mysql_schema_store::unlock(connection& on, bool) {
    try {
        on.execute(release_lock_text, {names_.prefix});
    } catch (const error&) {
        // A connection that cannot be asked any more has lost the lock with its session.
    }
}

std::vector<migration_record> records_in(const result& found) {
    std::vector<migration_record> records;
    for (const row& each : found.rows) {
        records.push_back({
            .version = static_cast<int>(each.integer(0)),
            .name = each.bytes(1),
            .checksum = each.bytes(2),
            .is_finished = each.integer(3) != 0,
        });
    }
    return records;
}

std::optional<std::vector<migration_record>> mysql_schema_store::recorded(connection& on) {
    const std::string table = fill_in("{bare}migration", names_);
    if (on.execute(has_records_text, {table}).rows.at(0).integer(0) == 0) return std::nullopt;
    try {
        return records_in(on.execute(recorded_));
    } catch (const error& failure) {
        // Outside the lock somebody may take the last migration back between the two.
        if (failure.code() != errc::schema_missing) throw;
        return std::nullopt;
    }
}

void mysql_schema_store::apply(connection& on, std::string_view statements) {
    for (const std::string& each : split_statements(statements)) on.execute(each);
}

void mysql_schema_store::record(connection& on, const migration_record& what) {
    on.execute(create_);
    const int finished = what.is_finished ? 1 : 0;
    on.execute(
        record_,
        {what.version, what.name, what.checksum, finished, what.name, what.checksum, finished}
    );
}

void mysql_schema_store::forget(connection& on, int version) {
    on.execute(forget_, {version});
}

std::string mysql_schema_store::record_sql(const migration_record& what) const {
    const std::string name = quoted(what.name);
    const std::string checksum = quoted(what.checksum);
    const std::string finished = what.is_finished ? "1" : "0";
    return with_values(
        record_, {std::to_string(what.version), name, checksum, finished, name, checksum, finished}
    );
}

std::string mysql_schema_store::forget_sql(int version) const {
    return with_values(forget_, {std::to_string(version)});
}

}  // namespace

std::unique_ptr<schema_store> make_schema_store(const table_names& names) {
    return std::make_unique<mysql_schema_store>(names);
}

}  // namespace leasehold::mysql_dialect
