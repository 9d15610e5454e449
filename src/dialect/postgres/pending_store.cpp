// Whether a grant can stand or fall with the caller's transaction, on PostgreSQL: pending.sql.
#include "dialect/pending_store.hpp"

#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_pending_store final : public sql_pending_store {
public:
    explicit postgres_pending_store(shared_dialect how) : sql_pending_store(std::move(how)) {}

    pending_entry enter(connection& inside) override {
        const std::string table = fill_in("{prefix}lock", how_->names());
        const row found = sql_store::inside(inside, "enter", {how_->names().schema}).rows.at(0);
        if (found.text(0) != "read committed") {
            throw error(
                errc::wrong_transaction,
                "an acquire needs READ COMMITTED and this transaction is at " + found.text(0) +
                    ", where it may go on reading what was there before the key's last holder "
                    "wrote: begin it with BEGIN ISOLATION LEVEL READ COMMITTED"
            );
        }
        if (found.text(1) != "off") {
            throw error(
                errc::read_only,
                "an acquire needs a transaction that may write: begin it with BEGIN READ WRITE, on "
                "a server that is no standby"
            );
        }
        if (found.integer(2) == 0) {
            throw error(
                errc::schema_missing,
                "the caller's connection finds no table " + table +
                    ": it is in another database, or its search_path does not name the schema"
            );
        }
        if (found.integer(3) == 0) {
            throw error(
                errc::permission_denied,
                "the user of the caller's connection may not read and update " + table +
                    ": grant SELECT and UPDATE, and USAGE of its schema"
            );
        }
        return pending_entry::beside;
    }
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(shared_dialect how) {
    return std::make_unique<postgres_pending_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
