// The README's example as a whole program: close the books of a month, one process at a time, and
// never after another took over. Run it twice at once: closing sqlite:demo.db 2026-10
#include <iostream>

// README: begin
#include "leasehold/leasehold.hpp"
using namespace std::chrono_literals;
// README: end

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: closing URL MONTH\n";
        return 64;
    }
    const char* const url = arguments[1];
    const char* const month = arguments[2];
    try {
        // README: begin
        leasehold::database db = leasehold::open(url);  // postgresql://…, mysql://…, sqlite:PATH
        leasehold::migrate(db);
        leasehold::session session{db, {.name = "billing"}};  // one heartbeat for all it holds

        leasehold::mutex closing{session, "invoices/closing"};
        if (auto lease = closing.acquire_for(5s)) {
            leasehold::transaction tx = db.begin();
            tx.execute("CREATE TABLE IF NOT EXISTS closed (month TEXT, token INTEGER)");
            tx.execute("INSERT INTO closed VALUES ($1, $2)", {month, lease->token()});
            lease->verify_in(tx);  // throws lease_lost: nothing was written
            tx.commit();
        } else if (const auto& holder = lease.holder()) {
            std::cout << "busy: " << holder->node_info << '\n';
        }  // the lease is released
        // README: end
    } catch (const leasehold::error& failure) {
        std::cerr << "closing: " << failure.what() << '\n';
        return 1;
    }
}
