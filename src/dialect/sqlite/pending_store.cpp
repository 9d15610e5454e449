// Grants that stand or fall with a transaction of the caller's, on SQLite: made inside of it, since
// a second connection could write nothing meanwhile. The statements: pending.sql.
#include "dialect/pending_store.hpp"

#include "dialect/sqlite/stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_pending_store final : public sql_pending_store {
public:
    explicit sqlite_pending_store(shared_dialect how) : sql_pending_store(std::move(how)) {}

    pending_entry enter(connection& inside) override {
        constexpr int busy = 5;
        constexpr int busy_snapshot = 517;
        try {
            sql_store::inside(inside, "enter");
            return pending_entry::inside;
        } catch (const error& failure) {
            if (failure.native_code() == busy_snapshot) {
                throw error(
                    errc::wrong_transaction,
                    "this transaction read before somebody else wrote, so that it can write "
                    "nothing any more: roll it back, and begin it with BEGIN IMMEDIATE"
                );
            }
            if ((failure.native_code() & 0xff) != busy) throw;
            return pending_entry::busy;
        }
    }
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(shared_dialect how) {
    return std::make_unique<sqlite_pending_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
