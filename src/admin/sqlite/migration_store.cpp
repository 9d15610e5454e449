// The part of migrations that is SQLite's own: the write lock is the migrators' lock.
#include "admin/sql_migration_store.hpp"

#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

constexpr migration_file migrations[] = {
#include "migration_texts_sqlite.inc"
};

class sqlite_migration_store final : public transactional_migration_store {
public:
    explicit sqlite_migration_store(shared_dialect how)
        : transactional_migration_store(std::move(how), migrations) {}

    void lock(connection& on, std::chrono::milliseconds) override { on.begin(); }
    void apply(connection& on, std::string_view statements) override {
        on.execute_script(statements);
    }

    std::string grants(std::string_view) const override {
        return "-- SQLite has no users: who may write the file, the files -wal and -shm beside it, "
               "and their\n-- folder may do everything. Nothing is to be granted.\n";
    }
};

}  // namespace

std::unique_ptr<migration_store> make_migration_store(shared_dialect how) {
    return std::make_unique<sqlite_migration_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
