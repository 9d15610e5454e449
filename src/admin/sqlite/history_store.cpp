// On SQLite a look comes before a change, and the store notes the clock of the boot for the
// triggers. The statements: history.sql.
#include "admin/sql_history_store.hpp"

#include "sql/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_history_store final : public sql_history_store {
public:
    using sql_history_store::sql_history_store;

    std::int64_t prune(connection& on, int rows_max) override {
        if (read(on, "look").rows.empty()) return 0;
        write(on, "note_clock");
        return sql_history_store::prune(on, rows_max);
    }
};

}  // namespace

std::unique_ptr<history_store> make_history_store(shared_dialect how) {
    return std::make_unique<sqlite_history_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
