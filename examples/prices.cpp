// Many readers, one writer, and a limited number of printers, among any number of processes.
// Run several at once: prices sqlite:demo.db read|write|print
#include <iostream>
#include <string_view>
#include <utility>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

// Beside other readers; no writer gets in between the two selects.
int read(leasehold::database& db, leasehold::shared_mutex& prices) {
    auto reading = prices.acquire_shared_for(5s);
    if (!reading) return 75;
    leasehold::transaction tx = db.begin();
    const auto count = tx.execute("SELECT count(*) FROM price").rows.at(0).integer(0);
    const auto sum = tx.execute("SELECT coalesce(sum(cents), 0) FROM price").rows.at(0).integer(0);
    std::cout << count << " prices, " << sum << " cents\n";
    return 0;
}

// Reads first, and writes only where there is something to write. Its proof makes the write depend
// on the lease: had the process been paused for longer than its TTL, nothing would be written.
int write(leasehold::database& db, leasehold::shared_mutex& prices) {
    auto looking = prices.acquire_upgradeable_for(5s);
    if (!looking) return 75;
    auto writing = prices.upgrade_for(std::move(*looking), 5s);
    if (!writing) return 75;
    leasehold::transaction tx = db.begin();
    tx.execute("INSERT INTO price (cents, token) VALUES (250, ?)", {writing->token().number});
    writing->verify_in(tx);
    tx.commit();
    prices.downgrade(*writing);  // readers are in again, and no other writer was in between
    std::cout << "written under token " << writing->token().number << '\n';
    return 0;
}

// At most two at a time, on whatever machine.
int print(leasehold::session& session) {
    leasehold::semaphore printers{session, "printers", 2};
    auto printing = printers.try_acquire();
    if (!printing) {
        std::cout << "all printers are busy\n";
        return 75;
    }
    std::cout << "printing\n";
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: prices sqlite:PATH read|write|print\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        {
            leasehold::transaction tx = db.begin();
            tx.execute("CREATE TABLE IF NOT EXISTS price (cents INTEGER, token INTEGER)");
            tx.commit();
        }
        leasehold::session session{db, {.name = "prices"}};
        leasehold::shared_mutex prices{session, "prices"};
        const std::string_view what = arguments[2];
        if (what == "read") return read(db, prices);
        if (what == "write") return write(db, prices);
        return print(session);
    } catch (const leasehold::error& failure) {
        std::cerr << "prices: " << failure.what() << '\n';
        return 1;
    }
}
