// A job that kills its worker, as one does that uses up the memory or meets a bug:
//
//   poisoned_job sqlite:letters.db enqueue   three letters, of which the second is poisoned
//   poisoned_job sqlite:letters.db work      does what there is, until it is killed by it
//
// Its supervisor starts the worker again. Each time the job is rescued from the dead session, and
// with the last rescue it may have (max_rescues) it is discarded, so that the worker lives. Nobody
// has to find out which job it was: its error says so, and retry_job() begins it anew.
//
// The other jobs that a dying worker has are rescued as well, and are counted: with many threads
// give max_rescues some room. Jobs that it has claimed ahead are rescued once: a worker that has a
// rescued job claims no more jobs than it has threads.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "leasehold/leasehold.hpp"

namespace {

void enqueue(const leasehold::database& db) {
    const leasehold::job_queue letters{db, "letters"};
    for (const char* each : {"Ada", "poison", "Grace"}) {
        letters.enqueue({.payload = each, .max_rescues = 2});
    }
}

void work(const leasehold::database& db) {
    using namespace std::chrono_literals;
    // The job of a dead worker is rescued so long after; see session.hpp for what is too short.
    leasehold::session session{db, {.name = "printer", .ttl = 2s}};
    leasehold::worker printer{
        session, {.queues = {"letters"}, .concurrency = 1, .stop_when_idle = true}};
    printer.handle("", [](leasehold::job& job) {
        if (job.payload() == "poison") std::abort();
        std::cout << "printed " << job.payload() << std::endl;
    });
    printer.run();
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count == 3 ? arguments[2] : "";
    if (what != "enqueue" && what != "work") {
        std::cerr << "usage: poisoned_job URL (enqueue | work)\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::open(arguments[1]);
        leasehold::migrate(db);
        what == "work" ? work(db) : enqueue(db);
        return 0;
    } catch (const leasehold::error& failure) {
        std::cerr << "poisoned_job: " << failure.what() << '\n';
        return 1;
    }
}
