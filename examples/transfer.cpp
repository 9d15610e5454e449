// Two keys as one: a transfer that needs both accounts to itself. Run it several times at once, in
// both directions: transfer sqlite:demo.db FROM TO
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count != 4) {
        std::cerr << "usage: transfer sqlite:PATH FROM TO\n";
        return 64;
    }
    const std::string from = arguments[2], to = arguments[3];
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::session session{db, {.name = "transfer"}};
        leasehold::multi_lock both{session, {"account/" + from, "account/" + to}};
        auto held = both.acquire_for(10s);
        if (!held) {
            std::cerr << "busy\n";
            return 75;
        }
        leasehold::transaction tx = db.begin();
        tx.execute("CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, sum INTEGER)");
        for (const auto& [name, change] : {std::pair{from, -1}, {to, 1}}) {
            tx.execute("INSERT OR IGNORE INTO account VALUES (?, 0)", {name});
            tx.execute("UPDATE account SET sum = sum + ? WHERE name = ?", {change, name});
        }
        held->verify_in(tx);  // one statement for both; throws lease_lost: nothing was moved
        tx.commit();
        std::cout << "moved 1 from " << from << " to " << to << '\n';
    } catch (const leasehold::error& failure) {
        std::cerr << "transfer: " << failure.what() << '\n';
        return 1;
    }
}
