// One of several processes that drain a queue of jobs, to be killed at any moment.
//
//   job_drain_worker FOLDER PREFIX THREADS PATH      the URL is in LEASEHOLD_SOAK_URL
//
// PATH: `within` completes each job in the transaction that writes its effect. `apart` commits the
// effect, and returns: without complete_in() such a job may be done twice, which shows that it
// would be seen.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "leasehold/leasehold.hpp"
#include "soak/drain/ledger.hpp"
#include "soak/signals.hpp"
#include "soak/tables.hpp"
#include "support/eventually.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

class drainer {
public:
    drainer(const std::string& folder, const std::string& prefix, int threads, bool is_apart)
        : threads_(threads),
          is_apart_(is_apart),
          page_(signal_page::open(folder + "/signals")),
          done_(prefix),
          database_(open_database(
              std::getenv("LEASEHOLD_SOAK_URL"), prefix, time_outs::of_workers, threads + 4
          )) {}

    // Until all is over: a session that is lost in an outage is followed by another one.
    void run() {
        std::stop_source over;
        std::jthread watch{[&] {
            testing::ask_until([&] { return page_.is_over().load(); }, 24h);
            over.request_stop();
        }};
        while (!page_.is_over()) {
            try {
                drain(over.get_token());
            } catch (const error& failure) {
                if (!failure.is_transient() && failure.code() != errc::session_lost) {
                    page_.is_over() = true;
                    throw;
                }
                testing::stopped(over.get_token(), 50ms);
            }
        }
    }

private:
    void drain(const std::stop_token& stop) {
        // Short, so that what the dead had is available again soon.
        session_settings chosen;
        chosen.name = "drain";
        chosen.ttl = 3s;
        session mine{database_, chosen};
        worker_settings settings;
        settings.queues = {drained_queue};
        settings.concurrency = threads_;
        settings.prefetch = threads_ * 4;
        settings.poll_every = 300ms;
        settings.drain_timeout = 5s;
        settings.stop_timeout = 5s;
        // An end that waits is one that is lost with its process.
        if (is_apart_) settings.max_ends_wait = 200ms;
        worker all{mine, settings};
        all.handle("", [this](job& each) { effect(each); });
        all.run(stop);
    }

    void effect(job& each) {
        transaction tx = database_.begin();
        done_.add(tx, each.payload(), each.rescues());
        if (!is_apart_) each.complete_in(tx);
        tx.commit();
        ++page_.operations();
    }

    const int threads_;
    const bool is_apart_;
    signal_page page_;
    const ledger done_;
    const database database_;
};

}  // namespace
}  // namespace leasehold::soak

int main(int count, char** arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string path = count == 5 ? arguments[4] : "";
    if ((path != "within" && path != "apart") || !std::getenv("LEASEHOLD_SOAK_URL")) {
        std::fputs("job_drain_worker is started by job_drain_test\n", stderr);
        return 64;
    }
    try {
        const int threads = std::stoi(arguments[3]);
        leasehold::soak::drainer{arguments[1], arguments[2], threads, path == "apart"}.run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "job_drain_worker: %s\n", failure.what());
        return 1;
    }
    return 0;
}
