// Grants that stand or fall with a transaction of the caller's, on SQLite: made inside of it, since
// a second connection could write nothing meanwhile.
#include "store/pending_store.hpp"
#include "dialect/sqlite/stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// A write that changes no row: the write lock is taken before anything is read, and with it every
// later read is of the newest version.
constexpr std::string_view enter_sql = "DELETE FROM {prefix}lock WHERE 0";

// Reads: 1 row, by primary key.
constexpr std::string_view move_sql =
    "UPDATE {prefix}lock SET owner = ?4 WHERE lock_key = ?1 AND owner = ?2 AND fence = ?3";

class sqlite_pending_store final : public pending_store {
public:
    explicit sqlite_pending_store(const table_names& names)
        : enter_(fill_in(enter_sql, names)), move_(fill_in(move_sql, names)) {}

    pending_entry enter(connection& inside) override {
        constexpr int busy = 5;
        constexpr int busy_snapshot = 517;
        try {
            inside.execute(enter_);
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

    bool move(connection& inside, const hold& held, const owner_id& to) override {
        const parameters values{
            blob{held.key.name()}, blob{held.owner.bytes()}, held.token.number, blob{to.bytes()}};
        return inside.execute(move_, values).affected_rows >= 1;
    }

private:
    const std::string enter_;
    const std::string move_;
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(const table_names& names) {
    return std::make_unique<sqlite_pending_store>(names);
}

}  // namespace leasehold::sqlite_dialect
