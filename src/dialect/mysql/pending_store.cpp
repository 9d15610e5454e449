// Grants that stand or fall with a transaction of the caller's, on MySQL and MariaDB. One statement
// each, without a clock, so that neither the time zone nor the flags of the caller's connection
// matter.
#include "store/pending_store.hpp"
#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

// By primary key: one record lock. It waits for whoever has the row at this moment, all of whom
// are done within one statement and hold nothing the caller has: so no circle can close. Not SKIP
// LOCKED, because MariaDB's may be reported as a deadlock, which rolls the caller back. Reads: 1
// row.
constexpr std::string_view move_text = R"sql(
UPDATE {prefix}lock l SET l.owner = ? WHERE l.lock_key = ? AND l.owner = ? AND l.fence = ?)sql";

class mysql_pending_store final : public pending_store {
public:
    mysql_pending_store(const table_names& names, engine which)
        : move_(statement(move_text, names, which)) {}

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

    // The owner always changes, so the count is the same with and without CLIENT_FOUND_ROWS.
    bool move(connection& inside, const hold& held, const owner_id& to) override {
        const parameters values{
            blob{to.bytes()}, blob{held.key.name()}, blob{held.owner.bytes()}, held.token.number};
        return inside.execute(move_, values).affected_rows == 1;
    }

private:
    const std::string move_;
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(const table_names& names, engine which) {
    return std::make_unique<mysql_pending_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
