// The part of migrations that is MySQL's and MariaDB's own: GET_LOCK excludes other migrators. The
// statements: migration.sql.
#include "admin/sql_migration_store.hpp"

#include "admin/sql_stores.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr auto migrations = std::to_array<migration_file>({
#include "migration_texts_mysql.inc"
});

// One second at a time, so that no answer is waited for longer than the least statement time-out.
constexpr int wait_per_try_s = 1;

class mysql_migration_store final : public sql_migration_store {
public:
    explicit mysql_migration_store(shared_dialect how)
        : sql_migration_store(std::move(how), migrations) {}

    bool migrates_in_transactions() const override { return false; }

    void lock(connection& on, std::chrono::milliseconds timeout) override {
        const std::string& prefix = how_->names().prefix;
        const auto max_waited = std::chrono::ceil<std::chrono::seconds>(timeout);
        for (int waited_s = 0; waited_s < max_waited.count(); waited_s += wait_per_try_s) {
            const result answer = run(on, "get_lock", {prefix, wait_per_try_s});
            if (answer.rows.at(0).is_null(only_column)) {
                throw error(
                    errc::database_error,
                    "the server could not lock the migrations of prefix " + prefix +
                        " (GET_LOCK): name a database in the URL, and look into the server's log"
                );
            }
            if (only_integer(answer) == 1) return;
        }
        throw error(
            errc::timed_out,
            "another process has been migrating the tables with prefix " + prefix + " for " +
                std::to_string(max_waited.count()) + " s: wait for it, then try again"
        );
    }

    void unlock(connection& on, bool) override {
        try {
            run(on, "release_lock", {how_->names().prefix});
        } catch (const error&) {
            // A broken connection has lost the lock with its session.
        }
    }

    void apply(connection& on, std::string_view statements) override {
        for (const std::string& each : split_statements(statements)) on.execute(each);
    }

    std::string grants(std::string_view user) const override {
        // A user's own name may have an @ in it, a host has none.
        const auto at = user.rfind('@');
        std::string quoted = quoted_identifier(user.substr(0, at), '`');
        if (at != std::string_view::npos) {
            quoted += "@" + quoted_identifier(user.substr(at + 1), '`');
        }
        return replaced(texts_.source("grants"), "{user}", quoted) + ";\n";
    }
};

}  // namespace

std::unique_ptr<migration_store> make_migration_store(shared_dialect how) {
    return std::make_unique<mysql_migration_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
