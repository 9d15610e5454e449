// Whether a grant can stand or fall with the caller's transaction, on MySQL and MariaDB:
// pending.sql.
#include "dialect/pending_store.hpp"

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_pending_store final : public sql_pending_store {
public:
    explicit mysql_pending_store(shared_dialect how) : sql_pending_store(std::move(how)) {}

    pending_entry enter(connection& inside) override {
        const std::string level = session_isolation(inside);
        if (level == "READ-COMMITTED") return pending_entry::beside;
        throw error(
            errc::wrong_transaction,
            "an acquire needs READ COMMITTED and the session is at " + level +
                ", where it may go on reading what was there before the key's last holder wrote: "
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED before the transaction"
        );
    }
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(shared_dialect how) {
    return std::make_unique<mysql_pending_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
