// What is SQLite's own about the tables themselves: the write lock is the migrators' lock.
#include "dialect/schema_store.hpp"

#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

constexpr migration migrations[] = {
#include "migrations_sqlite.inc"
};

class sqlite_schema_store final : public transactional_schema_store {
public:
    explicit sqlite_schema_store(shared_dialect how)
        : transactional_schema_store(std::move(how), migrations) {}

    void lock(connection& on, std::chrono::milliseconds) override { on.begin(); }
    void apply(connection& on, std::string_view statements) override {
        on.execute_script(statements);
    }

private:
    bool has_records(connection& on) override { return !run(on, "find_records").rows.empty(); }
};

}  // namespace

std::unique_ptr<schema_store> make_schema_store(shared_dialect how) {
    return std::make_unique<sqlite_schema_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
