// A service of which one instance leads, for as long as it runs: through outages of the database,
// lost sessions and the deaths of others. SIGTERM ends it, and the next one leads at once.
//
//   service sqlite:service.db 10.0.0.7:8080
//
// A leader does a step each 100 ms, written under a proof of its term. A leader that was paused and
// deposed meanwhile writes none.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

// Until it is time, or somebody asks to stop.
void rest(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::mutex alone;
    std::unique_lock guard{alone};
    std::condition_variable_any().wait_for(guard, stop, time, [] { return false; });
}

void work(
    const leasehold::database& db, leasehold::leadership& leading, const std::stop_token& enough
) {
    while (!enough.stop_requested()) {
        leasehold::transaction tx = db.begin();
        tx.execute("INSERT INTO step (term) VALUES ($1)", {leading.token().number});
        leading.lease().verify_in(tx);  // throws lease_lost: no step of a deposed leader
        tx.commit();
        rest(100ms, enough);
    }
}

void serve(const leasehold::database& db, const std::string& address, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            leasehold::session session{db, {.name = "scheduler"}};
            leasehold::leader_election election{session, "scheduler/leader"};
            while (auto leading = election.campaign(stop)) {  // waits until it is elected
                leading->proclaim(address);
                std::cout << address << " leads in term " << leading->token().number << std::endl;
                leasehold::either_stop enough{leading->lost(), stop};
                work(db, *leading, enough.token());
            }  // resigned: the next candidate is elected at once
        } catch (const leasehold::error& failure) {
            // The session was lost, or the database does not answer: begin anew.
            std::cerr << "service: " << failure.what() << '\n';
            rest(1s, stop);
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: service URL ADDRESS\n";
        return 64;
    }
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    // Before any thread begins, so that all of them leave these to the one below.
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    std::stop_source stop;
    std::thread{[ending, stop]() mutable {
        int signal = 0;
        sigwait(&ending, &signal);
        stop.request_stop();
    }}.detach();
    try {
        const leasehold::database db = leasehold::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::transaction tx = db.begin();
        tx.execute("CREATE TABLE IF NOT EXISTS step (term BIGINT NOT NULL)");
        tx.commit();
        serve(db, arguments[2], stop.get_token());
        return 0;
    } catch (const leasehold::error& failure) {
        std::cerr << "service: " << failure.what() << '\n';
        return 1;
    }
}
