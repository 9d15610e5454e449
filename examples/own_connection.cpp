// A service that has a connection of its own, here a sqlite3*: the lease is proved and a row
// claimed in the transaction of its other writes, which leasehold neither begins nor ends. With
// libpq, Connector/C++ or SOCI it is borrow(conn), borrow(connection) or borrow(sql).
//
//   own_connection PATH
#include <sqlite3.h>

#include <iostream>
#include <memory>
#include <stdexcept>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

void run(const handle& own, const char* sql) {
    if (sqlite3_exec(own.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return;
    throw std::runtime_error(sqlite3_errmsg(own.get()));
}

handle open_shop(const char* path) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open(path, &opened);
    handle own{opened, &sqlite3_close};
    if (status != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 5000);
    run(own,
        "CREATE TABLE IF NOT EXISTS parcel (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, "
        "state TEXT, depot TEXT)");
    run(own, "INSERT OR IGNORE INTO parcel VALUES (7, 1, 'waiting', 'north')");
    run(own, "CREATE TABLE IF NOT EXISTS departure (parcel INTEGER, depot TEXT)");
    return own;
}

}  // namespace

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count != 2) {
        std::cerr << "usage: own_connection PATH\n";
        return 64;
    }
    try {
        const handle own = open_shop(arguments[1]);
        // Leases live on connections of leasehold's own, to the same database.
        leasehold::database db = leasehold::sqlite::open(std::string{"sqlite:"} + arguments[1]);
        leasehold::migrate(db);
        leasehold::session session{db, {.name = "dispatch"}};
        leasehold::mutex depot{session, "depot/north"};
        auto lease = depot.acquire_for(10s);
        if (!lease) {
            std::cerr << "busy\n";
            return 75;
        }
        const leasehold::versioned_claim parcels{
            {.table = "parcel",
             .key = {"id"},
             .version = "version",
             .state = {"state", "waiting", "under way"}}};
        run(own, "BEGIN IMMEDIATE");
        const auto parcel = parcels.try_claim_in(leasehold::borrow(own.get()), {7});
        if (parcel) run(own, "INSERT INTO departure VALUES (7, 'north')");
        lease->verify_in(leasehold::borrow(own.get()));  // throws lease_lost: roll back
        run(own, "COMMIT");
        std::cout << (parcel ? "parcel 7 leaves\n" : "parcel 7 has left\n");
    } catch (const std::exception& failure) {  // closing the handle rolls back
        std::cerr << "own_connection: " << failure.what() << '\n';
        return 1;
    }
}
