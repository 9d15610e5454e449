// The lock is in one database and the data in another, which remembers the highest token it was
// shown. fence_other_database sqlite:locks.db sqlite:data.db
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

void write(
    leasehold::database& data, const leasehold::fencing_token& token, const std::string& text
) {
    const leasehold::fence_guard guard{data};
    leasehold::transaction tx = data.begin();
    guard.admit_in(tx, "shelf/12", token);  // throws lease_lost: a later holder was here
    tx.execute("INSERT OR REPLACE INTO shelf VALUES (12, ?)", {text});
    tx.commit();
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: fence_other_database sqlite:LOCKS sqlite:DATA\n";
        return 64;
    }
    try {
        leasehold::database locks = leasehold::sqlite::open(arguments[1]);
        leasehold::database data = leasehold::sqlite::open(arguments[2]);
        leasehold::migrate(locks);
        leasehold::migrate(data);  // the guard's table is one of leasehold's
        {
            leasehold::transaction tx = data.begin();
            tx.execute("CREATE TABLE IF NOT EXISTS shelf (id INTEGER PRIMARY KEY, holds TEXT)");
            tx.commit();
        }
        leasehold::session early{locks, {.name = "early"}}, late{locks, {.name = "late"}};
        auto first = leasehold::mutex{early, "shelf/12"}.try_acquire();
        if (!first) return 75;
        write(data, first->token(), "apples");

        leasehold::force_release(locks, "shelf/12");  // the first holder does not know yet
        auto second = leasehold::mutex{late, "shelf/12"}.try_acquire();
        if (!second) return 75;
        write(data, second->token(), "pears");

        try {
            write(data, first->token(), "apples again");
        } catch (const leasehold::error& failure) {
            if (failure.code() != leasehold::errc::lease_lost) throw;
            std::cout << "refused: " << failure.what() << '\n';
        }
        leasehold::transaction tx = data.begin();
        const auto found = tx.execute("SELECT holds FROM shelf WHERE id = 12");
        std::cout << "the shelf holds " << found.rows.at(0).text(0) << '\n';
        return found.rows.at(0).text(0) == "pears" ? 0 : 1;
    } catch (const leasehold::error& failure) {
        std::cerr << "fence_other_database: " << failure.what() << '\n';
        return 1;
    }
}
