// An order enqueues its confirmation mail in its own commit, and a worker sends it:
//
//   order_mail sqlite:shop.db order 42   the order and its job are there, or neither
//   order_mail sqlite:shop.db send       sends what there is
//
// "Sent" is a row of a table here, written in the commit that completes the job: so it is sent once
// whatever dies in between. A mail server would be told the job's number, to know what comes twice.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

void order(leasehold::database& db, const std::string& number) {
    leasehold::transaction tx = db.begin();
    tx.execute("CREATE TABLE IF NOT EXISTS purchase (number TEXT PRIMARY KEY)");
    tx.execute("CREATE TABLE IF NOT EXISTS sent (letter TEXT PRIMARY KEY)");
    tx.execute("INSERT INTO purchase VALUES ($1)", {number});
    // README: begin
    leasehold::job_queue{db, "mail"}.enqueue_in(tx, {.kind = "confirm", .payload = number});
    // README: end
    tx.commit();
    std::cout << "ordered " << number << '\n';
}

void send_letter(leasehold::database& db, leasehold::job& job) {
    leasehold::transaction tx = db.begin();
    tx.execute("INSERT INTO sent VALUES ($1)", {"thanks for order " + job.payload()});
    job.complete_in(tx);  // throws lease_lost: nothing was written
    tx.commit();
}

void send(leasehold::database& db) {
    // README: begin
    leasehold::worker mailer{db, {.queues = {"mail"}, .concurrency = 4, .stop_when_idle = true}};
    mailer.handle("confirm", [&](leasehold::job& job) { send_letter(db, job); });
    // README: end
    std::cout << "sent " << mailer.run().completed << '\n';
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count > 2 ? arguments[2] : "";
    if (!(what == "order" && count == 4) && !(what == "send" && count == 3)) {
        std::cerr << "usage: order_mail URL (order NUMBER | send)\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        what == "order" ? order(db, arguments[3]) : send(db);
        return 0;
    } catch (const leasehold::error& failure) {
        std::cerr << "order_mail: " << failure.what() << '\n';
        return 1;
    }
}
