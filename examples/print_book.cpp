// A long job that goes on where its last attempt ended: the pages of a book, each printed once.
//
//   print_book sqlite:books.db 5        prints pages 1 to 5
//   print_book sqlite:books.db 5 3      the first attempt fails before page 3
//
// "Printed" is a row of a table here, written in one commit with the checkpoint: so no page is
// printed twice, and none is left out, whatever dies in between.
#include <iostream>
#include <stdexcept>
#include <string>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

void print(leasehold::database& db, leasehold::job& job, int fails_before) {
    const int pages = std::stoi(job.payload());
    int page = job.checkpoint().empty() ? 1 : std::stoi(job.checkpoint());
    std::cout << "begins with page " << page << '\n';
    for (; page <= pages; ++page) {
        if (page == fails_before && job.attempt() == 1) throw std::runtime_error{"no paper"};
        leasehold::transaction tx = db.begin();
        tx.execute("INSERT INTO printed VALUES ($1)", {page});
        job.save_checkpoint_in(tx, std::to_string(page + 1));  // throws lease_lost: nothing written
        tx.commit();
    }
}

void print_all(leasehold::database& db, const std::string& pages, int fails_before) {
    leasehold::job_queue{db, "books"}.enqueue({.payload = pages, .retry = {.delay = {}}});
    leasehold::worker printer{db, {.queues = {"books"}, .stop_when_idle = true}};
    printer.handle_all([&](leasehold::job& job) { print(db, job, fails_before); });
    const auto report = printer.run();
    std::cout << report.completed << " completed, " << report.failed << " failed\n";
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3 || count > 4) {
        std::cerr << "usage: print_book URL PAGES [PAGE]\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::transaction tx = db.begin();
        tx.execute("CREATE TABLE IF NOT EXISTS printed (page INTEGER PRIMARY KEY)");
        tx.commit();
        print_all(db, arguments[2], count == 4 ? std::stoi(arguments[3]) : 0);
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "print_book: " << failure.what() << '\n';
        return 1;
    }
}
