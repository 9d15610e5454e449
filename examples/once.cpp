// A report that every host wants to make and one of them makes, once per day:
//
//   once sqlite:example.db
//
// prints "made", or why it was not this process that made it. Its result is committed together with
// the record that it was made: a process that dies in between has done neither.
#include "leasehold/once.hpp"

#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

int make_report(const std::string& url) {
    leasehold::database db = leasehold::sqlite::open(url);
    leasehold::migrate(db);
    leasehold::session session{db, {.name = "reports"}};

    const auto nightly = leasehold::schedule::cron("0 0 * * *");
    leasehold::once task{session, "reports/nightly", nightly};
    if (auto run = task.try_start()) {
        leasehold::transaction tx = db.begin();
        tx.execute("CREATE TABLE IF NOT EXISTS report (token INTEGER)");
        tx.execute("INSERT INTO report VALUES (?)", {run->lease().token().number});
        run->finish_in(tx);  // throws lease_lost: nothing was written
        tx.commit();
        std::cout << "made\n";
    } else {
        std::cout << name_of(run.outlook().refusal) << '\n';
    }  // the lease is released
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: once URL\n";
        return 64;
    }
    try {
        return make_report(arguments[1]);
    } catch (const leasehold::error& failure) {
        std::cerr << "once: " << failure.what() << '\n';
        return 1;
    }
}
