// One worker of a soak run: takes what there is, works, writes with proof and without, and records
// all of it, until it is told to stop or killed.
//
//   soak_worker WORKER PROCESS SEED FOLDER PREFIX      the URL is in LEASEHOLD_SOAK_URL
//
// LEASEHOLD_SOAK_PLANT makes it wrong on purpose, to show that the checkers see it.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "soak/duties/workplace.hpp"
#include "soak/jobs/hands.hpp"

namespace leasehold::soak {
namespace {

// Mutexes are every second duty: the checks of lost updates need many workers that want the same.
std::vector<std::unique_ptr<duty>> duties_of(workplace& at) {
    std::vector<std::unique_ptr<duty>> all;
    for (const auto make : {shared_duty, shared_duty, permits_duty, permits_duty}) {
        all.push_back(make(at));
    }
    for (const auto make : {set_duty, task_duty, row_duty, row_duty}) all.push_back(make(at));
    for (const auto make : {job_duty, job_duty}) all.push_back(make(at));
    return all;
}

// Beside the duties, with a session and connections of its own.
std::jthread do_jobs(workplace& at) {
    const worker_settings& given = at.given();
    job_hands::settings chosen;
    chosen.process = given.process;
    chosen.seed = given.seed + 1;
    chosen.folder = given.folder;
    chosen.prefix = given.prefix;
    chosen.plant = given.plant;
    chosen.answered = [&at] { at.note_answer(); };
    chosen.changed = [&at](int by) { at.note_handlers(by); };
    database own = open_database(given.url, given.prefix, time_outs::of_workers, 6);
    auto hands = std::make_unique<job_hands>(std::move(chosen), std::move(own));
    return std::jthread{[hands = std::move(hands)](const std::stop_token& stop) {
        try {
            hands->work(stop);
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "soak_worker: jobs: %s\n", failure.what());
            std::_Exit(1);
        }
    }};
}

void run(worker_settings given) {
    workplace here{std::move(given)};
    const auto mutexes = mutex_duty(here);
    const auto others = duties_of(here);
    const auto jobs = do_jobs(here);
    while (!here.is_over()) {
        if (!here.has_session()) {
            here.stay(place::elsewhere, 20, 120);
            continue;
        }
        const int last = static_cast<int>(others.size()) - 1;
        duty& next =
            here.one_in(2) ? *mutexes : *others.at(static_cast<std::size_t>(here.between(0, last)));
        next.run();
    }
}

}  // namespace
}  // namespace leasehold::soak

int main(int count, char** arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none stays behind, not even a stopped one
    const char* const url = std::getenv("LEASEHOLD_SOAK_URL");
    const char* const plant = std::getenv("LEASEHOLD_SOAK_PLANT");
    if (count != 6 || !url) {
        std::fputs("soak_worker is started by soak\n", stderr);
        return 64;
    }
    try {
        leasehold::soak::run(
            {std::stoi(arguments[1]),
             std::stoi(arguments[2]),
             std::stoull(arguments[3]),
             arguments[4],
             arguments[5],
             url,
             plant ? plant : ""}
        );
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "soak_worker %s: %s\n", arguments[2], failure.what());
        return 1;
    }
    return 0;
}
